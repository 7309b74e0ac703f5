-- run: run --backend opencl FILE -P
-- input: 50 3
-- prints: kernels launched: 51

entry main (n: i64) (x: i64) =
  loop xs = replicate 4 x for i < n do map2 (\x j -> x * xs[(j + 1) % 4] + i) xs (iota 4)
