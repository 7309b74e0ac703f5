-- Functions that only rearrange: flatten, unflatten, transpose, concat, rotate, reverse, split,
-- take and drop, zip and unzip.

-- ==
-- entry: flattening
-- input { [[1, 2, 3], [4, 5, 6]] }
-- output { [1i32, 2i32, 3i32, 4i32, 5i32, 6i32] [[1i32, 4i32], [2i32, 5i32], [3i32, 6i32]] [1i32, 4i32, 2i32, 5i32, 3i32, 6i32] }
-- input { [[7]] }
-- output { [7i32] [[7i32]] [7i32] }
-- input { empty([0][2]i32) }
-- output { empty([0]i32) empty([2][0]i32) empty([0]i32) }
entry flattening [n] [m] (xss: [n][m]i32) : ([]i32, [m][n]i32, []i32) =
  (flatten xss, transpose xss, flatten (transpose xss))

-- ==
-- entry: unflattening
-- input { 2i64 3i64 [1, 2, 3, 4, 5, 6] }
-- output { [[1i32, 2i32, 3i32], [4i32, 5i32, 6i32]] }
-- input { 3i64 1i64 [1, 2, 3] }
-- output { [[1i32], [2i32], [3i32]] }
-- input { 0i64 5i64 empty([0]i32) }
-- output { empty([0][5]i32) }
entry unflattening (n: i64) (m: i64) (xs: []i32) : [n][m]i32 =
  unflatten (sized (n * m) xs)

-- ==
-- entry: cube
-- input { [[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, 12]]] }
-- output { [[[1i32, 2i32], [7i32, 8i32]], [[3i32, 4i32], [9i32, 10i32]], [[5i32, 6i32], [11i32, 12i32]]] [[[1i32, 3i32, 5i32], [2i32, 4i32, 6i32]], [[7i32, 9i32, 11i32], [8i32, 10i32, 12i32]]] [[[1i32, 7i32], [3i32, 9i32], [5i32, 11i32]], [[2i32, 8i32], [4i32, 10i32], [6i32, 12i32]]] [1i32, 2i32, 3i32, 4i32, 5i32, 6i32, 7i32, 8i32, 9i32, 10i32, 11i32, 12i32] }
-- input { [[[1]]] }
-- output { [[[1i32]]] [[[1i32]]] [[[1i32]]] [1i32] }
entry cube [a] [b] [c] (x: [a][b][c]i32) : ([b][a][c]i32, [a][c][b]i32, [c][b][a]i32, [a * b * c]i32) =
  ( transpose x
  , map transpose x
  , transpose (map transpose (transpose x))
  , flatten_3d x
  )

-- ==
-- entry: rotations
-- input { 2i64 [1, 2, 3, 4, 5] }
-- output { [3i32, 4i32, 5i32, 1i32, 2i32] [5i32, 4i32, 3i32, 2i32, 1i32] [4i32, 5i32, 1i32, 2i32, 3i32] }
-- input { -1i64 [1, 2, 3, 4, 5] }
-- output { [5i32, 1i32, 2i32, 3i32, 4i32] [5i32, 4i32, 3i32, 2i32, 1i32] [2i32, 3i32, 4i32, 5i32, 1i32] }
-- input { -12i64 [1, 2, 3, 4, 5] }
-- output { [4i32, 5i32, 1i32, 2i32, 3i32] [5i32, 4i32, 3i32, 2i32, 1i32] [3i32, 4i32, 5i32, 1i32, 2i32] }
-- input { 7i64 [1] }
-- output { [1i32] [1i32] [1i32] }
-- input { 3i64 empty([0]i32) }
-- output { empty([0]i32) empty([0]i32) empty([0]i32) }
entry rotations [n] (r: i64) (xs: [n]i32) : ([n]i32, [n]i32, [n]i32) =
  (rotate r xs, reverse xs, reverse (rotate r (reverse xs)))

-- ==
-- entry: rotate_both
-- input { 1i64 -1i64 [[1, 2, 3], [4, 5, 6], [7, 8, 9]] }
-- output { [[6i32, 4i32, 5i32], [9i32, 7i32, 8i32], [3i32, 1i32, 2i32]] }
entry rotate_both [n] [m] (r: i64) (s: i64) (xss: [n][m]i32) : [n][m]i32 =
  rotate r (map (rotate s) xss)

-- ==
-- entry: concatenation
-- input { [1, 2] [3] }
-- output { [1i32, 2i32, 3i32, 3i32, 1i32, 2i32] }
-- input { empty([0]i32) [4, 5] }
-- output { [4i32, 5i32, 4i32, 5i32] }
-- input { empty([0]i32) empty([0]i32) }
-- output { empty([0]i32) }
entry concatenation (xs: []i32) (ys: []i32) : []i32 = xs ++ ys ++ concat ys xs

-- ==
-- entry: stacked
-- input { [[1, 2], [3, 4]] [[5, 6]] }
-- output { [[1i32, 2i32], [3i32, 4i32], [5i32, 6i32]] [[1i32, 3i32], [2i32, 4i32], [1i32, 3i32], [2i32, 4i32]] }
-- input { empty([0][2]i32) [[5, 6]] }
-- output { [[5i32, 6i32]] empty([4][0]i32) }
entry stacked [n] [m] [k] (a: [n][k]i32) (b: [m][k]i32) : ([n + m][k]i32, [k + k][n]i32) =
  (a ++ b, transpose a ++ transpose a)

-- ==
-- entry: pieces
-- input { 2i64 [1, 2, 3, 4, 5] }
-- output { 1i32 5i32 [1i32, 2i32] [3i32, 4i32, 5i32] [1i32, 2i32, 3i32, 4i32] [2i32, 3i32, 4i32, 5i32] }
-- input { 0i64 [1] }
-- output { 1i32 1i32 empty([0]i32) [1i32] empty([0]i32) empty([0]i32) }
-- input { 1i64 [1] }
-- output { 1i32 1i32 [1i32] empty([0]i32) empty([0]i32) empty([0]i32) }
entry pieces [n] (k: i64) (xs: [n]i32) : (i32, i32, []i32, []i32, []i32, []i32) =
  (head xs, last xs, take k xs, drop k xs, init xs, tail xs)

-- ==
-- entry: zips
-- input { [1, 2, 3] [1.5, 2.5, 3.5] [true, false, true] }
-- output { [3i32, 2i32, 1i32] [3.5f64, 2.5f64, 1.5f64] [true, false, true] [2.5f64, 4.5f64, 6.5f64] }
-- input { empty([0]i32) empty([0]f64) empty([0]bool) }
-- output { empty([0]i32) empty([0]f64) empty([0]bool) empty([0]f64) }
entry zips [n] (a: [n]i32) (b: [n]f64) (c: [n]bool) : ([n]i32, [n]f64, [n]bool, [n]f64) =
  let (x, y, z) = unzip3 (reverse (zip3 a b c))
  let (p, q) = unzip (zip a b)
  in (x, y, z, map2 (\i v -> f64.i32 i + v) p q)

-- Replicates of scalars and arrays, iota and the like.
-- ==
-- entry: makers
-- input { 3i64 [1, 2] }
-- output { [0i64, 1i64, 2i64] [[1i32, 2i32], [1i32, 2i32], [1i32, 2i32]] [true, true, true] [0i64, 1i64] [[0i64, -1i64], [10i64, 9i64], [20i64, 19i64]] }
-- input { 0i64 [1, 2] }
-- output { empty([0]i64) empty([0][2]i32) empty([0]bool) [0i64, 1i64] empty([0][2]i64) }
-- input { 2i64 empty([0]i32) }
-- output { [0i64, 1i64] empty([2][0]i32) [true, true] empty([0]i64) empty([2][0]i64) }
entry makers [m] (n: i64) (xs: [m]i32) : ([n]i64, [n][m]i32, [n]bool, [m]i64, [n][m]i64) =
  ( iota n
  , replicate n xs
  , replicate n true
  , indices xs
  , tabulate_2d n m (\i j -> 10 * i - j)
  )

-- ==
-- entry: lengths
-- input { [[1, 2, 3], [4, 5, 6]] }
-- output { 2i64 6i64 false }
-- input { empty([0][2]i32) }
-- output { 0i64 0i64 true }
entry lengths (xss: [][]i32) : (i64, i64, bool) =
  (length xss, length (flatten xss), null xss)
