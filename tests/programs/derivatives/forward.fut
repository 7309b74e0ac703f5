-- Forward mode, several directions, and derivatives of derivatives.

def f [n] (xs: [n]f64) : f64 =
  let ys = scan (\x y -> x * y / 2 + x + y) 0 (map f64.sin xs)
  let z = loop z = 1 for y in ys do z * f64.cos y + y
  in z * f64.sum (map2 (*) ys xs)

def basis (n: i64) = tabulate_2d n n (\i j -> f64.bool (i == j))

-- ==
-- entry: gradients
-- input { [0.5f64] }
-- output { [1.368245204669154f64] [1.368245204669154f64] }
-- input { [0.5f64, -1.25f64, 2.0f64] }
-- output { [2.139810155723924f64, 1.177826805875437f64, -0.4114414905015198f64] [2.139810155723924f64, 1.177826805875437f64, -0.4114414905015198f64] }
entry gradients [n] (xs: [n]f64) : ([n]f64, [n]f64) =
  (map (jvp f xs) (basis n), vjp f xs 1)

-- ==
-- entry: directions
-- input { [0.5f64] }
-- output { [1.368245204669154f64] [[0.8775825618903728f64]] }
-- input { [0.5f64, -1.25f64, 2.0f64] }
-- output { [2.139810155723924f64, 1.177826805875437f64, -0.4114414905015198f64] [[0.8775825618903728f64, 0.0f64, 0.0f64], [-0.8328123534486357f64, 0.15117359342530137f64, 0.0f64], [-0.7572741300194845f64, 0.13746175950561831f64, 0.18933327015206974f64]] }
entry directions [n] (xs: [n]f64) : ([n]f64, [n][n]f64) =
  let g (xs: [n]f64) = scan (*) 1 (map f64.sin xs)
  in (jmp f xs (basis n), mjp g xs (basis n))

-- ==
-- entry: hessians
-- input { [0.5f64] }
-- output { [[2.7136619472136987f64]] [[2.7136619472136987f64]] [[2.7136619472136987f64]] }
-- input { [0.5f64, -1.25f64, 2.0f64] }
-- output { [[5.373063341467513f64, 2.6471636275596993f64, -1.6600419059278175f64], [2.6471636275596993f64, 3.953733236680866f64, -0.7869400475614377f64], [-1.6600419059278175f64, -0.7869400475614374f64, -0.6351294284966028f64]] [[5.373063341467513f64, 2.6471636275596993f64, -1.6600419059278175f64], [2.6471636275596993f64, 3.953733236680866f64, -0.7869400475614377f64], [-1.6600419059278175f64, -0.7869400475614374f64, -0.6351294284966028f64]] [[5.373063341467513f64, 2.6471636275596993f64, -1.6600419059278175f64], [2.6471636275596993f64, 3.953733236680866f64, -0.7869400475614377f64], [-1.6600419059278175f64, -0.7869400475614374f64, -0.6351294284966028f64]] }
entry hessians [n] (xs: [n]f64) : ([n][n]f64, [n][n]f64, [n][n]f64) =
  let gradient = \x -> vjp f x 1
  in ( map (jvp gradient xs) (basis n)
     , map (vjp gradient xs) (basis n)
     , map (\v -> vjp (\x -> jvp f x v) xs 1) (basis n)
     )

-- A derivative of the function's own: half of the real one.

def halved (c: f64) (x: f64) = with_vjp (\x -> c * x * x) (\_ y -> c * x * y) x

-- ==
-- entry: own_derivative
-- input { [0.5f64, -1.25f64] 3.0f64 }
-- output { [1.5f64, -3.75f64] 0.0f64 }
entry own_derivative [n] (xs: [n]f64) (c: f64) : ([n]f64, f64) =
  vjp (\(xs, c) -> f64.sum (map (halved c) xs)) (xs, c) 1

-- Functions that call themselves, and one that is not inlined.

#[noinline]
def energy [n] (xs: [n]f64) (scale: f64) : f64 = f64.sum (map (\x -> f64.exp (-x * x * scale)) xs)

def power (x: f64) (n: i64) : f64 = if n == 0 then 1 else x * power x (n - 1)

-- ==
-- entry: of_calls
-- input { [0.5f64, -1.25f64, 2.0f64, 0.75f64] }
-- output { [-0.9885272542475039f64, 0.24143556187174972f64, -0.11418914523089198f64, 3.525141472102503f64] [-0.9885272542475039f64, 0.24143556187174972f64, -0.11418914523089198f64, 3.525141472102503f64] }
entry of_calls [n] (xs: [n]f64) : ([n]f64, [n]f64) =
  let g (xs: [n]f64) = energy xs xs[0] * power xs[n - 1] 3
  in (vjp g xs 1, map (jvp g xs) (basis n))

type shape = #circle f64 | #box f64 f64

def area (s: shape) : f64 =
  match s
  case #circle r -> f64.pi * r * r
  case #box a b -> a * b

-- ==
-- entry: of_sums_types
-- input { true 1.5f64 2.0f64 }
-- output { 9.42477796076938f64 0.0f64 }
-- input { false 1.5f64 2.0f64 }
-- output { 2.0f64 1.5f64 }
entry of_sums_types (is_circle: bool) (a: f64) (b: f64) : (f64, f64) =
  let s : shape = if is_circle then #circle a else #box a b
  in match vjp area s 1
     case #circle r -> (r, 0)
     case #box x y -> (x, y)

-- Three derivatives of the logarithm of the gamma function, and one of the gamma function.

-- ==
-- entry: of_gamma
-- input { [0.5f64, 1.5f64, 4.5f64, 16.5f64, -0.5f64, -3.5f64] }
-- output { [-1.9635100260214235f64, 0.03648997397857645f64, 1.3888709263595285f64, 2.772751371622623f64, 0.03648997397857645f64, 1.3888709263595285f64] [4.934802200544679f64, 0.934802200544679f64, 0.24872510303900963f64, 0.06247968267796811f64, 8.934802200544679f64, 9.620879298050347f64] [-16.82879664423432f64, -0.8287966442343198f64, -0.06155682132102669f64, -0.0039024439577559633f64, -0.8287966442343198f64, -0.06155682132102669f64] [-3.480230906913262f64, 0.032338397448884955f64, 16.154969393303062f64, 14390575329386.3f64, -0.12935358979553982f64, 0.3751176566608241f64] }
entry of_gamma [n] (xs: [n]f64) : ([n]f64, [n]f64, [n]f64, [n]f64) =
  let first x = vjp f64.lgamma x 1
  let second x = jvp first x 1
  let third x = jvp second x 1
  in (map first xs, map second xs, map third xs, map (\x -> jvp f64.gamma x 1) xs)
