-- Failing checks in reductions that the lanes of a worker share.

-- Sums of elements at rows of indices, one of which may be out of bounds.
-- ==
-- entry: picked
-- input { 3i64 20i64 -1i64 }
-- output { [5.7e+02f32, 1.77e+03f32, 2.97e+03f32] }
-- input { 3i64 500i64 -1i64 }
-- output { [7.425e+04f32, 7.425e+04f32, 7.425e+04f32] }
-- input { 3i64 20i64 50i64 }
-- error: Index \[100\] out of bounds for array of shape \[100\]
-- input { 3i64 500i64 1499i64 }
-- error: Index \[100\] out of bounds for array of shape \[100\]
entry picked (n: i64) (m: i64) (bad: i64) : [n]f32 =
  let xs = tabulate 100 (\i -> f32.i64 (3 * i))
  let iss = opaque (tabulate_2d n m (\i j -> if i * m + j == bad then 100 else (i * m + j) % 100))
  in map (\is -> reduce (+) 0 (map (\i -> xs[i]) is)) iss
