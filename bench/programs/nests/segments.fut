-- Reductions and scans of segments, from many short ones to a single one.

-- ==
-- entry: sums
-- input { [[1.0f32, 2.0f32], [3.0f32, -4.0f32]] }
-- output { [3.0f32, -1.0f32] }
entry sums [k][n] (segments: [k][n]f32) : [k]f32 = map f32.sum segments

-- ==
-- entry: scans
-- input { [[1.0f32, 2.0f32], [3.0f32, -4.0f32]] }
-- output { [[1.0f32, 3.0f32], [3.0f32, -1.0f32]] }
entry scans [k][n] (segments: [k][n]f32) : [k][n]f32 = map (scan (+) 0) segments

-- The largest square: a map before a reduction whose operator is exact.
-- ==
-- entry: largest
-- input { [[1, 2, -3], [-4, -5, 1]] }
-- output { [9, 25] }
entry largest [k][n] (segments: [k][n]i32) : [k]i32 =
  map (\xs -> i32.maximum (map (\x -> x * x) xs)) segments
