-- Tuples and records: construction, patterns, projection, update, nesting,
-- arrays of them, type abbreviations.

type point = {x: i32, y: i32}
type pair 'a 'b = (a, b)
type segment = {from: point, to: point, tag: pair bool i64}

def shift (d: i32) (p: point) : point = {x = p.x + d, y = p.y - d}

-- ==
-- entry: shift_all
-- input { 3 [1, 2] [10, 20] }
-- output { [4i32, 5i32] [7i32, 17i32] }
-- input { -1 empty([0]i32) empty([0]i32) }
-- output { empty([0]i32) empty([0]i32) }
entry shift_all [n] (d: i32) (xs: [n]i32) (ys: [n]i32) : ([n]i32, [n]i32) =
  let moved = map2 (\x y -> shift d {x, y}) xs ys
  in (map (.x) moved, map (.y) moved)

-- Several fields read and reassembled in another order.
-- ==
-- entry: swap_fields
-- input { 1 2 3i64 true }
-- output { 4i64 11i32 2i32 false }
-- input { -5 7 0i64 false }
-- output { 1i64 -55i32 7i32 true }
entry swap_fields (a: i32) (b: i32) (c: i64) (d: bool) : (i64, i32, i32, bool) =
  let s : segment = {from = {x = a, y = b}, to = {x = b, y = a}, tag = (d, c)}
  let {from = {x = fx, y = _}, to, tag = (flag, number)} = s
  let t = s with from.x = 10 * fx with tag = (!flag, number + 1)
  in (t.tag.1, t.from.x + t.to.y, to.x, t.tag.0)

-- A tuple in a tuple through map, reduce and loop.
-- ==
-- entry: statistics
-- input { [1, -2, 3, 4] }
-- output { -2i32 4i32 6i32 4i64 }
-- input { [7] }
-- output { 7i32 7i32 7i32 1i64 }
entry statistics (xs: []i32) : (i32, i32, i32, i64) =
  let lift x = ((x, x), {sum = x, count = 1i64})
  let merge ((lo1, hi1), a: {sum: i32, count: i64}) ((lo2, hi2), b: {sum: i32, count: i64}) =
    ((i32.min lo1 lo2, i32.max hi1 hi2), {sum = a.sum + b.sum, count = a.count + b.count})
  let ne = ((i32.highest, i32.lowest), {sum = 0, count = 0i64})
  let ((lo, hi), {sum, count}) = reduce merge ne (map lift xs)
  in (lo, hi, sum, count)

-- ==
-- entry: fibonacci
-- input { 0 }
-- output { 0i64 }
-- input { 1 }
-- output { 1i64 }
-- input { 90 }
-- output { 2880067194370816120i64 }
entry fibonacci (n: i32) : i64 =
  (loop (a, b) = (0i64, 1i64) for _i < n do (b, a + b)).0

-- Arrays inside records, records inside arrays.
-- ==
-- entry: nested
-- input { [[1, 2], [3, 4], [5, 6]] }
-- output { [3i32, 7i32, 11i32] [9i32, 12i32] [[false, false], [false, false], [true, true]] }
-- input { [[-1]] }
-- output { [-1i32] [-1i32] [[false]] }
entry nested [n] [m] (xss: [n][m]i32) : ([n]i32, [m]i32, [n][m]bool) =
  let rows = map (\xs -> {values = xs, total = i32.sum xs}) xss
  let best = i32.maximum (map (.total) rows)
  let flagged = map (\(r: {values: [m]i32, total: i32}) -> map (\v -> r.total == best && v > 0) r.values) rows
  in (map (.total) rows, map i32.sum (transpose (map (.values) rows)), flagged)

-- Units, and tuples returned by `if`.
-- ==
-- entry: choose
-- input { true 4 5 }
-- output { 8i32 5i32 }
-- input { false 4 5 }
-- output { 10i32 4i32 }
entry choose (c: bool) (a: i32) (b: i32) : (i32, i32) =
  let () = ()
  let (x, (y, _)) = if c then (a, (b, ())) else (b, (a, ()))
  in (x * 2, y)

-- Variables that shadow earlier ones.
-- ==
-- entry: shadow
-- input { 2 }
-- output { 169i32 }
entry shadow (x: i32) : i32 =
  let x = x + 1
  let f x = x * x
  let x = let x = f x in x + 1
  in f (loop x = x for x' < 3 do x + x')

-- More results than fit in registers, through a function that is called.
#[noinline]
def multiples (k: i32) (xs: []i64) =
  (0 * k, 1 * k, 2 * k, 3 * k, 4 * k, 5 * k, 6 * k, 7 * k, 8 * k, 9 * k, 10 * k, 11 * k, 12 * k, 13 * k, 14 * k, 15 * k, 16 * k, 17 * k, 18 * k, 19 * k, map (* i64.i32 k) xs)

-- ==
-- entry: many_results
-- input { 3i32 [1i64, 2i64] }
-- output { 0i32 3i32 6i32 9i32 12i32 15i32 18i32 21i32 24i32 27i32 30i32 33i32 36i32 39i32 42i32 45i32 48i32 51i32 54i32 57i32 [3i64, 6i64] }
-- input { -1i32 [5i64] }
-- error: Assertion
entry many_results (k: i32) (xs: []i64) =
  let k = assert (k >= 0) k
  in multiples k xs
