-- Mathematical functions as operations: of constants, equal ones, invariants of loops, powers,
-- in reductions, scans, histograms and nests, after checks, and at the ends of products and sums.

-- ==
-- entry: constants
-- input { 0.5f64 3.0f64 }
-- output { 2.9579945977611466f64 0.75f64 19.0f64 1.7320508075688772f64 1.7320508075688772f64 5.321750554396642f64 }
entry constants (x: f64) (y: f64) : (f64, f64, f64, f64, f64, f64) =
  ( f64.exp 1 + f64.sin 0.5 * x
  , x ** 2 + x ** 1
  , y ** 3 - 2 ** y
  , y ** 0.5
  , y ** x
  , f64.atan2 1 y + f64.hypot y 4
  )

-- ==
-- entry: loops
-- input { 0.75f64 1.25f64 5i64 }
-- output { 7.28254031159535f64 1.8979692387111724f64 }
-- input { 0.75f64 1.25f64 0i64 }
-- output { 0.0f64 1.8979692387111724f64 }
entry loops (x: f64) (y: f64) (n: i64) : (f64, f64) =
  let total = loop s = 0 for i < n do s * f64.cos x + f64.sin y * f64.i64 i + f64.exp (s - 9)
  in (total, f64.sin y + f64.sin y)

-- ==
-- entry: reductions
-- input { [0.5f32, 1.5f32, 2.5f32, 0.25f32, 4.0f32] }
-- output { 4.4071f32 0.2907863f32 [1.2558177f32, 3.3056803f32, 5.649503f32, 6.5243826f32, 9.111113f32] }
-- input { empty([0]f32) }
-- output { 0.0f32 0.0f32 empty([0]f32) }
entry reductions [n] (xs: [n]f32) : (f32, f32, [n]f32) =
  ( f32.sum (map f32.log1p xs)
  , reduce f32.max 0 (map (\x -> f32.exp (-x) * f32.sin x) xs)
  , scan (+) 0 (map (\x -> f32.tanh x + f32.cbrt x) xs)
  )

-- ==
-- entry: nests
-- input { [0.5f64, 1.5f64, 2.5f64] [2i64, 0i64, 3i64] }
-- output { [1.4061755320422662f64, 0.03594289440223787f64, 0.047408014161839714f64] [-0.2876820724517809f64, 0.0f64, 3.6731310971457973f64] }
entry nests [n] (xs: [n]f64) (ks: [n]i64) : ([n]f64, [n]f64) =
  let row x = map (\i -> f64.sin (x * f64.i64 i) * f64.exp (-x)) (iota 4) |> f64.sum
  in (map row xs, map2 (\x k -> f64.sum (map (\i -> f64.log (x + f64.i64 i)) (iota k))) xs ks)

-- ==
-- entry: bins
-- input { [0.5f64, 1.5f64, 2.5f64, 3.5f64] [0i64, 1i64, 0i64, 7i64] }
-- output { [4.621887164880254f64, 1.852332071928069f64] }
entry bins [n] (xs: [n]f64) (is: [n]i64) : [2]f64 =
  hist (+) 0 2 is (map (\x -> f64.gamma x + f64.erf x) xs)

-- ==
-- entry: checked
-- input { [0.5f64, 1.5f64] 1i64 }
-- output { -0.09742970863412259f64 }
-- input { [0.5f64, 1.5f64] 0i64 }
-- output { 0.11995365537086668f64 }
entry checked [n] (xs: [n]f64) (i: i64) : f64 =
  let y = f64.acos (xs[i] / 2)
  in if i > 0 then f64.lgamma (y + f64.asin xs[i - 1]) else f64.log10 y
