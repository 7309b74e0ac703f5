-- Heston's model of stochastic volatility calibrated to quotes of calls: differential
-- evolution over five parameters, each candidate's error a sum over quotes of integrals
-- ("Heston" of Henriksen, Thorøe, Elsman and Oancea, "Incremental Flattening for Nested
-- Data Parallelism", §5.3): a map over candidates around a redomap over quotes around a
-- reduction over the points of a quadrature.

type complex = (f32, f32)

def re (x: f32) : complex = (x, 0)
def add (a: complex) (b: complex) : complex = (a.0 + b.0, a.1 + b.1)
def sub (a: complex) (b: complex) : complex = (a.0 - b.0, a.1 - b.1)
def mul (a: complex) (b: complex) : complex =
  (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
def scale (c: f32) (a: complex) : complex = (c * a.0, c * a.1)

def quotient (a: complex) (b: complex) : complex =
  let size = b.0 * b.0 + b.1 * b.1
  in ((a.0 * b.0 + a.1 * b.1) / size, (a.1 * b.0 - a.0 * b.1) / size)

def exp (a: complex) : complex =
  let size = f32.exp a.0 in (size * f32.cos a.1, size * f32.sin a.1)

def log (a: complex) : complex =
  (0.5 * f32.log (a.0 * a.0 + a.1 * a.1), f32.atan2 a.1 a.0)

-- The square root with a real part that is not negative.
def sqrt (a: complex) : complex =
  let size = f32.sqrt (a.0 * a.0 + a.1 * a.1)
  let real = f32.sqrt (f32.max 0 (0.5 * (size + a.0)))
  let imaginary = f32.sqrt (f32.max 0 (0.5 * (size - a.0)))
  in (real, if a.1 < 0 then -imaginary else imaginary)

-- Initial variance, long-term variance, mean reversion, volatility of the variance, and
-- its correlation with the price.
type model = {start: f32, long: f32, speed: f32, volatility: f32, correlation: f32}

-- The characteristic function of the logarithm of the price after `t`, in the form
-- that stays on one branch of the logarithm.
def characteristic (m: model) (t: f32) (u: complex) : complex =
  let iu = (-u.1, u.0)
  let square = m.volatility * m.volatility
  let beta = sub (re m.speed) (scale (m.correlation * m.volatility) iu)
  let d = sqrt (add (mul beta beta) (scale square (add iu (mul u u))))
  let low = sub beta d
  let g = quotient low (add beta d)
  let decay = exp (scale (-t) d)
  let inside = sub (re 1) (mul g decay)
  let growth = sub (scale t low) (scale 2 (log (quotient inside (sub (re 1) g))))
  let today = mul low (quotient (sub (re 1) decay) inside)
  in exp (scale (1 / square) (add (scale (m.speed * m.long) growth) (scale m.start today)))

-- A call on a price of 1, by the integral of Lewis along the middle of the strip, with
-- the points and weights of a quadrature.
def call [points] (quadrature: [points](f32, f32)) (m: model) (t: f32) (strike: f32) : f32 =
  let place = -f32.log strike
  let term (x: f32, weight: f32) : f32 =
    let (real, imaginary) = characteristic m t (x, -0.5)
    let (c, s) = (f32.cos (x * place), f32.sin (x * place))
    in weight * (real * c - imaginary * s) / (x * x + 0.25)
  let price = 1 - f32.sqrt strike / f32.pi * reduce (+) 0 (map term quadrature)
  in f32.max (f32.max 0 (1 - strike)) (f32.min 1 price)

-- Laguerre's quadrature with `n` points: the roots of the polynomial by Newton's method
-- (from guesses of Stroud and Secrest), weights times the exponentials of the points.
def laguerre (n: i64) : [n](f32, f32) =
  -- The polynomials of degree n and n - 1 at x.
  let at (x: f64) : (f64, f64) =
    loop (this, before) = (1, 0) for k < n do
      let j = f64.i64 k in (((2 * j + 1 - x) * this - j * before) / (j + 1), this)
  let size = f64.i64 n
  let guess (i: i64) (roots: [n]f64) : f64 =
    if i == 0
    then 3 / (1 + 2.4 * size)
    else if i == 1
    then roots[0] + 15 / (1 + 2.5 * size)
    else let j = f64.i64 (i - 1)
         in roots[i - 1] + (1 + 2.55 * j) / (1.9 * j) * (roots[i - 1] - roots[i - 2])
  let roots =
    loop roots = replicate n 0 for i < n do
      let root =
        loop x = guess i roots for _turn < 30i32 do
          let (this, before) = at x in x - this * x / (size * (this - before))
      in roots with [i] = root
  in map (\x ->
            let (_, before) = at x
            in (f32.f64 x, f32.f64 (f64.exp x * x / (size * size * before * before))))
         roots

-- The number of the day of a date written as yyyymmdd, from an arbitrary start.
def day (date: i32) : i32 =
  let (year, month) = (date / 10000, date / 100 % 100)
  -- Years start in March, so that the leap day is the last day.
  let (y, m) = if month > 2 then (year, month - 3) else (year - 1, month + 9)
  in 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + date % 100

def normal_cdf (x: f32) : f32 = 0.5 * (1 + f32.erf (x / f32.sqrt 2))

-- Price of a call on 1 and its derivative with respect to the volatility.
def black_scholes (t: f32) (strike: f32) (volatility: f32) : (f32, f32) =
  let spread = volatility * f32.sqrt t
  let d = -f32.log strike / spread + 0.5 * spread
  let price = normal_cdf d - strike * normal_cdf (d - spread)
  in (price, f32.sqrt t * f32.exp (-0.5 * d * d) / f32.sqrt (2 * f32.pi))

-- A number from 0 to 1 for each counter, by an integer hash.
def uniform (counter: u32) : f32 =
  let x = counter * 0x9E3779B9
  let x = (x ^ (x >> 16)) * 0x85EBCA6B
  let x = (x ^ (x >> 13)) * 0xC2B2AE35
  in f32.u32 ((x ^ (x >> 16)) >> 8) / 16777216

def bounds : [5](f32, f32) =
  [(1e-3, 1), (1e-3, 1), (1e-2, 4), (1e-2, 2), (-0.99, 0)]

def model_of (x: [5]f32) : model =
  {start = x[0], long = x[1], speed = x[2], volatility = x[3], correlation = x[4]}

-- The index of the least error, the first of several.
def least [n] (errors: [n]f32) : i64 =
  let smaller (e, i) (f, j) = if e < f || (e == f && i < j) then (e, i) else (f, j)
  in (reduce smaller (f32.inf, n) (zip errors (iota n))).1

def evolve (n: i64) (error: [5]f32 -> f32) (turns: i64) : ([5]f32, f32) =
  let draw (turn: i64) (i: i64) (what: i64) : f32 =
    uniform (u32.i64 ((turn * n + i) * 16 + what))
  let begin =
    tabulate n (\i -> map2 (\j (low, high) -> low + (high - low) * draw 0 i j) (iota 5) bounds)
  let (population, errors) =
    loop (population, errors) = (begin, map error begin) for turn < turns do
      let weight = 0.5 + 0.5 * draw (turn + 1) 0 15
      let best = least errors
      let mutant (i: i64) : [5]f32 =
        -- Three other candidates, all different: by steps around a circle of candidates.
        let step (what: i64) (most: i64) = i64.f32 (draw (turn + 1) i what * f32.i64 most)
        let s = 1 + step 10 (n - 3)
        let s' = s + 1 + step 11 (n - 2 - s)
        let s'' = s' + 1 + step 12 (n - 1 - s')
        let a = if draw (turn + 1) i 13 < 0.5 then best else (i + s) % n
        let (b, c) = ((i + s') % n, (i + s'') % n)
        let kept = i64.f32 (5 * draw (turn + 1) i 14)
        in map2 (\j (low, high) ->
                   let x = population[a, j] + weight * (population[b, j] - population[c, j])
                   in if (j == kept || draw (turn + 1) i j < 0.9) && low <= x && x <= high
                      then x
                      else population[i, j])
                (iota 5)
                bounds
      let mutants = map mutant (iota n)
      let errors' = map error mutants
      in unzip (map4 (\x e y f -> if f < e then (y, f) else (x, e)) population errors mutants errors')
  let best = least errors
  in (population[best], errors[best])

-- The errors of all quotes for one candidate, to compare compilers: in an evolution,
-- small differences grow.
-- ==
-- entry: errors
-- input { 5i32 20170126i32 [20170217i32, 20170519i32, 20180119i32] [0.8f64, 1.0f64, 1.25f64] [0.3f64, 0.2f64, 0.25f64] }
-- output { [-0.000226f32, -0.033643f32, -0.053475f32] }
entry errors [quotes]
             (points: i32)
             (today: i32)
             (maturities: [quotes]i32)
             (strikes: [quotes]f64)
             (volatilities: [quotes]f64) : [quotes]f32 =
  let quadrature = laguerre (i64.i32 points)
  in map3 (\maturity strike volatility ->
             let t = f32.i32 (day maturity - day today) / 365
             let (price, vega) = black_scholes t (f32.f64 strike) (f32.f64 volatility)
             let found = call quadrature (model_of [0.1, 0.2, 1, 0.5, -0.5]) t (f32.f64 strike)
             in (found - price) / f32.max 0.1 vega)
          maturities
          strikes
          volatilities

-- The root mean square error of the quotes, the number of candidates, and the model.
entry main [quotes]
           (tries: i32)
           (points: i32)
           (candidates: i32)
           (today: i32)
           (maturities: [quotes]i32)
           (strikes: [quotes]f64)
           (volatilities: [quotes]f64) : (f32, i32, [5]f32) =
  let quadrature = laguerre (i64.i32 points)
  let times = map (\date -> f32.i32 (day date - day today) / 365) maturities
  let strikes = map f32.f64 strikes
  let (prices, vegas) = unzip (map3 black_scholes times strikes (map f32.f64 volatilities))
  let error (x: [5]f32) : f32 =
    let model = model_of x
    in f32.sum (map4 (\t strike price vega ->
                        let off = (call quadrature model t strike - price) / f32.max 0.1 vega
                        in off * off)
                     times
                     strikes
                     prices
                     vegas)
  let n = i64.i32 candidates
  let turns = i64.i32 tries / n
  let (x, error) = evolve n error turns
  in (f32.sqrt (error / f32.i64 quotes), i32.i64 (n * (turns + 1)), x)
