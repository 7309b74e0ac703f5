-- Scans and reductions of one array, in one pass over it.
-- ==
-- entry: sums_and_largest
-- input { [1, 5, 2, -7, 3] }
-- output { [2, 28, 33, 83, 93] 50 }
-- input { empty([0]i32) }
-- output { empty([0]i32) -2147483648 }

-- ==
-- entry: after
-- input { [3i64, 1, 4, 1, 5] }
-- output { [3i64, 5, 10, 12, 18] 14i64 5i64 }

-- ==
-- entry: in_order
-- input { [2, 3, 5] [1, 7, 4] }
-- output { [2, 6, 30] [1, 10, 54] 30 54 5 }

-- ==
-- entry: as_separate
-- input { 0i64 } output { true }
-- input { 1i64 } output { true }
-- input { 1000i64 } output { true }
-- input { 300007i64 } output { true }

-- The squares are neither stored nor computed for one of the two only.
entry sums_and_largest [n] (xs: [n]i32): ([n]i32, i32) =
  let ys = map (\x -> x * x + 1) xs
  in (scan (+) 0 ys, reduce i32.max i32.lowest ys)

-- A map after the scan, and two reductions next to it.
entry after [n] (xs: [n]i64): ([n]i64, i64, i64) =
  let sums = scan (+) 0 xs
  in (map2 (\s i -> s + i) sums (iota n),
      reduce (+) 0 xs,
      reduce i64.max 0 xs)

-- Linear functions, whose order is kept, next to a commutative sum.
def compose (a: (i32, i32)) (b: (i32, i32)) = (a.0 * b.0, a.1 * b.0 + b.1)

entry in_order [n] (as: [n]i32) (bs: [n]i32): ([n]i32, [n]i32, i32, i32, i32) =
  let fs = map2 (\a b -> (a, b)) as bs
  let (cs, ds) = unzip (scan compose (1, 0) fs)
  let (c, d) = reduce compose (1, 0) fs
  in (cs, ds, c, d, reduce i32.max 0 as)

-- The same as loops, for sizes of several chunks.
entry as_separate (n: i64): bool =
  let fs = map (\i -> (1 + i32.i64 (i % 3), i32.i64 (i % 7))) (iota n)
  let cs = scan compose (1, 0) fs
  let (c, d) = reduce compose (1, 0) fs
  let total = reduce (+) 0i32 (map (.1) fs)
  let (c', d', total', same) =
    loop (c, d, total, same) = (1, 0, 0, true) for i < n do
      let (c, d) = compose (c, d) fs[i]
      in (c, d, total + fs[i].1, same && cs[i].0 == c && cs[i].1 == d)
  in same && c == c' && d == d' && total == total'
