-- run: run --backend interp FILE
-- input: 1000 3
-- exit: 1
-- prints: not supported: derivatives nested more than 100 times

def nested (n: i64) (x: f64): f64 = if n == 0 then x else jvp (nested (n - 1)) x 1

entry main (n: i64) (x: f64) = nested n x
