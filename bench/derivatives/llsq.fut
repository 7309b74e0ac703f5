-- Linear least squares (`llsq_obj` of cmpad, in GradBench): a polynomial with the coefficients x that approximates the
-- sign of n points from -1 to 1.

def residual [m] (n: i64) (x: [m]f64) (i: i64) : f64 =
  let t = -1 + 2 * f64.i64 i / f64.i64 (n - 1)
  let (_, value) = loop (power, value) = (1, 0) for c in x do (power * t, value + c * power)
  in f64.sgn t - value

def objective [m] (n: i64) (x: [m]f64) : f64 =
  f64.sum (tabulate n (\i -> let r = residual n x i in r * r)) / 2

entry primal [m] (n: i64) (x: [m]f64) : f64 = objective n x

entry derivative [m] (n: i64) (x: [m]f64) : [m]f64 = vjp (objective n) x 1
