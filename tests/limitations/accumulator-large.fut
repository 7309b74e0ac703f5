-- run: run FILE -P --num-threads 2
-- input: 10000
-- prints: 1i64
-- prints: shared operations: 1

-- The shared operation initialises the bins.
entry main (n: i64) =
  let write (bins: *intrinsics.acc ([1000000]i64)) i =
    intrinsics.acc_write bins (i * 7919 % 1000000) i
  in (intrinsics.hist_stream (replicate 1000000 0) (+) 0 write (iota n))[7919]
