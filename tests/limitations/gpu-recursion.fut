-- run: explain --backend cuda FILE
-- prints: map runs on the host: not supported yet: recursive functions in device kernels

def steps (x: i64): i64 = if x <= 1 then 0 else 1 + steps (if x % 2 == 0 then x / 2 else 3 * x + 1)

entry main [n] (xs: [n]i64) = map steps xs
