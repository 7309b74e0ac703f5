-- Ranges, indexing, slices with strides of either sign.

-- ==
-- entry: ranges
-- input { 3i64 9i64 }
-- output { [3i64, 4i64, 5i64, 6i64, 7i64, 8i64, 9i64] [3i64, 4i64, 5i64, 6i64, 7i64, 8i64] [3i64, 5i64, 7i64, 9i64] [3i64, 6i64] [9i64, 8i64, 7i64, 6i64, 5i64, 4i64, 3i64] [9i64, 8i64, 7i64, 6i64, 5i64, 4i64] }
-- input { 0i64 4i64 }
-- output { [0i64, 1i64, 2i64, 3i64, 4i64] [0i64, 1i64, 2i64, 3i64] [0i64, 2i64, 4i64] [0i64, 3i64] [4i64, 3i64, 2i64, 1i64, 0i64] [4i64, 3i64, 2i64, 1i64] }
-- input { -5i64 -3i64 }
-- output { [-5i64, -4i64, -3i64] [-5i64, -4i64] [-5i64, -3i64] [-5i64] [-3i64, -4i64, -5i64] [-3i64, -4i64] }
entry ranges (a: i64) (b: i64) : ([]i64, []i64, []i64, []i64, []i64, []i64) =
  ( a...b
  , a..<b
  , a..a + 2...b
  , a..a + 3..<b
  , b..b - 1...a
  , b..>a
  )

-- ==
-- entry: small_ranges
-- input { 32762i16 32767i16 -3i8 }
-- output { [32762i16, 32763i16, 32764i16, 32765i16, 32766i16] [-3i8, -2i8, -1i8, 0i8, 1i8, 2i8, 3i8] [5i32, 3i32, 1i32, -1i32, -3i32] }
entry small_ranges (a: i16) (b: i16) (c: i8) : ([]i16, []i8, []i32) =
  (a..<b, c..<4, 5..3..>-4)

-- ==
-- entry: slices
-- input { 1i64 4i64 [10, 11, 12, 13, 14, 15] }
-- output { [11i32, 12i32, 13i32] [11i32, 12i32, 13i32, 14i32, 15i32] [10i32, 11i32, 12i32, 13i32] [10i32, 11i32, 12i32, 13i32, 14i32, 15i32] }
-- input { 0i64 0i64 [10] }
-- output { empty([0]i32) [10i32] empty([0]i32) [10i32] }
-- input { 2i64 3i64 [10, 11, 12] }
-- output { [12i32] [12i32] [10i32, 11i32, 12i32] [10i32, 11i32, 12i32] }
entry slices [n] (i: i64) (j: i64) (xs: [n]i32) : ([]i32, []i32, []i32, []i32) =
  (xs[i:j], xs[i:], xs[:j], xs[:])

-- ==
-- entry: strides
-- input { [0, 1, 2, 3, 4, 5, 6] }
-- output { [0i32, 2i32, 4i32, 6i32] [6i32, 5i32, 4i32, 3i32, 2i32, 1i32, 0i32] [0i32, 3i32, 6i32] [6i32, 4i32, 2i32, 0i32] }
-- input { [0, 1, 2, 3, 4, 5, 6, 7] }
-- output { [0i32, 2i32, 4i32, 6i32] [7i32, 6i32, 5i32, 4i32, 3i32, 2i32, 1i32, 0i32] [0i32, 3i32, 6i32] [7i32, 5i32, 3i32, 1i32] }
-- input { [5] }
-- output { [5i32] [5i32] [5i32] [5i32] }
-- input { empty([0]i32) }
-- output { empty([0]i32) empty([0]i32) empty([0]i32) empty([0]i32) }
entry strides [n] (xs: [n]i32) : ([]i32, []i32, []i32, []i32) =
  (xs[::2], xs[::-1], xs[::3], xs[::-2])

-- ==
-- entry: bounded_strides
-- input { [0, 1, 2, 3, 4, 5, 6] 1i64 6i64 2i64 }
-- output { [1i32, 3i32, 5i32] }
-- input { [0, 1, 2, 3, 4, 5, 6] 5i64 0i64 -2i64 }
-- output { [5i32, 3i32, 1i32] }
-- input { [0, 1, 2, 3, 4, 5, 6] 6i64 -1i64 -3i64 }
-- output { [6i32, 3i32, 0i32] }
-- input { [0, 1, 2, 3, 4, 5, 6] 3i64 3i64 5i64 }
-- output { empty([0]i32) }
entry bounded_strides [n] (xs: [n]i32) (i: i64) (j: i64) (s: i64) : []i32 =
  xs[i:j:s]

-- Strides near the bounds of i64, and bounds whose distance exceeds i64.
-- ==
-- entry: extreme_strides
-- input { [1, 2, 3] 9223372036854775807i64 }
-- output { [1i32] [10i32, 2i32, 3i32] }
-- input { [1, 2, 3] 9223372036854775805i64 }
-- output { [1i32] [10i32, 2i32, 3i32] }
-- input { [1, 2, 3] -9223372036854775807i64 }
-- output { [3i32] [1i32, 2i32, 30i32] }
-- input { [1, 2, 3] -9223372036854775808i64 }
-- output { [3i32] [1i32, 2i32, 30i32] }
-- input { [1, 2, 3] -2i64 }
-- output { [3i32, 1i32] [10i32, 2i32, 30i32] }
-- input { empty([0]i32) -9223372036854775808i64 }
-- output { empty([0]i32) empty([0]i32) }
-- input { empty([0]i32) 9223372036854775807i64 }
-- output { empty([0]i32) empty([0]i32) }
-- input { [1, 2, 3] 0i64 }
-- error: out of bounds
entry extreme_strides [n] (xs: [n]i32) (s: i64) : ([]i32, []i32) =
  (xs[::s], copy xs with [::s] = map (* 10) xs[::s])

-- ==
-- entry: extreme_bounds
-- input { [1, 2, 3, 4] 1i64 9223372036854775807i64 9223372036854775807i64 }
-- output { [2i32] }
-- input { [1, 2, 3, 4] 2i64 -9223372036854775808i64 -9223372036854775807i64 }
-- error: out of bounds
-- input { [1, 2, 3, 4] 3i64 -9223372036854775804i64 -9223372036854775808i64 }
-- output { [4i32] }
-- input { [1, 2, 3, 4] 3i64 0i64 -9223372036854775808i64 }
-- output { [4i32] }
-- input { [1, 2, 3, 4] 1i64 9223372036854775807i64 2i64 }
-- error: out of bounds
-- input { [1, 2, 3, 4] 9223372036854775807i64 9223372036854775807i64 5i64 }
-- output { empty([0]i32) }
-- input { [1, 2, 3, 4] -9223372036854775808i64 9223372036854775807i64 1i64 }
-- error: out of bounds
-- input { [1, 2, 3, 4] 9223372036854775807i64 -9223372036854775808i64 3i64 }
-- error: out of bounds
entry extreme_bounds [n] (xs: [n]i32) (i: i64) (j: i64) (s: i64) : []i32 =
  xs[i:j:s]

-- Slices of matrices, combined with indices.
-- ==
-- entry: matrix_slices
-- input { [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]] }
-- output { [5i32, 6i32, 7i32, 8i32] [3i32, 7i32, 11i32] [[5i32, 7i32], [9i32, 11i32]] [[12i32, 11i32, 10i32], [8i32, 7i32, 6i32], [4i32, 3i32, 2i32]] 9i32 }
entry matrix_slices [n] [m] (a: [n][m]i32) : ([]i32, []i32, [][]i32, [][]i32, i32) =
  (a[1], a[:, 2], a[1:, ::2], a[::-1, m - 1:0:-1], a[n - 1, 0])

-- A slice of a slice of a transpose.
-- ==
-- entry: composed
-- input { [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10], [11, 12, 13, 14, 15], [16, 17, 18, 19, 20]] }
-- output { [[104i32, 119i32], [103i32, 118i32], [102i32, 117i32]] 42i32 }
entry composed (a: [][]i32) : ([][]i32, i32) =
  let b = (transpose a)[::-1]
  let c = b[1:4, ::3]
  in (map (map (+ 100)) c, i32.sum (flatten c[::2]))

-- An index of any integer type.
-- ==
-- entry: gather
-- input { [10, 20, 30, 40] [3i64, 0i64, 0i64, 2i64, 1i64] }
-- output { [40i32, 10i32, 10i32, 30i32, 20i32] [10i32, 40i32, 40i32, 20i32, 30i32] }
-- input { [10] empty([0]i64) }
-- output { empty([0]i32) empty([0]i32) }
entry gather [n] [m] (xs: [n]i32) (is: [m]i64) : ([m]i32, [m]i32) =
  (map (\i -> xs[i]) is, map (\i -> xs[n - 1 - i]) is)
