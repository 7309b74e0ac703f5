-- Products of sparse matrices and vectors.

-- Entries in any order, each added to its row.
-- ==
-- entry: by_index
-- input { 3i64 [0i32, 2i32, 0i32] [1i32, 0i32, 2i32] [2.0, 5.0, 3.0] [1.0, 10.0, 100.0] }
-- output { [320.0, 0.0, 5.0] }
entry by_index [e][m] (n: i64)
                      (rows: [e]i32)
                      (columns: [e]i32)
                      (values: [e]f64)
                      (x: [m]f64) : [n]f64 =
  reduce_by_index (replicate n 0)
                  (+)
                  0
                  (map i64.i32 rows)
                  (map2 (\value column -> value * x[i64.i32 column]) values columns)

-- Entries by rows of different lengths: an irregular nest.
-- ==
-- entry: by_rows
-- input { [0i64, 2i64, 2i64, 3i64] [1i32, 2i32, 0i32] [2.0, 3.0, 5.0] [1.0, 10.0, 100.0] }
-- output { [320.0, 0.0, 5.0] }
entry by_rows [n1][e][m] (starts: [n1]i64)
                         (columns: [e]i32)
                         (values: [e]f64)
                         (x: [m]f64) : []f64 =
  map (\i ->
         let size = starts[i + 1] - starts[i]
         in f64.sum (map (\k ->
                            let at = starts[i] + k
                            in values[at] * x[i64.i32 columns[at]])
                         (iota size)))
      (iota (n1 - 1))
