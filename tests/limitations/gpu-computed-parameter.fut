-- run: explain --backend cuda FILE
-- prints: map runs on the host: not supported yet: tuning parameters whose default is computed in device kernels

entry main [n] (xs: [n]i64) =
  map (\x -> let width = #[param(width)] x in loop s = 0 for i < width do s * x + i) xs
