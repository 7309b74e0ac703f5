-- run: explain FILE
-- prints: histogram runs sequentially: its operator works on arrays and is itself parallel

entry main [n] [m] (is: [n]i64) (rows: [n][m]i64) =
  hist (\a b -> if a[0] <= b[0] then a else b) (replicate m i64.highest) 10 is rows
