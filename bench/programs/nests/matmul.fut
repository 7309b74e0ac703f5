-- The product of two matrices, two maps around a redomap (Henriksen, Thorøe, Elsman
-- and Oancea, "Incremental Flattening for Nested Data Parallelism", §2.2).
-- ==
-- input { [[1.0f32, 2.0f32, 3.0f32]] [[1.0f32], [10.0f32], [100.0f32]] }
-- output { [[321.0f32]] }
-- input { [[1.0f32], [2.0f32]] [[3.0f32, 4.0f32]] }
-- output { [[3.0f32, 4.0f32], [6.0f32, 8.0f32]] }
entry main [n][m][k] (a: [n][m]f32) (b: [m][k]f32) : [n][k]f32 =
  map (\row -> map (\column -> f32.sum (map2 (*) row column)) (transpose b)) a
