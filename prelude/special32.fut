-- | Roots, functions of a float's parts, error functions and gamma functions on
-- `f32`; see `libm32` for what holds of all. What is in double precision has
-- room for any loss.

local open import "libm32"
local module special64 = import "special64"

local def fma = intrinsics.fma_f32
local def wide_fma = intrinsics.fma_f64
local def bits = intrinsics.to_bits_f32
local def float = intrinsics.from_bits_f32
local def abs = intrinsics.abs_f32
local def inf: f32 = float 0x7f800000
local def nan: f32 = float 0x7fc00000

-- | The cube root: z near 1 / cbrt x by a third of the exponent's bits, made
-- better once, and a last step on y = x z^2. At most 0.85 ulp.
#[math(cbrt)]
def cbrt (x: f32): f32 =
  let a = abs x
  let tiny = a < 1.17549435e-38
  let m = if tiny then a * 16777216 else a
  let z = float (0x54a1aa00 - (bits m >> 16) * 21845)
  let h = fma (-(m * z * z)) z 1
  let z = fma (z * h) (fma (fma h 0.17283951 0.22222222) h 0.33333334) z
  let y = m * z * z
  let s = y * y
  let d = fma (-s) y m - fma y y (-s) * y
  let y = fma (z * z * 0.33333334) d y
  let y = if tiny then y * 0.00390625 else y
  in if a > 0 && a < inf then float (bits y | (bits x & 0x80000000)) else x

-- | The root of x^2 + y^2, of both times a power of two. At most 1.15 ulp.
#[math(hypot)]
def hypot (x: f32) (y: f32): f32 =
  let (a, b) = (abs x, abs y)
  let (a, b) = if a < b then (b, a) else (a, b)
  let s: f32 = if a > 1.1529215e18 then 5.421011e-20 else if a < 8.6736174e-19 then 7.7371252e25 else 1
  let s_inverse: f32 = if a > 1.1529215e18 then 18446744073709551616 else if a < 8.6736174e-19 then 1.29246971e-26 else 1
  let (u, v) = (a * s, b * s)
  let r = intrinsics.sqrt_f32 (fma v v (u * u)) * s_inverse
  in if a == inf || b == inf then inf else r

-- | The magnitude of x with the sign of y.
def copysign (x: f32) (y: f32): f32 =
  float ((bits x & 0x7fffffff) | (bits y & 0x80000000))

-- | The next float after x towards y.
def nextafter (x: f32) (y: f32): f32 =
  let b = bits x
  let away = (x < y) == (b < 0x80000000)
  let next = if x == 0 then (bits y & 0x80000000) + 1 else if away then b + 1 else b - 1
  in if x == y then y else if x != x || y != y then nan else float next

-- | x times 2 to the power of e, rounded once: the factors that may make a
-- denormal number stand last.
def ldexp (x: f32) (e: i32): f32 =
  let two (k: i32): f32 = float (intrinsics.i32_to_u32 (k + 127) << 23)
  let clamp (k: i32) (limit: i32): i32 = if k < -limit then -limit else if k > limit then limit else k
  let e = clamp e 300
  let a = clamp e 126
  let b = clamp (e - a) 126
  in x * two (e - a - b) * two b * two a

-- | erf x: a polynomial up to 1, 1 - exp (-p(x)) beyond. At most 1.3 ulp.
#[math(erf)]
def erf (x: f32): f32 =
  let a = abs x
  let s = a * a
  let p = fma (fma 7.842751e-05 s (-0.00080094323)) s 0.0051885997
  let p = fma (fma (fma p s (-0.026854202)) s 0.11283603) s (-0.3761263)
  let near = fma a 1.1283792 (a * fma s p (-5.8635383e-08))
  let b = if a > 4 then 4 else a
  let q = fma (fma (fma (-0.00018558337) b 0.0029396592) b (-0.02180541)) b 0.10303739
  let q = fma (fma (fma q b 0.6382258) b 1.1270399) b 0.0003537603
  let r = if a < 1 then near else 1 - exp (-q)
  in float (bits r | (bits x & 0x80000000))

-- | erfc x = exp (-(x^2)) p(t) / (x + 5/2), t = (x - 5/2) / (x + 5/2), for x >= 0;
-- less than 2^-150 beyond 10.2. At most 0.55 ulp.
#[math(erfc)]
def erfc (x: f32): f32 =
  let a = intrinsics.f32_to_f64 (abs x)
  let a = if a > 10.2 then 10.2 else a
  let r = 1 / (a + 2.5)
  let t = (a - 2.5) * r
  let fma = wide_fma
  let p = fma (fma (-2.6677593931650286e-05) t (-9.727089153906003e-05)) t 7.041088439318663e-05
  let p = fma (fma p t 0.0006982555442694541) t (-0.0004446243008193624)
  let p = fma (fma p t (-0.004818368646949133)) t 0.00839407515049305
  let p = fma (fma p t 0.028361556500753064) t (-0.17125122788007943)
  let p = fma (fma p t 0.4539141156341005) t (-0.8046518475417525)
  let p = fma p t 1.054031820305718
  let v = p * r * wide_exp2 (a * a * (-1.4426950408889634))
  in intrinsics.f64_to_f32 (if x < 0 then 2 - v else v)

-- | sin (pi x) in double precision for x >= 0, an error of 2^-35.
local def wide_sinpi (x: f64): f64 =
  let r = x - 2 * intrinsics.round_f64 (x * 0.5)
  let r = if r > 0.5 then 1 - r else if r < -0.5 then -1 - r else r
  let q = r * r
  let fma = wide_fma
  let p = fma (fma (-0.007028168549610914) q 0.08205067857838103) q (-0.5992523989304214)
  let p = fma (fma (fma p q 2.5501633592612043) q (-5.16771276749215)) q 3.141592653589793
  in r * p

-- | gamma x. For z >= 1 it is f(1 / w) exp ((z - 1/2) log w - w), w = z + 0.3;
-- gamma z = gamma (z + 1) / z below 1, and gamma (-z) = -pi / (z sin (pi z) gamma z).
-- At most 0.55 ulp.
#[math(gamma)]
def gamma (x: f32): f32 =
  let signed = intrinsics.f32_to_f64 x
  let y = intrinsics.abs_f64 signed
  let small = y < 1
  let z = if small then y + 1 else if y > 45 then 45 else y
  let w = z + 0.3
  let u = 1 / w
  let fma = wide_fma
  let f = fma (fma 0.0007942616750544575 u (-0.0013416905638350806)) u 0.004594109477052293
  let f = fma (fma f u 0.004276358374044999) u 0.018336019936163767
  let f = fma (fma f u 0.07007415789488594) u 0.22744000616772728
  let f = fma (fma f u 0.6976781330810795) u 2.5066282755759572
  let l = (z - 0.5) * wide_log2 w - w * 1.4426950408889634
  let s = wide_sinpi y
  let top = if x < 0 then -3.141592653589793 else f
  let bottom = if x < 0 then s * f * (if small then 1 else y) else if small then signed else 1
  let r = top / bottom * wide_exp2 (if x < 0 then -l else l)
  in if x < 0 && s == 0 then nan else intrinsics.f64_to_f32 r

-- | log |gamma x|, in double precision throughout: near its zeros at negative
-- arguments much cancels. At most 0.51 ulp.
#[math(lgamma)]
def lgamma (x: f32): f32 = intrinsics.f64_to_f32 (special64.lgamma (intrinsics.f32_to_f64 x))

-- | The derivative of lgamma, in double precision throughout. At most 0.51 ulp of the
-- largest of the result and 1.
#[math(digamma)]
def digamma (x: f32): f32 = intrinsics.f64_to_f32 (special64.digamma (intrinsics.f32_to_f64 x))

-- | The derivative of digamma, in double precision. At most 0.51 ulp.
#[math(trigamma)]
def trigamma (x: f32): f32 = intrinsics.f64_to_f32 (special64.trigamma (intrinsics.f32_to_f64 x))

-- | The derivative of trigamma, in double precision. At most 0.51 ulp.
#[math(tetragamma)]
def tetragamma (x: f32): f32 = intrinsics.f64_to_f32 (special64.tetragamma (intrinsics.f32_to_f64 x))
