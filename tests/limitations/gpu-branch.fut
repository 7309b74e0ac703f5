-- run: explain --backend cuda FILE
-- prints: reduction runs sequentially, inside the parallel loop
-- not: reduction runs on the device

entry main [n] [m] (rows: [n][m]i64) =
  map (\row -> if row[0] > 0 then i64.sum (map (* 3) row) else row[m - 1]) rows
