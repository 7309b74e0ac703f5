-- The logarithm of the likelihood of a Gaussian mixture with a Wishart prior, and its gradient. The formula is that of
-- ADBench (Srajer, Kukelova and Fitzgibbon 2018): rows of `icf` are the logarithms of the diagonal of a component's
-- triangular inverse covariance factor, then its columns below the diagonal.

def prior_gamma : f64 = 1
def prior_m : f64 = 0

def dot [d] (a: [d]f64) (b: [d]f64) : f64 = f64.sum (map2 (*) a b)

def log_sum_exp [n] (xs: [n]f64) : f64 =
  let most = f64.maximum xs
  in most + f64.log (f64.sum (map (\x -> f64.exp (x - most)) xs))

def factor [l] (d: i64) (icf: [l]f64) : [d][d]f64 =
  tabulate_2d d d (\i j ->
    if i < j then 0
    else if i == j then f64.exp icf[i]
    else icf[d + j * (2 * d - j - 1) / 2 + i - j - 1])

def log_gamma_multivariate (a: f64) (p: i64) : f64 =
  let q = f64.i64 p
  in q * (q - 1) / 4 * f64.log f64.pi + f64.sum (tabulate p (\j -> f64.lgamma (a - f64.i64 j / 2)))

def log_prior [k][l] (d: i64) (icfs: [k][l]f64) : f64 =
  let freedom = f64.i64 d + prior_m + 1
  let constant =
    freedom * f64.i64 d * (f64.log prior_gamma - f64.log 2 / 2) - log_gamma_multivariate (freedom / 2) d
  let component (icf: [l]f64) =
    let diagonal = map f64.exp (take d icf)
    let below = drop d icf
    in prior_gamma * prior_gamma / 2 * (dot diagonal diagonal + dot below below) - prior_m * f64.sum (take d icf)
  in f64.i64 k * constant - f64.sum (map component icfs)

def log_likelihood [n][d][k][l] (xs: [n][d]f64) (alphas: [k]f64) (means: [k][d]f64) (icfs: [k][l]f64) : f64 =
  let factors = map (factor d) icfs
  let weights = map2 (\alpha icf -> alpha + f64.sum (take d icf)) alphas icfs
  let term (x: [d]f64) (weight: f64) (mean: [d]f64) (factor: [d][d]f64) =
    let distances = map (dot (map2 (-) x mean)) factor
    in weight - dot distances distances / 2
  let point x = log_sum_exp (map3 (term x) weights means factors)
  in f64.sum (map point xs)
     - f64.i64 n * (log_sum_exp alphas + f64.i64 d / 2 * f64.log (2 * f64.pi))
     + log_prior d icfs

entry primal [n][d][k][l] (xs: [n][d]f64) (alphas: [k]f64) (means: [k][d]f64) (icfs: [k][l]f64) : f64 =
  log_likelihood xs alphas means icfs

entry derivative [n][d][k][l] (xs: [n][d]f64) (alphas: [k]f64) (means: [k][d]f64) (icfs: [k][l]f64)
  : ([k]f64, [k][d]f64, [k][l]f64) =
  vjp (\(alphas, means, icfs) -> log_likelihood xs alphas means icfs) (alphas, means, icfs) 1
