-- run: check FILE
-- exit: 1
-- prints: A recursive application must have its higher-order arguments passed unchanged

def steps (f: i64 -> i64) (g: i64 -> i64) (n: i64): i64 = if n == 0 then f 0 else steps g f (n - 1)

entry main (n: i64) = steps (+ 1) (* 2) n
