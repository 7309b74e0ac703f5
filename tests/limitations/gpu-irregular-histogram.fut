-- run: explain --backend cuda FILE
-- prints: update runs on the host: not supported yet: arrays whose sizes differ between threads in device kernels

entry main [n] (sizes: [n]i64) =
  map (\k -> i64.sum (hist (+) 0 k (map (% k) (iota k)) (iota k))) sizes
