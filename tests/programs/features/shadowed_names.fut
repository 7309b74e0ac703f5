-- Shadowed names: loop parameters named as the index or the element, sizes, fields, and names of
-- modules.

-- ==
-- entry: index
-- input { 5i64 } output { 50i64 10i64 224i64 }
-- input { 0i64 } output { 0i64 10i64 7i64 }
entry index (n: i64) : (i64, i64, i64) =
  let (s, i) = loop (s, i) = (0i64, 10i64) for i < n do (s + i, i)
  let d = loop i = 7i64 for i < n do i * 2
  in (s, i, d)

-- ==
-- entry: element
-- input { [10i64, 20i64, 30i64] 3i64 } output { 9i64 3i64 60i64 }
entry element (xs: []i64) (n: i64) : (i64, i64, i64) =
  let (s, x) = loop (s, x) = (0, n) for x in xs do (s + x, x)
  let t = loop t = 0 for x in xs do let t = t + x in t
  in (s, x, t)

-- ==
-- entry: nested
-- input { 3i64 } output { 9i64 }
entry nested (n: i64) : i64 =
  loop acc = 0 for i < n do (loop acc = acc for i < n do acc + (let i = 1 in i))

-- ==
-- entry: sizes
-- input { [1i64, 2i64, 3i64] } output { 3i64 2i64 6i64 }
entry sizes [n] (xs: [n]i64) : (i64, i64, i64) =
  let f [n] (ys: [n]i64) = n
  let m = f (filter (> 1) xs)
  let [n] (zs: [n]i64) = xs ++ xs
  in (length xs, m, n)

module m = {
  def n = 4i64
  module m = { def n = 5i64 }
}

-- ==
-- entry: modules
-- input { 3i64 } output { 3i64 4i64 5i64 9i64 }
entry modules (n: i64) : (i64, i64, i64, i64) =
  let xs : [m.n + m.m.n]i64 = iota (m.n + m.m.n)
  let r = {n, m = {n = m.m.n}}
  in (r.n, m.n, r.m.n, length xs)
