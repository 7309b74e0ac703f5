-- run: explain --backend cuda FILE
-- prints: reduction runs on the host: not supported yet: operators that allocate arrays in device kernels

def combine (a: i64) (b: i64): i64 =
  let t = loop t = replicate 300 a for i < 300 do t with [(i * b) % 300] = t[i] + b
  in t[(a ^ b) % 300]

entry main [n] (xs: [n]i64) = reduce combine 0 xs
