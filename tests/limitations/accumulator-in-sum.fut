-- run: build FILE
-- exit: 1
-- prints: not supported yet: accumulators in sum types whose constructor is unknown at compile time

type bins [n] = intrinsics.acc ([n]i64)

entry main (n: i64) =
  let write (bins: *bins [n]) i =
    let side: (#left (bins [n]) | #right (bins [n])) =
      if i % 2 == 0 then #left bins else #right bins
    in match side
       case #left b -> intrinsics.acc_write b i 1
       case #right b -> b
  in intrinsics.scatter_stream (replicate n 0) write (iota n)
