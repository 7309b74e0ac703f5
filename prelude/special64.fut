-- | Roots, functions of a float's parts, error functions and gamma functions on
-- `f64`; see `libm32` for what holds of all.

local open import "libm64"

local def fma = intrinsics.fma_f64
local def abs = intrinsics.abs_f64
local def bits = intrinsics.to_bits_f64
local def float = intrinsics.from_bits_f64
local def inf: f64 = float 0x7ff0000000000000
local def nan: f64 = float 0x7ff8000000000000

-- | The cube root: z near 1 / cbrt x by a third of the exponent's bits, made
-- better twice, and a last step on x z^2. At most 0.65 ulp.
#[math(cbrt)]
def cbrt (x: f64): f64 =
  let a = abs x
  let tiny = a < 2.2250738585072014e-308
  let m = if tiny then a * 18014398509481984 else a
  let third = ((bits m >> 32) * 0x55555556) >> 32
  let z = float ((0x553ee800 - third) << 32)
  let h = fma (-(m * z * z)) z 1
  let z = fma (z * h) (fma (fma h 0.1728395061728395 0.2222222222222222) h 0.3333333333333333) z
  let h = fma (-(m * z * z)) z 1
  let z = fma (z * h) 0.3333333333333333 z
  let y = m * z * z
  let s = y * y
  let d = fma (-s) y m - fma y y (-s) * y
  let y = fma (z * z * 0.3333333333333333) d y
  let y = if tiny then y * 3.814697265625e-06 else y
  in if a > 0 && a < inf then float (bits y | (bits x & 0x8000000000000000)) else x

-- | The root of x^2 + y^2, of both times a power of two. At most 1.15 ulp.
#[math(hypot)]
def hypot (x: f64) (y: f64): f64 =
  let (a, b) = (abs x, abs y)
  let (a, b) = if a < b then (b, a) else (a, b)
  let s: f64 = if a > 3.273390607896142e150 then 2.409919865102884e-181 else if a < 3.054936363499605e-151 then 4.149515568880993e180 else 1
  let s_inverse: f64 = if a > 3.273390607896142e150 then 4.149515568880993e180 else if a < 3.054936363499605e-151 then 2.409919865102884e-181 else 1
  let (u, v) = (a * s, b * s)
  let r = intrinsics.sqrt_f64 (fma v v (u * u)) * s_inverse
  in if a == inf || b == inf then inf else r

-- | The magnitude of x with the sign of y.
def copysign (x: f64) (y: f64): f64 =
  float ((bits x & 0x7fffffffffffffff) | (bits y & 0x8000000000000000))

-- | The next float after x towards y.
def nextafter (x: f64) (y: f64): f64 =
  let b = bits x
  let away = (x < y) == (b < 0x8000000000000000)
  let next = if x == 0 then (bits y & 0x8000000000000000) + 1 else if away then b + 1 else b - 1
  in if x == y then y else if x != x || y != y then nan else float next

-- | x times 2 to the power of e, rounded once: the factors that may make a
-- denormal number stand last.
def ldexp (x: f64) (e: i32): f64 =
  let two (k: i32): f64 = float (intrinsics.i32_to_u64 (k + 1023) << 52)
  let clamp (k: i32) (limit: i32): i32 = if k < -limit then -limit else if k > limit then limit else k
  let e = clamp e 2200
  let a = clamp e 1022
  let b = clamp (e - a) 1022
  in x * two (e - a - b) * two b * two a

-- | erf x for |x| <= 1/2.
local def erf_near (x: f64): f64 =
  let s = x * x
  let p = fma (fma 1.4736055169753005e-06 s (-1.4846947626817476e-05)) s 0.0001205338394368816
  let p = fma (fma p s (-0.0008548298906641659)) s 0.00522397738854646
  let p = fma (fma p s (-0.02686617063407392)) s 0.11283791670930145
  let p = fma p s (-0.3761263890318356)
  in fma x 1.1283791670955126 (x * fma s p 1.533545961316588e-17)

-- | erfc a = exp (-(a^2)) p(t) / (a + k), t = (a - k) / (a + k), k = 15/4, for
-- a >= 0.45; both fractions in two parts. 0 beyond 27.3.
local def erfc_far (a: f64): f64 =
  let a = if a > 27.3 then 27.3 else a
  let d = a + 3.75
  let d_low = if a > 3.75 then a - d + 3.75 else 3.75 - d + a
  let r = 1 / d
  let r_low = (fma (-r) d 1 - r * d_low) * r
  let u = 7.5 * r
  let t = 1 - u
  let t_low = 1 - t - u - fma 7.5 r_low (fma 7.5 r (-u))
  let p = fma (fma 6.512842768019518e-11 t (-4.024163461822777e-09)) t 1.9569279363736126e-09
  let p = fma (fma p t 3.859822435852023e-08) t (-2.5052243748262258e-08)
  let p = fma (fma p t (-2.625171091907224e-07)) t 2.782773042544989e-07
  let p = fma (fma p t 1.655529095503824e-06) t (-3.288601075864632e-06)
  let p = fma (fma p t (-8.903810492552835e-06)) t 3.747141819691449e-05
  let p = fma (fma p t 1.0593975320883462e-05) t (-0.0003486467910375677)
  let p = fma (fma p t 0.0007948230983491028) t 0.0009863380716814373
  let p = fma (fma p t (-0.01253588004051022)) t 0.04911877861580779
  let p = fma (fma p t (-0.13195540117859395)) t 0.2790620490337678
  let p = fma (fma p t (-0.4904702912076759)) t 0.7363189252217518
  let m = p * t
  let p = m - 0.9587415766529096
  let p_low = m - (p + 0.9587415766529096)
  let v = t * p
  let v_low = fma t p (-v) + fma t p_low (t_low * (p + m))
  let h = 1.0919229095627891 + v
  let l = 1.0919229095627891 - h + v + (v_low + (-1.028673550833325e-16))
  let q = h * r
  in gauss a q (fma h r (-q) + fma h r_low (l * r))

-- | erf x: 1 - erfc x beyond 1/2. At most 1.4 ulp.
#[math(erf)]
def erf (x: f64): f64 =
  let a = abs x
  let r = if a < 0.5 then erf_near a else 1 - erfc_far a
  in float (bits r | (bits x & 0x8000000000000000))

-- | erfc x: 1 - erf x up to 1/2. At most 1.9 ulp.
#[math(erfc)]
def erfc (x: f64): f64 =
  let a = abs x
  let r = erfc_far a
  in if a < 0.5 then 1 - erf_near x else if x < 0 then 2 - r else r

-- | For z >= 1 the sum (z - 1/2) log2 w - w / ln 2, w = z + 0.4, in two parts; a
-- quarter of it, which is finite where lgamma is. Last 1 / w.
local def stirling (z: f64): (f64, f64, f64) =
  let w = z + 0.4
  let (l, l_low) = log2_sum w
  let k = (z - 0.5) * 0.25
  let h = k * l
  let h_low = fma k l (-h) + k * l_low
  let q = 0.25 * w
  let g = q * 1.4426950408889634
  let g_low = fma q 1.4426950408889634 (-g) + q * 2.0355273740931033e-17
  let s = h - g
  let part = s - h
  in (s, h - (s - part) - (g + part) + (h_low - g_low), 1 / w)

-- | gamma x. For z >= 1 it is f(1 / w) times 2 to the power of the sum above;
-- gamma z = gamma (z + 1) / z below 1, and gamma (-z) = -pi / (z sin (pi z) gamma z).
-- Where that quotient is near overflow a factor 4 waits for the end. At most 5 ulp.
#[math(gamma)]
def gamma (x: f64): f64 =
  let y = abs x
  let small = y < 1
  let z = if small then y + 1 else if y > 186 then 186 else y
  let (l, l_low, u) = stirling z
  let f = fma (fma 0.0008949695914207806 u (-0.005772719703139916)) u 0.016867411373678594
  let f = fma (fma f u (-0.02908350282815004)) u 0.03207733161587168
  let f = fma (fma f u (-0.02201576236376024)) u 0.0073207223832897576
  let f = fma (fma f u 0.0020458014908570077) u (-0.0018094947293203613)
  let f = fma (fma f u 0.001224361891121678) u 0.005117420798644454
  let f = fma (fma f u 0.009991786644011045) u 0.022573735536792944
  let f = fma (fma f u 0.060150180149850116) u 0.15508399190894923
  let f = fma (fma f u 0.3760081669252957) u 0.9107416064490814
  let f = fma f u 2.506628274631001
  let s = sinpi y
  let top = if x < 0 then -3.141592653589793 else 0.25 * f
  let bottom = if x < 0 then s * f * (if small then 1 else y) else if small then x else 1
  let sign: f64 = if x < 0 then -4 else 4
  let r = scaled_exp2 (top / bottom) (sign * l) (sign * l_low)
  in if x < 0 then (if s == 0 then nan else r) else 4 * r

-- | log |gamma x|: (z - 1) (z - 2) p(t), t = (z - c) / (z + c), for 1 <= z < 3, the
-- logarithm of the above from there on. At most 5 ulp for positive
-- arguments; for negative ones, among which it has zeros, 5 ulp of the largest of
-- the result, lgamma (-x) and 1.
#[math(lgamma)]
def lgamma (x: f64): f64 =
  let y = abs x
  let small = y < 1
  let z = if small then y + 1 else y
  let t = (z - 1.732) / (z + 1.732)
  let p = fma (fma (-1.236602401866528) t 0.07612258214046108) t 0.3822185605186805
  let p = fma (fma p t 0.013127041887828372) t (-0.09068337660017194)
  let p = fma (fma p t 0.033384753682793866) t (-0.03206384653142385)
  let p = fma (fma p t 0.03586077488123423) t (-0.04321922964235585)
  let p = fma (fma p t 0.04204100139945893) t (-0.05202648021749117)
  let p = fma (fma p t 0.050494200150487716) t (-0.06592282778495592)
  let p = fma (fma p t 0.06316895721625014) t (-0.09019227930721707)
  let p = fma (fma p t 0.08421576632668488) t (-0.14479814736934807)
  let p = fma (fma p t 0.12726701934035642) t (-0.4195009657155334)
  let p = fma p t 0.4523045173454509
  let near = fma ((if small then y else z - 1) * p) (if small then y - 1 else z - 2) 0
  let (l, l_low, u) = stirling z
  let q = fma (fma 0.001395315592351507 u (-0.003318831355273471)) u 0.0034660672964035716
  let q = fma (fma q u (-0.0016091866326090637)) u (-7.877115251429273e-05)
  let q = fma (fma q u 0.0006758964104712589) u 0.001047375497061588
  let q = fma (fma q u 0.0014205339465137804) u 0.005712015453394964
  let q = fma (fma q u 0.0233555551076501) u 0.0840000000067221
  let q = fma (fma q u 0.36333333333329365) u 0.9189385332046728
  let low = fma l 2.3190468138462996e-17 (fma l_low 0.6931471805599453 (0.25 * q))
  let far = 4 * fma l 0.6931471805599453 low
  let whole = if z < 3 then near else far
  let s = abs (sinpi y)
  let m = (if x < 0 then s else 1) * (if small == (x < 0) then 1 else y)
  let less = log (if x < 0 then m / 3.141592653589793 else m)
  let r = (if x < 0 then -whole else whole) - less
  in if y == inf || y > 2.6e305 then inf else r

-- | The sum of f (1 / (y + k)) for k from 0 to 11: what a polygamma function at y and
-- at y + 12 differ by.
local def twelve (f: f64 -> f64) (y: f64): f64 =
  f (1 / y) + f (1 / (y + 1)) + f (1 / (y + 2)) + f (1 / (y + 3)) + f (1 / (y + 4)) + f (1 / (y + 5))
  + f (1 / (y + 6)) + f (1 / (y + 7)) + f (1 / (y + 8)) + f (1 / (y + 9)) + f (1 / (y + 10)) + f (1 / (y + 11))

-- | For a polygamma function at x: y, which is x, or 1 - x for x <= 0; whether it is
-- below 12; z, which is at least 12; 1 / z and its square.
local def at_12 (x: f64): (f64, bool, f64, f64, f64) =
  let y = if x > 0 then x else 1 - x
  let near = y < 12
  let z = if near then y + 12 else y
  let r = 1 / z
  let u = r * r
  in (y, near, z, r, u)

-- | The derivative of lgamma: for z >= 12 its asymptotic series, which Bernoulli's
-- numbers over 2 k are the coefficients of, below 12 steps less; digamma (1 - x) -
-- pi / tan (pi x) for x <= 0. At most 4 ulp of the largest of the result and 1.
#[math(digamma)]
def digamma (x: f64): f64 =
  let (y, near, z, r, u) = at_12 x
  let p = fma (fma 3.0539543302701198 u (-0.4432598039215686)) u 0.08333333333333333
  let p = fma (fma p u (-0.021092796092796094)) u 0.007575757575757576
  let p = fma (fma p u (-0.004166666666666667)) u 0.003968253968253968
  let p = fma (fma p u (-0.008333333333333333)) u 0.08333333333333333
  let far = log z - fma 0.5 r (u * p)
  let own = if near then far - twelve (\r -> r) y else far
  let t = tanpi x
  in if x > 0 then own else if t == 0 then nan else own - 3.141592653589793 / t

-- | The derivative of digamma, likewise: pi^2 / sin^2 (pi x) - trigamma (1 - x) for
-- x <= 0. At most 4 ulp.
#[math(trigamma)]
def trigamma (x: f64): f64 =
  let (y, near, z, r, u) = at_12 x
  let p = fma (fma 54.971177944862156 u (-7.092156862745098)) u 1.1666666666666667
  let p = fma (fma p u (-0.2531135531135531)) u 0.07575757575757576
  let p = fma (fma p u (-0.03333333333333333)) u 0.023809523809523808
  let p = fma (fma p u (-0.03333333333333333)) u 0.16666666666666666
  let far = r + fma (r * u) p (0.5 * u)
  let own = if near then far + twelve (\r -> r * r) y else far
  let s = 3.141592653589793 / sinpi x
  in if x > 0 then own else if s == inf || s == -inf then nan else s * s - own

-- | The derivative of trigamma, likewise: tetragamma (1 - x) - 2 pi^3 cos (pi x) /
-- sin^3 (pi x) for x <= 0. At most 6 ulp.
#[math(tetragamma)]
def tetragamma (x: f64): f64 =
  let (y, near, z, r, u) = at_12 x
  let p = fma (fma 1044.452380952381 u (-120.56666666666666)) u 17.5
  let p = fma (fma p u (-3.2904761904761903)) u 0.8333333333333334
  let p = fma (fma p u (-0.3)) u 0.16666666666666666
  let p = fma (fma p u (-0.16666666666666666)) u 0.5
  let far = -(u + fma (u * u) p (r * u))
  let own = if near then far - 2 * twelve (\r -> r * r * r) y else far
  let s = 3.141592653589793 / sinpi x
  in if x > 0 then own else if s == inf || s == -inf then nan else own - 2 * cospi x * (s * s * s)
