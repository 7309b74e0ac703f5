-- run: build FILE
-- exit: 1
-- prints: not supported yet: derivatives of a recursive function that contains derivatives of itself

def f (n: i64) (x: f64) : f64 = if n == 0 then x * x else vjp (f (n - 1)) x 1 + x

entry main (n: i64) (x: f64) = f n x
