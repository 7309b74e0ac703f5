-- run: explain --backend cuda FILE
-- prints: scan runs on the host: not supported yet: scans that return mapped arrays in device kernels

entry main [n] [m] (xs: [n]i64) (rows: [n][m]i64) =
  #[sequential_inner]
  map2 (\x row -> map (+ x) row) (scan (+) 0 xs) (map (\row -> scan (+) 0 row) rows)
