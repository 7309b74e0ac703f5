-- The element is known without the array, but not that the array exists.

-- ==
-- entry: known_element
-- input { empty([0]u8) }
-- error: Index \[0\] out of bounds
-- input { [1u8] }
-- error: Index \[2\] out of bounds
-- input { [1u8, 1u8, 1u8, 1u8, 1u8] }
-- output { 144i64 }
entry known_element [n] (_: [n]u8) : i64 =
  loop acc = 0 for _i < 4i64 do acc + (16 + (n + (replicate n 15i64)[acc % 5]))

-- A check that precedes the reads of rows, with empty rows.
-- ==
-- entry: sums_of_rows
-- input { [[1, 2, 3], [4, 5, 6]] [1i64, 0i64, 1i64] }
-- output { [15i32, 6i32, 15i32] }
-- input { empty([2][0]i32) [1i64, 0i64, 1i64] }
-- output { [0i32, 0i32, 0i32] }
-- input { [[1, 2, 3], [4, 5, 6]] [1i64, 2i64, 1i64] }
-- error: Index \[2\] out of bounds for array of shape \[2\]
-- input { empty([2][0]i32) [1i64, 2i64, 1i64] }
-- error: Index \[2\] out of bounds for array of shape \[2\]
-- input { empty([0][3]i32) empty([0]i64) }
-- output { empty([0]i32) }
entry sums_of_rows [k] [m] [n] (xss: [k][m]i32) (is: [n]i64) : [n]i32 =
  map (\i -> #[flattening(only_inner)] reduce (+) 0 (opaque xss)[i]) is

-- The same before two maps: elements are scaled, rows of rows.
-- ==
-- entry: scaled_rows
-- input { [[1, 2], [3, 4]] [[0i64, 1i64], [1i64, 1i64]] 10 }
-- output { [[[10i32, 20i32], [30i32, 40i32]], [[30i32, 40i32], [30i32, 40i32]]] }
-- input { [[1, 2], [3, 4]] [[0i64, 1i64], [1i64, -1i64]] 10 }
-- error: Index \[-1\] out of bounds for array of shape \[2\]
-- input { empty([2][0]i32) [[0i64, 1i64], [1i64, 1i64]] 10 }
-- output { empty([2][2][0]i32) }
-- input { empty([2][0]i32) [[0i64, 1i64], [1i64, -1i64]] 10 }
-- error: Index \[-1\] out of bounds for array of shape \[2\]
entry scaled_rows [k] [m] [p] [q] (xss: [k][m]i32) (iss: [p][q]i64) (scale: i32) : [p][q][m]i32 =
  map (map (\i -> map (* scale) (opaque xss)[i])) iss

-- Coercions in iterations to a size that is invalid.
-- ==
-- entry: coerced_sums
-- input { [1, 2, 3] 3i64 2i64 }
-- output { [6i32, 6i32] }
-- input { [1, 2, 3] 0i64 2i64 }
-- error: cannot match shape
-- input { [1, 2, 3] 0i64 0i64 }
-- output { empty([0]i32) }
-- input { empty([0]i32) 0i64 2i64 }
-- output { [0i32, 0i32] }
entry coerced_sums (xs: []i32) (n: i64) (k: i64) : [k]i32 =
  map (\_ -> i32.sum (xs :> [n]i32)) (iota k)

-- Slices whose end may precede their start: an empty sum, but an error.
-- ==
-- entry: sums_of_slices
-- input { [[1, 2, 3], [4, 5, 6]] 1i64 3i64 }
-- output { [5i32, 11i32] }
-- input { [[1, 2, 3], [4, 5, 6]] 2i64 2i64 }
-- output { [0i32, 0i32] }
-- input { [[1, 2, 3], [4, 5, 6]] 3i64 0i64 }
-- error: Index \[3:0\] out of bounds for array of shape \[3\]
-- input { empty([0][3]i32) 3i64 0i64 }
-- output { empty([0]i32) }
entry sums_of_slices [n] [m] (xss: [n][m]i32) (from: i64) (to: i64) : [n]i32 =
  map (\xs -> #[flattening(only_inner)] reduce (+) 0 (opaque xs)[from:to]) xss
