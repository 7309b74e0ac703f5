-- Derivatives, forward and reverse, in one and several directions.

def f [n] (xs: [n]f64, a: f64) : ([n]f64, f64) =
  (map (\x -> a * x * x) xs, f64.sum xs / a)

-- ==
-- entry: jvp_of_components
-- input { [1.0, 2.0, 3.0] 2.0 }
-- output { [2.0, 8.0, 18.0] 3.0 [5.0, 4.0, 9.0] -1.0 }
entry jvp_of_components [n] (xs: [n]f64) (a: f64) =
  let ((y, z), (y', z')) = jvp2 f (xs, a) (replicate n 0 with [0] = 1, 1)
  in (y, z, y', z')

-- ==
-- entry: vjp_of_components
-- input { [1.0, 2.0, 3.0] 2.0 }
-- output { [4.5, 8.5, 12.5] 12.5 }
entry vjp_of_components [n] (xs: [n]f64) (a: f64) =
  vjp f (xs, a) (replicate n 1, 1)

-- ==
-- entry: several_directions
-- input { [1.0, 2.0] [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]] }
-- output { [[2.0, 0.0], [0.0, 4.0], [2.0, 4.0]] [[2.0, 0.0], [0.0, 4.0], [2.0, 4.0]] }
entry several_directions [n] [d] (xs: [n]f64) (seeds: [d][n]f64) =
  (jmp (map (\x -> x * x)) xs seeds, mjp (map (\x -> x * x)) xs seeds)

-- The derivative of `x * d/dy (x + y)`: the two perturbations do not mix.
-- ==
-- entry: nested
-- input { 1.0 } output { 1.0 1.0 1.0 }
entry nested (x: f64) =
  ( jvp (\x -> x * jvp (\y -> x + y) 1 1) x 1
  , jvp (\x -> x * vjp (\y -> x + y) 1 1) x 1
  , vjp (\x -> x * jvp (\y -> x + y) 1 1) x 1
  )

def rosenbrock (x: [2]f64) : f64 = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2

-- ==
-- entry: hessian
-- input { [2.0, 1.0] } output { [[4402.0, -800.0], [-800.0, 200.0]] }
entry hessian (x: [2]f64) =
  jmp (\x -> vjp rosenbrock x 1) x [[1, 0], [0, 1]]

-- ==
-- entry: loops_and_branches
-- input { [1.5, -2.0, 3.0] 4i64 } output { [3.375, -1.0, 27.0] [13.5, 0.0, 108.0] }
-- input { empty([0]f64) 0i64 } output { empty([0]f64) empty([0]f64) }
entry loops_and_branches [n] (xs: [n]f64) (k: i64) =
  let power x = if x < 0 then -1 else loop p = 1 for _i < k - 1 do p * x
  let quartic x = if x < 0 then -1 else loop p = 1 for _i < k do p * x
  in ( map power xs
     , vjp (map quartic) xs (replicate n 1)
     )

def fold (n: i64) (x: f64) : f64 = if n == 0 then 1 else x * fold (n - 1) x

-- ==
-- entry: recursive_functions
-- input { 3i64 2.0 } output { 12.0 12.0 }
entry recursive_functions (n: i64) (x: f64) = (jvp (fold n) x 1, vjp (fold n) x 1)

-- ==
-- entry: updates_and_views
-- input { [1.0, 2.0, 3.0, 4.0] } output { [0.0, 0.0, 39.0, 12.0] }
entry updates_and_views [n] (xs: [n]f64) =
  let g (xs: [n]f64) =
    let ys = copy xs with [1] = xs[3]
    let ys[0] = ys[2] * ys[2]
    in rotate 1 (reverse (ys ++ take 2 ys))
  in vjp g xs (map (\i -> f64.i64 (i + 1)) (iota (n + 2)))

-- ==
-- entry: histograms_and_scatters
-- input { [0i64, 1i64, 0i64] [2.0, 3.0, 5.0] }
-- output { [5.0, 1.0, 2.0] [0.0, 1.0, 1.0] [1.0, 3.0, 0.0] }
entry histograms_and_scatters [n] (is: [n]i64) (xs: [n]f64) =
  let products xs = reduce_by_index (replicate 2 1) (*) 1 is xs
  let placed xs = scatter (replicate n 0) (map (\i -> (i + 1) % n) (iota n)) xs
  in ( vjp products xs [1, 1]
     , vjp placed xs ([1, 0, 1] :> [n]f64)
     , jvp (scan (+) 0) xs (replicate n 1 with [1] = 2 with [2] = -3)
     )

type shape = #circle f64 | #rectangle f64 f64

-- ==
-- entry: sums
-- input { 3.0 2.0 } output { 2.0 3.0 1.0 0.0 [3.0, 0.0] }
entry sums (x: f64) (y: f64) =
  let scaled (s: shape): shape =
    match s
    case #circle r -> #circle (r * r)
    case #rectangle a b -> #rectangle (a * b) a
  let parts (s: shape) = match s case #circle r -> (r, 0) case #rectangle a b -> (a, b)
  let (a, b) = parts (vjp scaled (#rectangle x y) (#rectangle 1 0))
  let (c, d) = parts (jvp scaled (#circle (x / 6)) (#circle 1))
  let rectangles = jmp scaled (#rectangle x y) [#rectangle 0 1, #circle 1]
  in (a, b, c, d, map (\s -> (parts s).0) rectangles)

-- ==
-- entry: own_derivatives
-- input { 3.0 } output { 9.0 6.0 }
entry own_derivatives (x: f64) =
  let square = with_vjp (\x -> x * x) (\_ a -> 1000 * a)
  in (square x, jvp square x 1)

-- ==
-- entry: reverse_of_own_derivatives
-- input { 3.0 } error: with_vjp in the evaluator
entry reverse_of_own_derivatives (x: f64) =
  vjp (with_vjp (\x -> x * x) (\_ a -> 1000 * a)) x 1

-- ==
-- entry: seeds_of_another_size
-- input { [1.0, 2.0] [1.0, 2.0, 3.0] } error: cannot match shape
entry seeds_of_another_size [n] [m] (xs: [n]f64) (seed: [m]f64) =
  vjp (map (* 2)) xs (seed :> [n]f64)
