-- Views into flat arrays: an offset, then a size and a stride for each dimension.

def index2 xs o n1 s1 n2 s2 = intrinsics.flat_index_2d xs o n1 s1 n2 s2

-- All kinds of sizes and strides, also negative ones and zero.
-- ==
-- entry: window
-- input { [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] 0i64 3i64 4i64 4i64 1i64 }
-- output { [[1i32, 2i32, 3i32, 4i32], [5i32, 6i32, 7i32, 8i32], [9i32, 10i32, 11i32, 12i32]] }
-- input { [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] 11i64 3i64 -4i64 4i64 -1i64 }
-- output { [[12i32, 11i32, 10i32, 9i32], [8i32, 7i32, 6i32, 5i32], [4i32, 3i32, 2i32, 1i32]] }
-- input { [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] 1i64 5i64 1i64 4i64 2i64 }
-- output { [[2i32, 4i32, 6i32, 8i32], [3i32, 5i32, 7i32, 9i32], [4i32, 6i32, 8i32, 10i32], [5i32, 7i32, 9i32, 11i32], [6i32, 8i32, 10i32, 12i32]] }
-- input { [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] 5i64 2i64 0i64 3i64 -2i64 }
-- output { [[6i32, 4i32, 2i32], [6i32, 4i32, 2i32]] }
-- input { [1, 2, 3] 2i64 2i64 0i64 3i64 0i64 }
-- output { [[3i32, 3i32, 3i32], [3i32, 3i32, 3i32]] }
-- input { [1, 2, 3] 7i64 0i64 100i64 3i64 5i64 }
-- output { empty([0][3]i32) }
-- input { empty([0]i32) 0i64 3i64 1i64 0i64 1i64 }
-- output { empty([3][0]i32) }
-- input { [1, 2, 3] 1i64 1i64 9223372036854775807i64 1i64 -9223372036854775808i64 }
-- output { [[2i32]] }
-- input { [1, 2, 3] 0i64 2i64 1i64 3i64 1i64 }
-- error: Index \[0; 2:1, 3:1\] out of bounds for array of shape \[3\]
-- input { [1, 2, 3] 2i64 2i64 -1i64 3i64 -1i64 }
-- error: out of bounds
-- input { [1, 2, 3] -1i64 1i64 1i64 1i64 1i64 }
-- error: out of bounds
-- input { [1, 2, 3] 3i64 1i64 1i64 1i64 1i64 }
-- error: out of bounds
-- input { [1, 2, 3] 0i64 -1i64 1i64 1i64 1i64 }
-- error: out of bounds
-- input { [1, 2, 3] 0i64 3i64 4611686018427387904i64 1i64 1i64 }
-- error: out of bounds
-- input { [1, 2, 3] 0i64 5i64 4611686018427387904i64 1i64 1i64 }
-- error: out of bounds
entry window [n] (xs: [n]i32) (o: i64) (n1: i64) (s1: i64) (n2: i64) (s2: i64) : [n1][n2]i32 =
  index2 xs o n1 s1 n2 s2

-- ==
-- entry: cube
-- input { 60i64 1i64 2i64 20i64 3i64 5i64 4i64 1i64 }
-- output { [[[1i64, 4i64, 9i64, 16i64], [36i64, 49i64, 64i64, 81i64], [121i64, 144i64, 169i64, 196i64]], [[441i64, 484i64, 529i64, 576i64], [676i64, 729i64, 784i64, 841i64], [961i64, 1024i64, 1089i64, 1156i64]]] [[1i64, 36i64, 121i64], [4i64, 49i64, 144i64], [9i64, 64i64, 169i64], [16i64, 81i64, 196i64]] }
-- input { 60i64 59i64 3i64 -20i64 2i64 -10i64 2i64 -5i64 }
-- output { [[[3481i64, 2916i64], [2401i64, 1936i64]], [[1521i64, 1156i64], [841i64, 576i64]], [[361i64, 196i64], [81i64, 16i64]]] [[3481i64, 2401i64], [2916i64, 1936i64]] }
-- input { 60i64 1i64 3i64 20i64 5i64 5i64 4i64 1i64 }
-- error: out of bounds
entry cube (n: i64) (o: i64) (n1: i64) (s1: i64) (n2: i64) (s2: i64) (n3: i64) (s3: i64) : ([n1][n2][n3]i64, [n3][n2]i64) =
  let xs = map (\i -> i * i) (iota n)
  let view = intrinsics.flat_index_3d xs o n1 s1 n2 s2 n3 s3
  in (view, transpose (if n1 > 0 then view[0] else replicate n2 (replicate n3 0)))

-- ==
-- entry: four
-- input { 100i64 3i64 }
-- output { [[[[3i64, 4i64], [5i64, 6i64]], [[7i64, 8i64], [9i64, 10i64]], [[11i64, 12i64], [13i64, 14i64]]], [[[11i64, 12i64], [13i64, 14i64]], [[15i64, 16i64], [17i64, 18i64]], [[19i64, 20i64], [21i64, 22i64]]]] }
-- input { 20i64 3i64 }
-- error: out of bounds
entry four (n: i64) (o: i64) : [2][3][2][2]i64 =
  intrinsics.flat_index_4d (iota n) o 2 8 3 4 2 2 2 1

-- The elements of the flat array may be arrays, or tuples.
-- ==
-- entry: rows
-- input { [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]] }
-- output { [[[1i32, 2i32], [3i32, 4i32], [5i32, 6i32]], [[5i32, 6i32], [7i32, 8i32], [9i32, 10i32]]] [[3i32, 7i32], [5i32, 9i32]] [[4i32, 8i32], [6i32, 10i32]] }
entry rows [n] (xs: [n][2]i32) : ([2][3][2]i32, [2][2]i32, [2][2]i32) =
  let view = intrinsics.flat_index_2d xs 0 2 2 3 1
  let pairs = intrinsics.flat_index_2d (map (\r -> (r[0], r[1])) xs) 1 2 1 2 2
  let (a, b) = unzip (map unzip pairs)
  in (view, a, b)

-- A view with repeated elements is copied before it is updated.
-- ==
-- entry: updated
-- input { 4i64 }
-- output { [[0i64, 100i64, 2i64], [1i64, 2i64, 3i64]] }
-- input { 6i64 }
-- output { [[0i64, 100i64, 2i64], [1i64, 2i64, 3i64]] }
entry updated (n: i64) : [2][3]i64 =
  let xs = iota n
  let view = intrinsics.flat_index_2d xs 0 2 1 3 1
  in view with [0, 1] = 100

-- Sums over windows, in parallel and sequentially.
-- ==
-- entry: sums
-- input { [1i64, 2i64, 3i64, 4i64, 5i64, 6i64] 3i64 }
-- output { [6i64, 9i64, 12i64, 15i64] [8i64, 12i64, 16i64, 20i64] }
-- input { [1i64, 2i64, 3i64, 4i64, 5i64, 6i64] 8i64 }
-- error: out of bounds
entry sums [n] (xs: [n]i64) (k: i64) : ([]i64, []i64) =
  let windows = intrinsics.flat_index_2d xs 0 (n - k + 1) 1 k 1
  let inner = map (\i -> i64.sum (flatten (intrinsics.flat_index_2d xs i 2 1 2 1))) (iota (n - 2))
  in (map i64.sum windows, inner)

-- Of overlapping writes the last remains.
-- ==
-- entry: put
-- input { [0, 0, 0, 0, 0, 0, 0, 0, 0, 0] 1i64 4i64 1i64 [[1, 2, 3], [4, 5, 6]] }
-- output { [0i32, 1i32, 2i32, 3i32, 0i32, 4i32, 5i32, 6i32, 0i32, 0i32] }
-- input { [0, 0, 0, 0, 0, 0, 0, 0, 0, 0] 9i64 -4i64 -2i64 [[1, 2, 3], [4, 5, 6]] }
-- output { [0i32, 6i32, 0i32, 5i32, 0i32, 4i32, 0i32, 2i32, 0i32, 1i32] }
-- input { [0, 0, 0, 0, 0, 0, 0, 0, 0, 0] 1i64 1i64 3i64 [[1, 2, 3], [4, 5, 6]] }
-- output { [0i32, 1i32, 4i32, 0i32, 2i32, 5i32, 0i32, 3i32, 6i32, 0i32] }
-- input { [0, 0, 0, 0, 0, 0, 0, 0, 0, 0] 3i64 1i64 1i64 [[1, 2, 3], [4, 5, 6]] }
-- output { [0i32, 0i32, 0i32, 1i32, 4i32, 5i32, 6i32, 0i32, 0i32, 0i32] }
-- input { [0, 0, 0, 0, 0, 0, 0, 0, 0, 0] 3i64 1i64 -1i64 [[1, 2, 3], [4, 5, 6]] }
-- output { [0i32, 3i32, 6i32, 5i32, 4i32, 0i32, 0i32, 0i32, 0i32, 0i32] }
-- input { [0, 0, 0, 0, 0, 0, 0, 0, 0, 0] 3i64 0i64 0i64 [[1, 2, 3], [4, 5, 6]] }
-- output { [0i32, 0i32, 0i32, 6i32, 0i32, 0i32, 0i32, 0i32, 0i32, 0i32] }
-- input { [0, 0, 0] 30i64 1i64 1i64 empty([2][0]i32) }
-- output { [0i32, 0i32, 0i32] }
-- input { [0, 0, 0, 0, 0, 0] 1i64 4i64 1i64 [[1, 2, 3], [4, 5, 6]] }
-- error: Index \[1; 2:4, 3:1\] out of bounds for array of shape \[6\]
entry put [n] [k] [l] (xs: *[n]i32) (o: i64) (s1: i64) (s2: i64) (v: [k][l]i32) : *[n]i32 =
  intrinsics.flat_update_2d xs o s1 s2 v

-- ==
-- entry: put_rows
-- input { 20i64 1i64 }
-- output { [[7i64, 7i64], [0i64, 1i64], [7i64, 7i64], [10i64, 11i64], [7i64, 7i64], [7i64, 7i64], [7i64, 7i64], [100i64, 101i64], [7i64, 7i64], [110i64, 111i64], [7i64, 7i64], [7i64, 7i64], [7i64, 7i64], [7i64, 7i64], [7i64, 7i64], [7i64, 7i64], [7i64, 7i64], [7i64, 7i64], [7i64, 7i64], [7i64, 7i64]] [0i64, 0i64, 1i64, 2i64, 10i64, 11i64, 12i64, 7i64, 100i64, 101i64, 102i64, 110i64, 111i64, 112i64, 14i64, 15i64, 16i64, 17i64, 18i64, 19i64] }
-- input { 10i64 1i64 }
-- error: out of bounds
entry put_rows (n: i64) (o: i64) : ([n][2]i64, [n]i64) =
  let v = tabulate_3d 2 2 3 (\i j k -> 100 * i + 10 * j + k)
  let rows = intrinsics.flat_update_2d (replicate n [7, 7]) o 6 2 v[:, :, :2]
  let flat = intrinsics.flat_update_3d (iota n) o 7 3 1 v
  in (rows, flat)

-- ==
-- entry: put_four
-- input { 40i64 }
-- output { [0i64, 1i64, 2i64, 3i64, 4i64, 5i64, 6i64, 7i64, 8i64, 9i64, 10i64, 11i64, 12i64, 13i64, 123i64, 122i64, 121i64, 120i64, 119i64, 118i64, 117i64, 116i64, 115i64, 114i64, 113i64, 112i64, 26i64, 27i64, 111i64, 110i64, 109i64, 108i64, 107i64, 106i64, 105i64, 104i64, 103i64, 102i64, 101i64, 100i64] }
entry put_four (n: i64) : [n]i64 =
  let v = tabulate 2 (\i -> tabulate_3d 3 2 2 (\j k l -> 100 + 12 * i + 4 * j + 2 * k + l))
  in intrinsics.flat_update_4d (iota n) 39 (-14) (-4) (-2) (-1) v

-- Antidiagonals, each from the previous one, in place.
-- ==
-- entry: antidiagonals
-- input { 5i64 }
-- output { [[2i64, 3i64, 4i64, 5i64, 6i64], [3i64, 6i64, 10i64, 15i64, 0i64], [4i64, 10i64, 20i64, 0i64, 0i64], [5i64, 15i64, 0i64, 0i64, 0i64], [6i64, 0i64, 0i64, 0i64, 0i64]] }
-- input { 1i64 }
-- output { [[2i64]] }
entry antidiagonals (n: i64) : [n][n]i64 =
  let m = n + 1
  let start = tabulate (m * m) (\p -> if p < m || p % m == 0 then 1 else 0)
  let all =
    loop a = start
    for d < n do
      let up = intrinsics.flat_index_2d a (d + 1) (d + 1) (m - 1) 1 1
      let left = intrinsics.flat_index_2d a (d + m) (d + 1) (m - 1) 1 1
      let sum = map2 (map2 (\x y -> (x + y) % 1000)) up left
      in intrinsics.flat_update_2d a (d + 1 + m) (m - 1) 1 (copy sum)
  in (unflatten all)[1:, 1:] :> [n][n]i64

-- In a map, with nest-variant sizes.
-- ==
-- entry: triangles
-- input { 4i64 10i64 }
-- output { [[1i64, 0i64, 0i64, 1i64, 0i64, 0i64, 0i64, 0i64, 0i64, 0i64], [0i64, 2i64, 2i64, 0i64, 2i64, 2i64, 0i64, 0i64, 0i64, 0i64], [0i64, 0i64, 3i64, 3i64, 3i64, 3i64, 3i64, 3i64, 0i64, 0i64], [0i64, 0i64, 0i64, 4i64, 4i64, 4i64, 4i64, 4i64, 4i64, 4i64]] }
-- input { 4i64 5i64 }
-- error: out of bounds
entry triangles (k: i64) (n: i64) : [k][n]i64 =
  map (\i ->
         let v = replicate 2 (replicate (i + 1) (i + 1))
         in intrinsics.flat_update_2d (replicate n 0) i 3 1 v)
      (iota k)

-- Adjacent tiles: dimensions not in the order of their strides, and mergeable dimensions.
-- ==
-- entry: put_tiles
-- input { 12i64 0i64 2i64 6i64 }
-- output { [0i64, 1i64, 100i64, 101i64, 200i64, 201i64, 10i64, 11i64, 110i64, 111i64, 210i64, 211i64] }
-- input { 12i64 0i64 2i64 2i64 }
-- output { [0i64, 1i64, 100i64, 101i64, 200i64, 201i64, 210i64, 211i64, 7i64, 7i64, 7i64, 7i64] }
-- input { 9i64 0i64 0i64 6i64 }
-- output { [200i64, 201i64, 7i64, 7i64, 7i64, 7i64, 210i64, 211i64, 7i64] }
-- input { 12i64 4i64 -2i64 6i64 }
-- output { [200i64, 201i64, 100i64, 101i64, 0i64, 1i64, 210i64, 211i64, 110i64, 111i64, 10i64, 11i64] }
entry put_tiles (n: i64) (o: i64) (s1: i64) (s2: i64) : [n]i64 =
  let v = tabulate_3d 3 2 2 (\i j k -> 100 * i + 10 * j + k)
  in intrinsics.flat_update_3d (replicate n 7) o s1 s2 1 v

-- Constant and negative strides.
-- ==
-- entry: put_back
-- input { 100i64 }
-- output { [100i64, 22i64, 102i64, 21i64, 104i64, 20i64, 106i64, 10i64, 108i64, 0i64] [100i64, 101i64, 2i64, 12i64, 22i64, 1i64, 11i64, 21i64, 0i64, 10i64, 20i64, 111i64] }
entry put_back (k: i64) : ([]i64, []i64) =
  let v = tabulate_2d 3 3 (\i j -> 10 * i + j)
  in ( intrinsics.flat_update_2d (map (+ k) (iota 10)) 9 (-2) (-2) v
     , intrinsics.flat_update_2d (map (+ k) (iota 12)) 8 1 (-3) v )
