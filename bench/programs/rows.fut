-- Reductions along the rows and columns of a matrix.

-- ==
-- entry: row_sums
-- input { [[1.0, 2.5], [3.0, -4.0]] }
-- output { [3.5f64, -1.0f64] }
entry row_sums [n][m] (xss: [n][m]f64) : [n]f64 = map (reduce (+) 0) xss

-- ==
-- entry: row_maxima
-- input { [[1.0, 2.5], [3.0, -4.0]] }
-- output { [2.5f64, 3.0f64] }
entry row_maxima [n][m] (xss: [n][m]f64) : [n]f64 = map f64.maximum xss

-- ==
-- entry: column_sums
-- input { [[1.0, 2.5], [3.0, -4.0]] }
-- output { [4.0f64, -1.5f64] }
entry column_sums [n][m] (xss: [n][m]f64) : [m]f64 = map (reduce (+) 0) (transpose xss)

-- ==
-- entry: matrix_vector
-- input { [[1.0, 2.5], [3.0, -4.0]] [2.0, 10.0] }
-- output { [27.0f64, -34.0f64] }
entry matrix_vector [n][m] (xss: [n][m]f64) (v: [m]f64) : [n]f64 =
  map (\xs -> reduce (+) 0 (map2 (*) xs v)) xss
