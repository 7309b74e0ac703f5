-- An ordinary differential equation (`an_ode` of cmpad, in GradBench) from 0 to 2 by the method of Runge and Kutta of
-- fourth order: y'[0] = x[0], y'[i] = x[i] y[i - 1], y = 0 at the start. The derivative is that of the sum of y at the
-- end.

def slope [n] (x: [n]f64) (y: [n]f64) : [n]f64 =
  tabulate n (\i -> if i == 0 then x[0] else x[i] * y[i - 1])

def solve [n] (steps: i64) (x: [n]f64) : [n]f64 =
  let h = 2 / f64.i64 steps
  let moved (y: [n]f64) (by: f64) (k: [n]f64) = map2 (\y k -> y + by * k) y k
  in loop y = replicate n 0 for _step < steps do
       let k1 = slope x y
       let k2 = slope x (moved y (h / 2) k1)
       let k3 = slope x (moved y (h / 2) k2)
       let k4 = slope x (moved y h k3)
       in map5 (\y k1 k2 k3 k4 -> y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)) y k1 k2 k3 k4

entry primal [n] (steps: i64) (x: [n]f64) : [n]f64 = solve steps x

entry derivative [n] (steps: i64) (x: [n]f64) : [n]f64 = vjp (solve steps) x (replicate n 1)
