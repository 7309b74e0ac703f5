-- run: explain FILE
-- prints: not vectorised: it allocates memory
-- prints: reduction runs sequentially: its operator works on arrays

entry main [n] [m] (rows: [n][m]i64) =
  reduce (\a b -> if a[0] <= b[0] then a else b) (replicate m i64.highest) rows
