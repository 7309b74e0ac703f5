-- run: explain --backend cuda FILE
-- prints: reduction runs on the host: not supported yet: operators on arrays in device kernels

entry main [n] [m] (rows: [n][m]i64) =
  reduce (\a b -> if a[0] <= b[0] then a else b) (replicate m i64.highest) rows
