-- run: build FILE
-- exit: 1
-- prints: not supported yet: recursive functions that must be inlined

def fill [k] (n: i64) (bins: *intrinsics.acc ([k]i64)): *intrinsics.acc ([k]i64) =
  if n == 0 then bins else fill (n - 1) (intrinsics.acc_write bins n 1)

entry main (n: i64) =
  let write (bins: *intrinsics.acc ([n]i64)) i = fill i bins
  in intrinsics.scatter_stream (replicate n 0) write (iota n)
