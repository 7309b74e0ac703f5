-- Reductions and scans whose operators work on rows, and softmax along rows.

-- The sum of the rows.
-- ==
-- entry: reduce_rows
-- input { [[1.0f32, 2.0f32], [3.0f32, -4.0f32], [0.5f32, 8.0f32]] }
-- output { [4.5f32, 6.0f32] }
entry reduce_rows [n][m] (rows: [n][m]f32) : [m]f32 =
  reduce (map2 (+)) (replicate m 0) rows

-- The prefix sums of the rows.
-- ==
-- entry: scan_rows
-- input { [[1.0f32, 2.0f32], [3.0f32, -4.0f32], [0.5f32, 8.0f32]] }
-- output { [[1.0f32, 2.0f32], [4.0f32, -2.0f32], [4.5f32, 6.0f32]] }
entry scan_rows [n][m] (rows: [n][m]f32) : [n][m]f32 =
  scan (map2 (+)) (replicate m 0) rows

-- The softmax of each row.
-- ==
-- entry: softmax
-- input { [[0.0f32, 0.0f32], [1000.0f32, 1000.0f32]] }
-- output { [[0.5f32, 0.5f32], [0.5f32, 0.5f32]] }
entry softmax [n][m] (rows: [n][m]f32) : [n][m]f32 =
  map (\row ->
         let top = f32.maximum row
         let powers = map (\x -> f32.exp (x - top)) row
         let all = f32.sum powers
         in map (/ all) powers)
      rows
