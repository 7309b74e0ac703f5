-- run: explain --backend cuda FILE
-- prints: update runs on the host: not supported yet: accumulators whose operator is not atomic in device kernels

entry main [n] (k: i64) (xs: [n]i64) =
  let write (bins: *intrinsics.acc ([k]f32)) x = intrinsics.acc_write bins (x % k) (f32.i64 x)
  in intrinsics.hist_stream (replicate k 0) (+) 0 write xs
