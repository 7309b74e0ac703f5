-- run: build FILE
-- exit: 1
-- prints: not supported yet: accumulators captured by functions

def repeat (n: i64) (f: i64 -> i64): i64 = if n == 0 then f n else repeat (n - 1) f

entry main (n: i64) =
  let write (bins: *intrinsics.acc ([n]i64)) i =
    let first (x: i64) = (x, bins).0
    in intrinsics.acc_write bins i (repeat i first)
  in intrinsics.scatter_stream (replicate n 0) write (iota n)
