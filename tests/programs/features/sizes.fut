-- Sizes in types: size parameters, explicit and existential sizes, coercions,
-- functions whose result size is an expression.

def halves [n] 't (xs: [n]t) : ([n / 2]t, [n - n / 2]t) =
  (xs[:n / 2] :> [n / 2]t, xs[n / 2:] :> [n - n / 2]t)

-- ==
-- entry: split_middle
-- input { [1, 2, 3, 4, 5] }
-- output { [1i32, 2i32] [3i32, 4i32, 5i32] 2i64 3i64 }
-- input { empty([0]i32) }
-- output { empty([0]i32) empty([0]i32) 0i64 0i64 }
-- input { [1] }
-- output { empty([0]i32) [1i32] 0i64 1i64 }
entry split_middle (xs: []i32) : ([]i32, []i32, i64, i64) =
  let (a, b) = halves xs
  in (a, b, length a, length b)

-- Size parameters are values.
-- ==
-- entry: dims
-- input { [[1, 2, 3], [4, 5, 6]] }
-- output { 2i64 3i64 6i64 }
-- input { empty([0][4]i32) }
-- output { 0i64 4i64 0i64 }
-- input { empty([3][0]i32) }
-- output { 3i64 0i64 0i64 }
entry dims [n] [m] (_: [n][m]i32) : (i64, i64, i64) = (n, m, n * m)

def outer [n] [m] (xs: [n]i32) (ys: [m]i32) : [n][m]i32 =
  map (\x -> map (\y -> x * y) ys) xs

-- Two filters of one array: the sizes differ, the product has both.
-- ==
-- entry: filtered_outer
-- input { [1, -2, 3, -4, 5] }
-- output { [[-2i32, -4i32], [-6i32, -12i32], [-10i32, -20i32]] }
-- input { [1, 2] }
-- output { empty([2][0]i32) }
-- input { empty([0]i32) }
-- output { empty([0][0]i32) }
entry filtered_outer (xs: []i32) : [][]i32 =
  let positive = filter (> 0) xs
  let negative = filter (< 0) xs
  in outer positive negative

-- A computed size.
-- ==
-- entry: triangle
-- input { 0i64 }
-- output { empty([0]i64) 0i64 }
-- input { 4i64 }
-- output { [0i64, 1i64, 1i64, 2i64, 2i64, 2i64, 3i64, 3i64, 3i64, 3i64] 10i64 }
entry triangle (n: i64) : ([]i64, i64) =
  let size = n * (n + 1) / 2
  let row k = i64.f64 (f64.floor ((f64.sqrt (f64.i64 (8 * k + 1)) - 1) / 2))
  let rows = map row (iota size)
  in (rows, length rows)

-- The same size of two arrays, by coercion.
-- ==
-- entry: joined
-- input { [1, 2, 3] [4, 5, 6] }
-- output { [1i32, 2i32, 3i32] [4i32, 5i32, 6i32] }
-- input { empty([0]i32) empty([0]i32) }
-- output { empty([0]i32) empty([0]i32) }
entry joined [n] [m] (xs: [n]i32) (ys: [m]i32) : ([n]i32, [n]i32) =
  unzip (zip xs (ys :> [n]i32))

-- An array that grows in a loop.
-- ==
-- entry: doubling
-- input { 0 [1, 2, 3] }
-- output { [1i32, 2i32, 3i32] }
-- input { 3 [1, -1] }
-- output { [1i32, -1i32, 2i32, -2i32, 3i32, -3i32, 6i32, -6i32, 4i32, -4i32, 8i32, -8i32, 12i32, -12i32, 24i32, -24i32] }
-- input { 4 empty([0]i32) }
-- output { empty([0]i32) }
entry doubling (k: i32) (xs: []i32) : []i32 =
  loop (xs: []i32) = xs for i < k do xs ++ map (* (i + 2)) xs

-- A branch with either size.
-- ==
-- entry: either
-- input { true [1, 2, 3] [4] }
-- output { [2i32, 3i32, 4i32] 3i64 }
-- input { false [1, 2, 3] [4] }
-- output { [5i32] 1i64 }
entry either (c: bool) (xs: []i32) (ys: []i32) : ([]i32, i64) =
  let zs = if c then xs else ys
  in (map (+ 1) zs, length zs)

-- A size passed to a function as an argument.
def padded [n] (m: i64) (xs: [n]i32) : [m]i32 =
  tabulate m (\i -> if i < n then xs[i] else -1)

-- ==
-- entry: padding
-- input { [1, 2, 3] }
-- output { [1i32, 2i32, 3i32, -1i32, -1i32] [1i32, 2i32] }
-- input { empty([0]i32) }
-- output { [-1i32, -1i32] [-1i32, -1i32] }
entry padding (xs: []i32) : ([]i32, []i32) =
  (padded (length xs + 2) xs, padded 2 xs)
