-- | Mathematical functions on `f32`, in terms of arithmetic, `fma` and bit
-- operations alone, so that every evaluator, scalar code and lanes of any width
-- agree bit for bit. Straight-line code with selects: the time depends on the
-- argument only where a function says so.
--
-- The bounds are for all arguments, in units in the last place; measurements of
-- them, and the origin of the constants: tests/oracle/libm/README.md.

local def fma = intrinsics.fma_f32
local def bits = intrinsics.to_bits_f32
local def float = intrinsics.from_bits_f32
local def abs = intrinsics.abs_f32
local def inf: f32 = float 0x7f800000
local def nan: f32 = float 0x7fc00000

-- | `p` times 2 to the integer that `t - magic` is, for `t` whose low bits hold
-- it plus 254: two factors, so that the product neither overflows nor loses bits early.
local def scale (p: f32) (t: f32): f32 =
  let b = bits t
  let half = b >> 1
  in p * float (half << 23) * float ((b - half) << 23)

-- | exp x before the last step: x = n ln 2 + r, |r| <= ln 2 / 2, exp r =
-- 1 + r + r^2 p(r). Adding `magic` rounds to an integer and leaves it in the low bits.
local def exp_parts (x: f32): (f32, f32) =
  let x = if x < -104 then -104 else x
  let x = if x > 104 then 104 else x
  let magic: f32 = 12583166
  let t = fma x 1.442695 magic
  let n = t - magic
  let r = fma n 1.9046542e-09 (fma n (-0.6931472) x)
  let p = fma (fma (fma 0.0013834295 r 0.008369068) r 0.041668113) r 0.16666517
  let p = fma p r 0.49999994
  in (fma (fma p r 1) r 1, t)

-- | exp x = 2^n exp r. At most 0.9 ulp.
#[math(exp)]
def exp (x: f32): f32 =
  let (p, t) = exp_parts x
  in scale p t

-- | 2^x = 2^n 2^r, |r| <= 1/2, which is 1 + r p(r). At most 0.85 ulp.
#[math(exp2)]
def exp2 (x: f32): f32 =
  let x = if x < -152 then -152 else x
  let x = if x > 130 then 130 else x
  let magic: f32 = 12583166
  let t = x + magic
  let r = x - (t - magic)
  let p = fma (fma 0.00015450957 r 0.0013392407) r 0.00961817
  let p = fma (fma p r 0.055503536) r 0.24022649
  let p = fma p r 0.6931472
  in scale (fma p r 1) t

-- | 10^x = 2^n 10^r, |r| <= log10 2 / 2. At most 0.95 ulp.
#[math(exp10)]
def exp10 (x: f32): f32 =
  let x = if x < -46 then -46 else x
  let x = if x > 39 then 39 else x
  let magic: f32 = 12583166
  let t = fma x 3.321928 magic
  let n = t - magic
  let r = fma n 1.4320989e-08 (fma n (-0.30103) x)
  let p = fma (fma 0.2090701 r 0.54187214) r 1.1712279
  let p = fma (fma p r 2.0346558) r 2.650949
  let p = fma p r 2.3025851
  in scale (fma p r 1) t

-- | exp x - 1 = 2 (h (exp r - 1) + (h - 1/2)), h = 2^(n - 1), with n and r (here
-- in two parts) of exp above. At most 1.35 ulp.
#[math(expm1)]
def expm1 (x: f32): f32 =
  let y = if x < -20 then -20 else x
  let y = if y > 89 then 89 else y
  let magic: f32 = 12583166
  let t = fma y 1.442695 magic
  let n = t - magic
  let s = fma n (-0.6931472) y
  let r = fma n 1.9046542e-09 s
  let r_low = fma n 1.9046542e-09 (s - r)
  let p = fma (fma (fma 0.0013834295 r 0.008369068) r 0.041668113) r 0.16666517
  let p = fma p r 0.49999994
  let h = float ((bits t - 128) << 23)
  let z = fma h (fma (r * r) p r_low) (fma h r (h - 0.5))
  in if abs x < 5.9604645e-08 then x else z + z

-- | Exponent and fraction: x = 2^e (1 + f), |f| <= 1/3, for finite x > 0.
local def parts (x: f32): (f32, f32) =
  let tiny = x < 1.17549435e-38
  let b = bits (if tiny then x * 8388608 else x)
  let e = intrinsics.u32_to_i32 (b - 0x3f2aaaab) >> 23
  let f = float (b - (intrinsics.i32_to_u32 e << 23)) - 1
  in (intrinsics.i32_to_f32 e - (if tiny then 23 else 0), f)

-- | A logarithm `r` of `x` put right where x is not a positive number.
local def log_ends (x: f32) (r: f32): f32 =
  if x > 0 then (if x < inf then r else x) else if x == 0 then -inf else nan

-- | log (1 + f) = f + f^2 q(f), |f| <= 1/3: this is q.
local def log_tail (f: f32): f32 =
  let p = fma (fma (fma (-0.12946181) f 0.13989928) f (-0.12172449)) f 0.14004633
  let p = fma (fma (fma p f (-0.16681275)) f 0.20010479) f (-0.24999782)
  let p = fma p f 0.33333215
  in fma p f (-0.5)

-- | log x: e ln 2 + log (1 + f). At most 0.95 ulp.
#[math(log)]
def log (x: f32): f32 =
  let (e, f) = parts x
  let r = fma (f * f) (log_tail f) f
  in log_ends x (fma e 0.6931472 (fma e (-1.9046542e-09) r))

-- | log2 x: the logarithm above times 1 / ln 2 in two parts. At most 1.55 ulp.
#[math(log2)]
def log2 (x: f32): f32 =
  let (e, f) = parts x
  let r = fma f 1.925963e-08 (f * f * log_tail f * 1.442695)
  in log_ends x (e + fma f 1.442695 r)

-- | log10 x: the same with 1 / ln 10 and log10 2. At most 1.4 ulp.
#[math(log10)]
def log10 (x: f32): f32 =
  let (e, f) = parts x
  let r = fma f (-1.010305e-08) (f * f * log_tail f * 0.4342945)
  in log_ends x (fma e 0.30103 (fma e (-1.4320989e-08) (fma f 0.4342945 r)))

-- | log (1 + x): 1 + x = 2^e (1 + f), where f is computed from x itself unless
-- x is so large that the 1 does not matter. At most 1.55 ulp.
#[math(log1p)]
def log1p (x: f32): f32 =
  let y = 1 + x
  let b = bits y
  let e = intrinsics.u32_to_i32 (b - 0x3f2aaaab) >> 23
  let k = intrinsics.i32_to_u32 e << 23
  let s = float (0x3f800000 - k)
  let f = if x > 1e15 then float (b - k) - 1 else fma x s (s - 1)
  let e = intrinsics.i32_to_f32 e
  let r = fma (f * f) (log_tail f) f
  let r = log_ends y (fma e 0.6931472 (fma e (-1.9046542e-09) r))
  in if x == 0 then x else r

-- | |x| / pi modulo 2 for finite |x| >= 2^17, with 63 bits after the point: the
-- 24-bit mantissa of x times 96 of the binary digits of 1 / pi. Which ones, the
-- exponent says: a whole number of words, then bits.
local def large_turns (x: f32): u64 =
  let b = bits x & 0x7fffffff
  let start = (b >> 23) - 142
  let two = start & 64 != 0
  let w0: u32 = if two then 0x4a7f09d5 else 0x28be60
  let w1: u32 = if two then 0xf47d4d37 else 0xdb939105
  let w2: u32 = if two then 0x7036d8a5 else 0x4a7f09d5
  let w3: u32 = if two then 0x664f10e4 else 0xf47d4d37
  let w4: u32 = if two then 0x107f9458 else 0x7036d8a5
  let one = start & 32 != 0
  let wide (w: u32): u64 = intrinsics.u32_to_u64 w
  let a0 = wide (if one then w1 else w0)
  let a1 = wide (if one then w2 else w1)
  let a2 = wide (if one then w3 else w2)
  let a3 = wide (if one then w4 else w3)
  let shift = wide (start & 31)
  let high = ((a0 << 32 | a1) << shift) >> 32
  let middle = ((a1 << 32 | a2) << shift) >> 32
  let low = ((a2 << 32 | a3) << shift) >> 32
  let m = wide (b & 0x7fffff | 0x800000)
  in (m * high << 32) + m * middle + (m * low >> 32)

-- | Turns as above, less the nearest integer, in radians if `unit` is pi / 2^64;
-- what its rounding lost; and that integer in the top bit.
local def fold_turns (turns: u64) (unit: f64): (f32, f32, u32) =
  let exact = intrinsics.i64_to_f64 (intrinsics.u64_to_i64 (turns << 1)) * unit
  let r = intrinsics.f64_to_f32 exact
  let r_low = intrinsics.f64_to_f32 (exact - intrinsics.f32_to_f64 r)
  in (r, r_low, intrinsics.u64_to_u32 ((turns + 0x4000000000000000) >> 32) & 0x80000000)

-- | x - n pi for integral or half-integral n: exact but for the last step.
local def less_pi (x: f32) (n: f32): f32 =
  fma n 3.430249e-15 (fma n 8.742278e-08 (fma n (-3.1415927) x))

-- | sin r with the sign changed by the top bit of `flip`; |r| <= pi / 2.
local def sin_near (r: f32) (flip: u32): f32 =
  let s = r * r
  let p = fma (fma (fma 2.6058258e-06 s (-0.00019809774)) s 0.008333069) s (-0.1666666)
  in float (bits (fma (r * s) p r) ^ flip)

-- | sin x: x = n pi + r; large x by way of integers, behind a branch. At most 1.95 ulp.
#[math(sin)]
def sin (x: f32): f32 =
  let (r, flip) =
    if abs x <= 131072
    then let magic: f32 = 12582912
         let t = fma x 0.31830987 magic
         in (less_pi x (t - magic), bits t << 31)
    else let (r, _, odd) = fold_turns (large_turns x) 1.7030607900432772e-19
         in (if abs x < inf then r else nan, odd ^ (bits x & 0x80000000))
  in if x == 0 then x else sin_near r flip

-- | cos x: the sine of x + pi / 2. At most 2 ulp.
#[math(cos)]
def cos (x: f32): f32 =
  let (r, flip) =
    if abs x <= 131072
    then let magic: f32 = 12582912
         let t = fma x 0.31830987 0.5 + magic
         in (less_pi x (t - magic - 0.5), bits t << 31)
    else let (r, _, odd) = fold_turns (large_turns x + 0x4000000000000000) 1.7030607900432772e-19
         in (if abs x < inf then r else nan, odd)
  in sin_near r flip

-- | tan (r + r_low), or -1 over that if `odd`; |r| <= pi / 4.
local def tan_near (r: f32) (r_low: f32) (odd: bool): f32 =
  let s = r * r
  let p = fma (fma (fma 0.004376824 s 9.063798e-05) s 0.010832774) s 0.021284452
  let p = fma (fma (fma p s 0.05405918) s 0.13332674) s 0.3333335
  let c = r * s
  let high = fma c p r
  let low = fma c p (r - high) + r_low * fma high high 1
  let q = -1 / high
  let q = fma q (fma q low (fma q high 1)) q
  in if odd then q else high + low

-- | tan x: x = n pi / 2 + r, |r| <= pi / 4; -1 / tan r for odd n, where r and
-- tan r are in two parts. At most 1 ulp.
#[math(tan)]
def tan (x: f32): f32 =
  let (r, r_low, odd) =
    if abs x <= 65536
    then let magic: f32 = 12582912
         let t = fma x 0.63661975 magic
         let n = t - magic
         let x1 = fma n (-1.5707964) x
         let v = n * 4.371139e-08
         let sum = x1 + v
         let part = sum - x1
         let low = x1 - (sum - part) + (v - part) + fma n 1.7151245e-15 (fma n 4.371139e-08 (-v))
         let r = sum + low
         in (r, sum - r + low, bits t << 31)
    else let (r, r_low, odd) = fold_turns (large_turns x << 1) 8.515303950216386e-20
         let flip = bits x & 0x80000000
         in (if abs x < inf then float (bits r ^ flip) else nan, float (bits r_low ^ flip), odd)
  in if x == 0 then x else tan_near r r_low (odd != 0)

-- | (atan t - t) / t, 0 <= t <= 1.
local def atan_tail (t: f32): f32 =
  let s = t * t
  let p = fma (fma (fma 0.0029203743 s (-0.016366597)) s 0.043209463) s (-0.07551977)
  let p = fma (fma (fma p s 0.1066587) s (-0.14211014)) s 0.19993767
  let p = fma p s (-0.33333153)
  in p * s

-- | atan x: pi / 2 - atan (1 / x) beyond 1. At most 1.3 ulp.
#[math(atan)]
def atan (x: f32): f32 =
  let a = abs x
  let t = if a > 1 then 1 / a else a
  let p = t * atan_tail t
  let r = if a > 1 then 1.5707964 - (t + (p + 4.371139e-08)) else t + p
  in float (bits r | (bits x & 0x80000000))

-- | The smaller over the larger of |x| and |y|, and whether |y| is the larger.
local def octant (y: f32) (x: f32): (bool, f32) =
  let (a, b) = (abs x, abs y)
  let steep = b > a
  let quotient = (if steep then a else b) / (if steep then b else a)
  in (steep, if a != b then quotient else if a == 0 then 0 else 1)

-- | atan2 y x: the arc tangent of that quotient, moved to its octant. At most 1.75 ulp.
#[math(atan2)]
def atan2 (y: f32) (x: f32): f32 =
  let (steep, t) = octant y x
  let p = t * atan_tail t
  let r = if steep then 1.5707964 - (t + (p + 4.371139e-08)) else t + p
  let r = if bits x >= 0x80000000 then 3.1415927 - (r + 8.742278e-08) else r
  in float (bits r | (bits y & 0x80000000))

-- | (asin t - t) / t of s = t^2, |t| <= 1/2.
local def asin_tail (s: f32): f32 =
  let p = fma (fma (fma 0.042161588 s 0.024182856) s 0.045469515) s 0.07495307
  let p = fma p s 0.16666752
  in p * s

-- | `t` and `p` for which t + p is asin |x|, or, if the first result says so,
-- pi / 2 less twice that.
local def asin_parts (x: f32): (bool, f32, f32) =
  let a = abs x
  let far = a > 0.5
  let s = if far then fma a (-0.5) 0.5 else a * a
  let t = if far then intrinsics.sqrt_f32 s else a
  in (far, t, t * asin_tail s)

-- | asin x: pi / 2 - 2 asin (sqrt ((1 - x) / 2)) beyond 1/2. At most 1.2 ulp.
#[math(asin)]
def asin (x: f32): f32 =
  let (far, t, p) = asin_parts x
  let c = 1.5707964 - 2 * t
  let low = 1.5707964 - c - 2 * t
  let r = if far then c - (fma 2 p 4.371139e-08 - low) else t + p
  in float (bits r | (bits x & 0x80000000))

-- | acos x: pi / 2 - asin x; 2 asin (sqrt ((1 - x) / 2)) beyond 1/2, and pi less
-- that beyond -1/2. At most 1.15 ulp.
#[math(acos)]
def acos (x: f32): f32 =
  let (far, t, p) = asin_parts x
  let far_r = if x > 0 then 2 * (t + p) else 3.1415927 - 2 * (t + (p + 4.371139e-08))
  let (t, p) = if x < 0 then (-t, -p) else (t, p)
  in if far then far_r else 1.5707964 - (t + (p + 4.371139e-08))

-- | exp x / 2, which is finite where the hyperbolic functions are.
local def half_exp (x: f32): f32 =
  let (p, t) = exp_parts x
  in scale p (t - 1)

-- | sinh x: a polynomial up to 1, then (exp x - exp (-x)) / 2. At most 1.6 ulp.
#[math(sinh)]
def sinh (x: f32): f32 =
  let a = abs x
  let s = a * a
  let p = fma (fma (fma 2.7822282e-06 s 0.00019842894) s 0.0083333105) s 0.16666667
  let h = half_exp a
  let r = if a < 1 then fma (a * s) p a else h - 0.25 / h
  in float (bits r | (bits x & 0x80000000))

-- | cosh x: (exp x + exp (-x)) / 2. At most 1.3 ulp.
#[math(cosh)]
def cosh (x: f32): f32 =
  let h = half_exp (abs x)
  in h + 0.25 / h

-- | tanh x: a polynomial up to 0.55, then 1 - 2 / (exp 2x + 1). At most 1.5 ulp.
#[math(tanh)]
def tanh (x: f32): f32 =
  let a = abs x
  let s = a * a
  let p = fma (fma (fma (-0.006243103) s 0.021050839) s (-0.053847563)) s 0.13332544
  let p = fma p s (-0.33333316)
  let r = if a < 0.55 then fma (a * s) p a else 1 - 2 / (exp (2 * a) + 1)
  in float (bits r | (bits x & 0x80000000))

-- | log2 of finite a > 0, not denormal, in double precision: an error of 2^-38,
-- relative near 1 too.
def wide_log2 (a: f64): f64 =
  let b = intrinsics.to_bits_f64 a
  let k = b - 0x3fe5555555555555
  let m = intrinsics.from_bits_f64 ((k & 0xfffffffffffff) + 0x3fe5555555555555)
  let e = intrinsics.from_bits_f64 (((k + 0x4000000000000000) >> 52) | 0x4330000000000000) - 4503599627371520
  let f = m - 1
  let fma = intrinsics.fma_f64
  let q = f * f
  let p0 = fma (fma 0.15759251402439592 q 0.12354986780230023) q 0.1608925689605025
  let p0 = fma (fma p0 q 0.20607588976555352) q 0.288539444881312
  let p0 = fma (fma p0 q 0.480898343918028) q 1.4426950408924228
  let p1 = fma (fma (-0.1656460760596189) q (-0.13757777299376958)) q (-0.1807965813484266)
  let p1 = fma (fma p1 q (-0.24043391798441224)) q (-0.3606739770388464)
  let p1 = fma p1 q (-0.7213475195656541)
  in fma f (fma p1 f p0) e

-- | 2 to the power of w, |w| < 1000, in double precision: an error of 2^-31.
def wide_exp2 (w: f64): f64 =
  let fma = intrinsics.fma_f64
  let magic: f64 = 6755399441056767
  let t = w + magic
  let r = w - (t - magic)
  let p = fma (fma 0.0001544505514126825 r 0.0013400633692520277) r 0.009618099239315694
  let p = fma (fma p r 0.055503258753528587) r 0.24022650728602968
  let p = fma p r 0.6931472077170155
  in fma p r 1 * intrinsics.from_bits_f64 (intrinsics.to_bits_f64 t << 52)

-- | 2 to the power of y log2 |x|, in double precision; the conversion of the
-- result rounds, overflows and underflows. At most 0.6 ulp.
def pow (x: f32) (y: f32): f32 =
  let a = abs x
  let l = wide_log2 (intrinsics.f32_to_f64 a)
  let inf: f64 = intrinsics.from_bits_f64 0x7ff0000000000000
  let l = if a == 0 then -inf else if a < float 0x7f800000 then l else intrinsics.f32_to_f64 a
  let w = intrinsics.f32_to_f64 y
  let w = if w < -1e30 then -1e30 else if w > 1e30 then 1e30 else w
  let w = w * l
  let w = if w < -160 then -160 else if w > 160 then 160 else w
  let z = bits (intrinsics.f64_to_f32 (wide_exp2 w))
  let whole = intrinsics.floor_f32 y == y
  let half = 0.5 * y
  let odd = whole && intrinsics.floor_f32 half != half
  let z = float (if odd then z | (bits x & 0x80000000) else z)
  let z = if x < 0 && !whole && a < float 0x7f800000 then nan else z
  in if x == 1 || y == 0 then 1 else z

-- | The nearest half turns left to go: x less an even integer, exact, within [-1, 1].
local def less_turns (x: f32): f32 = x - 2 * intrinsics.round_f32 (x * 0.5)

-- | sin (pi s) for |s| <= 1/2, by way of cos (pi (1/2 - |s|)) beyond 1/4.
local def sinpi_near (s: f32): f32 =
  let a = abs s
  let far = a > 0.25
  let r = if far then 0.5 - a else s
  let q = r * r
  let p = fma (fma (-0.5892716) q 2.5497944) q (-5.167709)
  let c = fma (fma (fma 0.22898613 q (-1.334758)) q 4.0586967) q (-4.934802)
  let near = fma r 3.1415927 (r * fma q p (-8.742278e-08))
  let c = fma q c 1
  in if !far then near else if s < 0 then -c else c

-- | sin (pi x): exact at multiples of a half. At most 1 ulp.
#[math(sinpi)]
def sinpi (x: f32): f32 =
  let r = less_turns x
  let s = if r > 0.5 then 1 - r else if r < -0.5 then -1 - r else r
  in if s == 0 then x * 0 else sinpi_near s

-- | cos (pi x): exact at multiples of a half. At most 1.4 ulp.
#[math(cospi)]
def cospi (x: f32): f32 = sinpi_near (0.5 - abs (less_turns x))

-- | tan (pi x): exact at multiples of a quarter. At most 1 ulp.
#[math(tanpi)]
def tanpi (x: f32): f32 =
  let r = less_turns x
  let s = if r > 0.5 then r - 1 else if r < -0.5 then r + 1 else r
  let odd = abs s > 0.25
  let q = if !odd then s else if s > 0 then s - 0.5 else s + 0.5
  let v = q * 3.1415927
  let t = tan_near v (fma q 3.1415927 (-v) + q * (-8.742278e-08)) odd
  let zero: f32 = if r == 0 then 0 else -0.0
  in if s == 0 then x * zero
     else if q == 0 then (if s > 0 then inf else -inf)
     else if abs q == 0.25 then (if s > 0 then 1 else -1)
     else t

-- | (t + p) / pi.
local def over_pi (t: f32) (p: f32): f32 = fma t 0.31830987 (fma p 0.31830987 (t * 1.28412765e-08))

-- | c - (t + p) / pi.
local def less_over_pi (c: f32) (t: f32) (p: f32): f32 =
  let v = t * 0.31830987
  let h = c - v
  in h + (c - h - v - fma t 0.31830987 (-v) - fma p 0.31830987 (t * 1.28412765e-08))

-- | asin x / pi. At most 1.4 ulp.
#[math(asinpi)]
def asinpi (x: f32): f32 =
  let (far, t, p) = asin_parts x
  let r = if far then less_over_pi 0.5 (2 * t) (2 * p) else over_pi t p
  in float (bits r | (bits x & 0x80000000))

-- | acos x / pi. At most 1.25 ulp.
#[math(acospi)]
def acospi (x: f32): f32 =
  let (far, t, p) = asin_parts x
  let far_r = if x > 0 then 2 * over_pi t p else less_over_pi 1 (2 * t) (2 * p)
  let (t, p) = if x < 0 then (-t, -p) else (t, p)
  in if far then far_r else less_over_pi 0.5 t p

-- | atan x / pi. At most 1.45 ulp.
#[math(atanpi)]
def atanpi (x: f32): f32 =
  let a = abs x
  let t = if a > 1 then 1 / a else a
  let p = t * atan_tail t
  let r = if a > 1 then less_over_pi 0.5 t p else over_pi t p
  in float (bits r | (bits x & 0x80000000))

-- | atan2 y x / pi. At most 1.55 ulp.
#[math(atan2pi)]
def atan2pi (y: f32) (x: f32): f32 =
  let (steep, t) = octant y x
  let p = t * atan_tail t
  let r = if steep then less_over_pi 0.5 t p else over_pi t p
  let r = if bits x >= 0x80000000 then 1 - r else r
  in float (bits r | (bits y & 0x80000000))

-- | log x in double precision, of finite x > 0.
local def wide_log (x: f64): f32 = intrinsics.f64_to_f32 (wide_log2 x * 0.6931471805599453)

-- | asinh x = log (x + sqrt (x^2 + 1)), in double precision. At most 0.51 ulp.
#[math(asinh)]
def asinh (x: f32): f32 =
  let a = abs x
  let w = intrinsics.f32_to_f64 a
  let r = wide_log (w + intrinsics.sqrt_f64 (intrinsics.fma_f64 w w 1))
  let r = if a < 0.00048828125 then fma (a * a * a) (-0.16666667) a else if a < inf then r else a
  in float (bits r | (bits x & 0x80000000))

-- | acosh x = log (x + sqrt (x^2 - 1)), in double precision. At most 0.51 ulp.
#[math(acosh)]
def acosh (x: f32): f32 =
  let w = intrinsics.f32_to_f64 x
  let r = wide_log (w + intrinsics.sqrt_f64 (intrinsics.fma_f64 w w (-1)))
  in if x < 1 then nan else if x < inf then r else x

-- | atanh x = log ((1 + x) / (1 - x)) / 2, in double precision. At most 0.51 ulp.
#[math(atanh)]
def atanh (x: f32): f32 =
  let a = abs x
  let w = intrinsics.f32_to_f64 a
  let r = 0.5 * wide_log ((1 + w) / (1 - w))
  let r = if a < 0.00048828125 then fma (a * a * a) 0.33333334 a else if a < 1 then r else if a == 1 then inf else nan
  in float (bits r | (bits x & 0x80000000))
