-- The logarithm of a sum of exponentials, less their greatest exponent, and its gradient.

def log_sum_exp [n] (xs: [n]f64) : f64 =
  let most = f64.maximum xs
  in most + f64.log (f64.sum (map (\x -> f64.exp (x - most)) xs))

entry primal [n] (xs: [n]f64) : f64 = log_sum_exp xs

entry derivative [n] (xs: [n]f64) : [n]f64 = vjp log_sum_exp xs 1
