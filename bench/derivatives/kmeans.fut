-- The sum of the squared distances to the nearest of k centres, and the step of Newton's method (Bottou and Bengio
-- 1994, GradBench's `kmeans`): the gradient over the Hessian, which is diagonal.

def distance [d] (a: [d]f64) (b: [d]f64) : f64 = f64.sum (map2 (\x y -> (x - y) * (x - y)) a b)

def cost [n][k][d] (points: [n][d]f64) (centres: [k][d]f64) : f64 =
  f64.sum (map (\point -> f64.minimum (map (distance point) centres)) points)

entry primal [n][k][d] (points: [n][d]f64) (centres: [k][d]f64) : f64 = cost points centres

entry derivative [n][k][d] (points: [n][d]f64) (centres: [k][d]f64) : [k][d]f64 =
  let ones = replicate k (replicate d 1)
  let (gradient, diagonal) = jvp2 (\centres -> vjp (cost points) centres 1) centres ones
  in map2 (map2 (/)) gradient diagonal
