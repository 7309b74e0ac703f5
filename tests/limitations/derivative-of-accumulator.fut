-- run: build FILE
-- exit: 1
-- prints: not supported yet: derivatives of functions on accumulators

type bins [n] = intrinsics.acc ([n]i64)

entry main (n: i64) =
  let write (bins: *bins [n]) _ =
    (jvp2 (\(bins: bins [n]) -> bins) bins bins).0
  in intrinsics.scatter_stream (replicate n 0) write (iota n)
