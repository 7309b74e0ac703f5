-- Indices and slices out of bounds: an error with a source position, also from parallel
-- operations, and none if nothing is out of bounds.

-- ==
-- entry: index
-- input { [1, 2] 2i64 }
-- error: out of bounds
-- input { [1, 2] -1i64 }
-- error: out of bounds
-- input { empty([0]i32) 0i64 }
-- error: out of bounds
-- input { [1, 2] 1i64 }
-- output { 2i32 }
entry index (xs: []i32) (i: i64) : i32 = xs[i]

-- ==
-- entry: index_2d
-- input { [[1, 2], [3, 4]] 1i64 2i64 }
-- error: out of bounds
-- input { [[1, 2], [3, 4]] 2i64 1i64 }
-- error: out of bounds
-- input { [[1, 2], [3, 4]] 1i64 1i64 }
-- output { 4i32 }
entry index_2d (a: [][]i32) (i: i64) (j: i64) : i32 = a[i, j]

-- One of many elements reads out of bounds.
-- ==
-- entry: gather
-- input { [10, 20, 30] [0i64, 2i64, 1i64, 3i64, 0i64] }
-- error: out of bounds
-- input { [10, 20, 30] [0i64, 2i64, -7i64] }
-- error: out of bounds
-- input { empty([0]i32) empty([0]i64) }
-- output { empty([0]i32) }
entry gather [n] (xs: []i32) (is: [n]i64) : [n]i32 = map (\i -> xs[i]) is

-- In a nested map, below a reduction.
-- ==
-- entry: nested
-- input { [[1, 2, 3], [4, 5, 6]] 2i64 }
-- output { [7i32, 16i32] }
-- input { [[1, 2, 3], [4, 5, 6]] 4i64 }
-- error: out of bounds
entry nested [n] [m] (xss: [n][m]i32) (d: i64) : [n]i32 =
  map (\xs -> reduce (+) 0 (map (\j -> xs[(j + d) / 2]) (iota m))) xss

-- In the operator of a reduction and of a scan.
-- ==
-- entry: in_reduction
-- input { [0i64, 1i64, 2i64] [0i64, 1i64] }
-- error: out of bounds
-- input { [0i64, 1i64, 0i64] [0i64, 1i64] }
-- output { 1i64 }
entry in_reduction (is: []i64) (table: []i64) : i64 =
  reduce (\a b -> table[i64.max a b]) 0 is

-- ==
-- entry: in_scan
-- input { [0i64, 1i64, 2i64, 0i64] [0i64, 1i64] }
-- error: out of bounds
-- input { [0i64, 1i64, 0i64] [0i64, 1i64] }
-- output { [0i64, 1i64, 1i64] }
entry in_scan [n] (is: [n]i64) (table: []i64) : [n]i64 =
  scan (\a b -> table[i64.max a b]) 0 is

-- In a sequential loop inside a map.
-- ==
-- entry: in_loop
-- input { [1i64, 2i64] [5, 6] }
-- output { [5i32, 11i32] }
-- input { [1i64, 3i64, 2i64] [5, 6] }
-- error: out of bounds
entry in_loop [n] (counts: [n]i64) (xs: []i32) : [n]i32 =
  map (\k -> loop acc = 0 for i < k do acc + xs[i]) counts

-- ==
-- entry: slice
-- input { [1, 2, 3] 1i64 4i64 1i64 }
-- error: out of bounds
-- input { [1, 2, 3] 2i64 1i64 1i64 }
-- error: out of bounds
-- input { [1, 2, 3] -1i64 1i64 1i64 }
-- error: out of bounds
-- input { [1, 2, 3] 3i64 3i64 1i64 }
-- output { empty([0]i32) }
-- input { [1, 2, 3] 2i64 -1i64 -1i64 }
-- output { [3i32, 2i32, 1i32] }
entry slice (xs: []i32) (i: i64) (j: i64) (s: i64) : []i32 = xs[i:j:s]

-- ==
-- entry: update
-- input { [1, 2, 3] 3i64 }
-- error: out of bounds
-- input { [1, 2, 3] 0i64 }
-- output { [9i32, 2i32, 3i32] }
entry update [n] (xs: *[n]i32) (i: i64) : [n]i32 = xs with [i] = 9

-- The first and last elements of an empty array.
-- ==
-- entry: ends
-- input { empty([0]i32) }
-- error: out of bounds
-- input { [4, 5] }
-- output { 4i32 5i32 }
entry ends (xs: []i32) : (i32, i32) = (head xs, last xs)
