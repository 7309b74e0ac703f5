-- run: explain --backend cuda FILE
-- prints: map runs on the host: not supported yet: arrays whose sizes differ between threads in device kernels

entry main [n] (sizes: [n]i64) =
  map (\k -> i64.sum (map (\(i, j) -> i ^ j)
                          (flatten (map (\i -> map (\j -> (i, j)) (iota k)) (iota (k + 1)))))) sizes
