-- run: build FILE
-- exit: 1
-- prints: not supported yet: the derivative of accumulators whose operator is not a sum

entry main [n] (is: [n]i64) (xs: [n]f64) : [n]f64 =
  let write (acc: *intrinsics.acc ([4]f64)) (i, x) = intrinsics.acc_write acc i x
  let f (xs: [n]f64) = f64.sum (intrinsics.hist_stream (replicate 4 1.0) (*) 1 write (zip is xs))
  in vjp f xs 1
