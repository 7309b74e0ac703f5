-- run: explain --backend cuda FILE
-- prints: map runs on the host: not supported yet: arrays whose sizes differ between threads in device kernels

entry main [n] (sizes: [n]i64) =
  map (\k -> let a = loop a = replicate k k for i < k do a with [(i * k) % k] = a[i] + 1
             in loop s = 0 for i < k do s * a[i] + 1) sizes
