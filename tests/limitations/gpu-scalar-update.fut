-- run: run --backend opencl FILE -P
-- input: [1, 2, 30]
-- prints: [66i64, 4i64, 60i64]
-- prints: bytes copied to the host: 32

-- 24 bytes are the result.
entry main [n] (xs: *[n]i64) =
  let s = i64.sum xs
  in map (* 2) (if s > 10 then xs with [0] = s else xs)
