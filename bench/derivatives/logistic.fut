-- Logistic regression: the mean loss of n examples with labels 0 and 1 and a quadratic penalty, and its gradient.

def loss [n][m] (examples: [n][m]f64) (labels: [n]f64) (weights: [m]f64) : f64 =
  let term example label =
    let score = f64.sum (map2 (*) example weights)
    -- The logarithm of 1 + exp score without overflow.
    in f64.max score 0 + f64.log1p (f64.exp (-f64.abs score)) - label * score
  in f64.sum (map2 term examples labels) / f64.i64 n + 0.01 / 2 * f64.sum (map (\w -> w * w) weights)

entry primal [n][m] (examples: [n][m]f64) (labels: [n]f64) (weights: [m]f64) : f64 = loss examples labels weights

entry derivative [n][m] (examples: [n][m]f64) (labels: [n]f64) (weights: [m]f64) : [m]f64 =
  vjp (loss examples labels) weights 1
