-- filter, partition and functions built on them.

-- ==
-- entry: evens
-- input { [1, 2, 3, 4, 6] }
-- output { [2i32, 4i32, 6i32] 3i64 }
-- input { [1, 3] }
-- output { empty([0]i32) 0i64 }
-- input { empty([0]i32) }
-- output { empty([0]i32) 0i64 }
-- input { [2] }
-- output { [2i32] 1i64 }
entry evens (xs: []i32) : ([]i32, i64) =
  let kept = filter (\x -> x % 2 == 0) xs
  in (kept, length kept)

-- ==
-- entry: two_ways
-- input { [5, -1, 0, -7, 3] }
-- output { [-1i32, -7i32] [5i32, 0i32, 3i32] }
-- input { [1, 2] }
-- output { empty([0]i32) [1i32, 2i32] }
-- input { empty([0]i32) }
-- output { empty([0]i32) empty([0]i32) }
entry two_ways (xs: []i32) : ([]i32, []i32) = partition (< 0) xs

-- ==
-- entry: three_ways
-- input { [5, -1, 0, -7, 3, 0] }
-- output { [-1i32, -7i32] [0i32, 0i32] [5i32, 3i32] }
-- input { [0] }
-- output { empty([0]i32) [0i32] empty([0]i32) }
-- input { empty([0]i32) }
-- output { empty([0]i32) empty([0]i32) empty([0]i32) }
entry three_ways (xs: []i32) : ([]i32, []i32, []i32) = partition2 (< 0) (== 0) xs

-- Pairs, selected by one component.
-- ==
-- entry: positions
-- input { [3.5, -1.0, 0.0, 2.25] }
-- output { [0i64, 3i64] [3.5f64, 2.25f64] }
-- input { [-1.0] }
-- output { empty([0]i64) empty([0]f64) }
entry positions (xs: []f64) : ([]i64, []f64) =
  zip (indices xs) xs |> filter (\(_, x) -> x > 0) |> unzip

-- Rows of a matrix.
-- ==
-- entry: rows
-- input { [[1, 2], [-5, 1], [3, -3], [0, 7]] }
-- output { [[1i32, 2i32], [0i32, 7i32]] }
-- input { [[-1, -1]] }
-- output { empty([0][2]i32) }
entry rows [n] [m] (xss: [n][m]i32) : [][m]i32 = filter (\xs -> i32.sum xs > 0) xss

-- A filter of a filter, summed: all may be fused.
-- ==
-- entry: chain
-- input { [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] }
-- output { 125i32 }
-- input { empty([0]i32) }
-- output { 0i32 }
entry chain (xs: []i32) : i32 =
  xs |> map (* 3) |> filter (\x -> x % 2 == 0) |> filter (> 10) |> map (+ 1) |> i32.sum

-- Equal neighbours become one.
-- ==
-- entry: distinct
-- input { [1, 1, 2, 2, 2, 3, 1, 1] }
-- output { [1i32, 2i32, 3i32, 1i32] }
-- input { [4] }
-- output { [4i32] }
-- input { empty([0]i32) }
-- output { empty([0]i32) }
entry distinct (xs: []i32) : []i32 =
  map (\i -> xs[i]) (filter (\i -> i == 0 || xs[i] != xs[i - 1]) (indices xs))
