-- scatter, reduce_by_index and hist: writes to computed indices; indices out of bounds are
-- ignored.

-- ==
-- entry: write
-- input { [0, 0, 0, 0] [2i64, 0i64] [7, 8] }
-- output { [8i32, 0i32, 7i32, 0i32] }
-- input { [1, 2, 3] [-1i64, 3i64, 100i64, 1i64] [9, 9, 9, 5] }
-- output { [1i32, 5i32, 3i32] }
-- input { [1] empty([0]i64) empty([0]i32) }
-- output { [1i32] }
-- input { empty([0]i32) [0i64] [1] }
-- output { empty([0]i32) }
entry write [n] [m] (dest: *[n]i32) (is: [m]i64) (vs: [m]i32) : [n]i32 =
  scatter dest is vs

-- Colliding indices from several tasks: one of the values remains as a whole.
-- ==
-- entry: meet
-- input { 5000i64 4i64 } output { [7i32, 7i32, 7i32, 7i32] true true }
-- input { 3i64 4i64 } output { [7i32, 7i32, 7i32, 0i32] true true }
entry meet (n: i64) (m: i64) : ([m]i32, bool, bool) =
  let positions = map (% m) (iota n)
  let equal = scatter (replicate m 0) positions (replicate n 7)
  let others = scatter (replicate m (-1)) positions (iota n)
  let rows = scatter (replicate m [-1, -1]) positions (map (\i -> [i, i + 1]) (iota n))
  let from_there i x = x == -1 || x % m == i
  in (equal, and (map2 from_there (iota m) others),
      and (map2 (\i row -> from_there i row[0]) (iota m) rows))

-- Whole rows.
-- ==
-- entry: write_rows
-- input { [[1, 2], [3, 4], [5, 6]] [2i64, -1i64, 0i64] [[7, 8], [9, 10], [11, 12]] }
-- output { [[11i32, 12i32], [3i32, 4i32], [7i32, 8i32]] }
entry write_rows [n] [m] [k] (dest: *[n][k]i32) (is: [m]i64) (rows: [m][k]i32) : [n][k]i32 =
  scatter dest is rows

-- ==
-- entry: write_2d
-- input { [[0, 0, 0], [0, 0, 0]] [0i64, 1i64, 1i64, 2i64, 0i64] [1i64, 2i64, -1i64, 0i64, 3i64] [5, 6, 7, 8, 9] }
-- output { [[0i32, 5i32, 0i32], [0i32, 0i32, 6i32]] }
-- input { [[1]] [0i64] [0i64] [2] }
-- output { [[2i32]] }
entry write_2d [n] [m] [l] (dest: *[n][m]i32) (is: [l]i64) (js: [l]i64) (vs: [l]i32) : [n][m]i32 =
  scatter_2d dest (zip is js) vs

-- Pairs, into two arrays at once.
-- ==
-- entry: permute
-- input { [2i64, 0i64, 1i64] [1, 2, 3] [1.5, 2.5, 3.5] }
-- output { [2i32, 3i32, 1i32] [2.5f64, 3.5f64, 1.5f64] }
-- input { empty([0]i64) empty([0]i32) empty([0]f64) }
-- output { empty([0]i32) empty([0]f64) }
entry permute [n] (is: [n]i64) (xs: [n]i32) (ys: [n]f64) : ([n]i32, [n]f64) =
  unzip (scatter (replicate n (0, 0.0)) is (zip xs ys))

-- Several operators over the same bins.
-- ==
-- entry: operators
-- input { [0i64, 2i64, 0i64, 1i64, 2i64, 2i64, 9i64, -1i64] [5, -3, 7, 2, 12, -8, 100, 100] }
-- output { [12i32, 2i32, 1i32, 0i32] [7i32, 2i32, 12i32, -2147483648i32] [35i32, 2i32, 288i32, 1i32] [7i32, 2i32, -3i32, 0i32] [5i32, 2i32, -8i32, 10i32] }
-- input { empty([0]i64) empty([0]i32) }
-- output { [0i32, 0i32, 0i32, 0i32] [-2147483648i32, -2147483648i32, -2147483648i32, -2147483648i32] [1i32, 1i32, 1i32, 1i32] [0i32, 0i32, 0i32, 0i32] [10i32, 10i32, 10i32, 10i32] }
entry operators [n] (is: [n]i64) (vs: [n]i32) : ([4]i32, [4]i32, [4]i32, [4]i32, [4]i32) =
  ( hist (+) 0 4 is vs
  , hist i32.max i32.lowest 4 is vs
  , hist (*) 1 4 is vs
  , hist (|) 0 4 is vs
  , reduce_by_index (replicate 4 10) i32.min i32.highest is vs
  )

-- The initial values are included.
-- ==
-- entry: accumulate
-- input { [1.0, 2.0] [1i64, 1i64, 0i64] [0.5, 0.25, -4.0] }
-- output { [-3.0f64, 2.75f64] }
-- input { [1.0] empty([0]i64) empty([0]f64) }
-- output { [1.0f64] }
entry accumulate [n] [m] (dest: *[n]f64) (is: [m]i64) (vs: [m]f64) : [n]f64 =
  reduce_by_index dest (+) 0 is vs

-- An operator on pairs: the maximum of each bin and its index.
-- ==
-- entry: largest
-- input { 3i64 [0i64, 1i64, 0i64, 1i64, 1i64] [4, 9, 6, 9, -2] }
-- output { [6i32, 9i32, -2147483648i32] [2i64, 1i64, -1i64] }
entry largest [n] (k: i64) (is: [n]i64) (vs: [n]i32) : ([k]i32, [k]i64) =
  let op (a, i) (b, j) = if a > b || (a == b && i < j) then (a, i) else (b, j)
  in unzip (reduce_by_index (replicate k (i32.lowest, -1)) op (i32.lowest, -1) is (zip vs (iota n)))

-- Rows as elements of bins.
-- ==
-- entry: row_sums
-- input { 2i64 [1i64, 0i64, 1i64] [[1, 2], [3, 4], [5, 6]] }
-- output { [[3i32, 4i32], [6i32, 8i32]] }
-- input { 2i64 empty([0]i64) empty([0][2]i32) }
-- output { [[0i32, 0i32], [0i32, 0i32]] }
entry row_sums [n] [m] (k: i64) (is: [n]i64) (rows: [n][m]i32) : [k][m]i32 =
  reduce_by_index (replicate k (replicate m 0)) (map2 (+)) (replicate m 0) is rows

-- Two-dimensional bins.
-- ==
-- entry: bins_2d
-- input { 2i64 3i64 [0i64, 1i64, 1i64, 5i64] [2i64, 0i64, 0i64, 1i64] [10, 20, 30, 40] }
-- output { [[0i32, 0i32, 10i32], [50i32, 0i32, 0i32]] }
entry bins_2d [n] (h: i64) (w: i64) (is: [n]i64) (js: [n]i64) (vs: [n]i32) : [h][w]i32 =
  reduce_by_index_2d (replicate h (replicate w 0)) (+) 0 (zip is js) vs

-- A histogram for each row: a nest.
-- ==
-- entry: per_row
-- input { [[0i64, 1i64, 1i64], [2i64, 2i64, 2i64]] }
-- output { [[1i32, 2i32, 0i32], [0i32, 0i32, 3i32]] }
-- input { empty([0][1]i64) }
-- output { empty([0][3]i32) }
entry per_row [n] [m] (xss: [n][m]i64) : [n][3]i32 =
  map (\xs -> hist (+) 0 3 xs (replicate m 1)) xss
