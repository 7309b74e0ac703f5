-- | Mathematical functions on `f64`; see `libm32` for what holds of them.

local def fma = intrinsics.fma_f64
local def bits = intrinsics.to_bits_f64
local def float = intrinsics.from_bits_f64
local def abs = intrinsics.abs_f64
local def inf: f64 = float 0x7ff0000000000000
local def nan: f64 = float 0x7ff8000000000000

-- | `p` times 2 to the integer that `t - magic` is, for `t` whose low bits hold
-- it plus 2046: two factors, so that the product neither overflows nor loses bits early.
local def scale (p: f64) (t: f64): f64 =
  let b = bits t
  let half = b >> 1
  in p * float (half << 52) * float ((b - half) << 52)

-- | For |x| < 1000: x = n ln 2 + r, |r| <= ln 2 / 2; exp r = 1 + r + r^2 p(r).
-- These are r in two parts, p(r) and n with `magic`: adding that rounds to an integer and
-- leaves it in the low bits.
local def exp_reduced (x: f64): (f64, f64, f64, f64) =
  let magic: f64 = 6755399441057790
  let t = fma x 1.4426950408889634 magic
  let n = t - magic
  let s = fma n (-0.6931471805599453) x
  let r = fma n (-2.3190468138462996e-17) s
  let r_low = fma n (-2.3190468138462996e-17) (s - r)
  let p = fma (fma 2.5148834414307928e-08 r 2.76320454957165e-07) r 2.7557214332221664e-06
  let p = fma (fma p r 2.4801489076624023e-05) r 0.00019841269790383243
  let p = fma (fma p r 0.0013888888946359363) r 0.00833333333344071
  let p = fma (fma p r 0.04166666666652429) r 0.16666666666666333
  in (r, r_low, fma p r 0.5000000000000011, t)

-- | exp x less `down` powers of two: x = (8 k + j) ln 2 / 8 + r, |r| <= ln 2 / 16, and
-- exp x = 2^(k + j / 8) (1 + r q), where the power of j / 8 comes from a table. Half of k goes
-- to that power's exponent, the other half to a factor of its own, so that the product
-- neither overflows nor loses bits early. The low bits of t are those of 8 k + j.
local def exp_less (down: u64) (x: f64): f64 =
  let x = if x < -750 then -750 else x
  let x = if x > 750 then 750 else x
  let magic: f64 = 6755399441055744
  let t = fma x 11.541560327111707 magic
  let n = t - magic
  let r = fma n (-2.8988085173078744e-18) (fma n (-0.08664339756999316) x)
  let p = fma (fma 0.00019840622590042506 r 0.0013889780767779448) r 0.008333333369975965
  let p = fma (fma p r 0.04166666657005436) r 0.16666666666663713
  let q = fma (fma p r 0.5000000000000296) r 1
  let k = (bits t >> 3) - down
  let half = k >> 1
  let power = float (bits (intrinsics.exp2_eighths_f64 t) + (half << 52))
  in fma (power * r) q power * float (((k - half) << 52) + 0x3ff0000000000000)

-- | exp x. At most 1.05 ulp.
#[math(exp)]
def exp (x: f64): f64 = exp_less 0 x

-- | 2^r before the last step: 2^r = 1 + r p(r), |r| <= 1/2.
local def exp2_tail (r: f64): f64 =
  let q = r * r
  let p0 = fma (fma 4.4670976765309697e-10 q 1.0177967509244437e-07) q 1.5252734104809116e-05
  let p0 = fma (fma p0 q 0.0013333558146063041) q 0.05550410866482344
  let p0 = fma p0 q 0.6931471805599453
  let p1 = fma (fma 2.8614737304934643e-11 q 7.053280535896781e-09) q 1.321548951532337e-06
  let p1 = fma (fma p1 q 0.00015403530392546386) q 0.009618129107627592
  let p1 = fma p1 q 0.24022650695910072
  in fma p1 r p0

-- | 2 to the power of w + w_low, times f. The sum is cut off at 2045 or -2045.
def scaled_exp2 (f: f64) (w: f64) (w_low: f64): f64 =
  let far = abs w > 2045
  let w = if far then (if w < 0 then -2045 else 2045) else w
  let magic: f64 = 6755399441057790
  let t = w + magic
  let r = w - (t - magic) + (if far then 0 else w_low)
  in scale (f * fma (exp2_tail r) r 1) t

-- | 2^x = 2^n 2^r. At most 1 ulp.
#[math(exp2)]
def exp2 (x: f64): f64 =
  let x = if x < -1080 then -1080 else x
  let x = if x > 1030 then 1030 else x
  let magic: f64 = 6755399441057790
  let t = x + magic
  let r = x - (t - magic)
  in scale (fma (exp2_tail r) r 1) t

-- | 10^x = 2^n 10^r, |r| <= log10 2 / 2. At most 1 ulp.
#[math(exp10)]
def exp10 (x: f64): f64 =
  let x = if x < -330 then -330 else x
  let x = if x > 310 then 310 else x
  let magic: f64 = 6755399441057790
  let t = fma x 3.321928094887362 magic
  let n = t - magic
  let r = fma n 2.8037281277851704e-18 (fma n (-0.3010299956639812) x)
  let p = fma (fma 4.055687574918087e-05 r 0.0002398995251297405) r 0.0011549304522450476
  let p = fma (fma p r 0.005014062564554554) r 0.019597683466861703
  let p = fma (fma p r 0.06808936178830186) r 0.20699584881625277
  let p = fma (fma p r 0.5393829292306647) r 1.1712551489118184
  let p = fma (fma p r 2.034678592293318) r 2.650949055239199
  let p = fma p r 2.302585092994046
  in scale (fma p r 1) t

-- | exp x - 1 = 2 (h (exp r - 1) + (h - 1/2)), h = 2^(n - 1), with n and r (here
-- in two parts) of exp above. At most 1.35 ulp.
#[math(expm1)]
def expm1 (x: f64): f64 =
  let y = if x < -50 then -50 else x
  let y = if y > 710 then 710 else y
  let (r, r_low, p, t) = exp_reduced y
  let h = float ((bits t - 1024) << 52)
  let z = fma h (fma (r * r) p r_low) (fma h r (h - 0.5))
  in if abs x < 1.1102230246251565e-16 then x else z + z

-- | exp (-(a^2)) (h + l) for 0 <= a < 38: the square and exp r in two parts.
def gauss (a: f64) (h: f64) (l: f64): f64 =
  let s = a * a
  let s_low = fma a a (-s)
  let (r, r_low, p, t) = exp_reduced (-s)
  let q = fma p r 1
  let e = fma q r 1
  let e_low = fma q r (1 - e) + (r_low - s_low) * e
  let z = h * e
  in scale (z + (fma h e (-z) + fma h e_low (l * e))) t

-- | From the bits of x = 2^e m with 2/3 <= m < 4/3, normal: e, and the bits
-- that less make m. The exponent becomes a float by way of its bits below 2^52.
local def exponent (b: u64): (f64, u64) =
  let c = b - 0x3fe5555555555555
  let e = float ((c + 0x4000000000000000) >> 52 | 0x4330000000000000)
  in (e - 4503599627371520, c & 0xfff0000000000000)

-- | Exponent and fraction: x = 2^e (1 + f), |f| <= 1/3, for finite x > 0.
local def parts (x: f64): (f64, f64) =
  let tiny = x < 2.2250738585072014e-308
  let b = bits (if tiny then x * 18014398509481984 else x)
  let (e, k) = exponent b
  in (e - (if tiny then 54 else 0), float (b - k) - 1)

-- | A logarithm `r` of `x` put right where x is not a positive number.
local def log_ends (x: f64) (r: f64): f64 =
  if x > 0 then (if x < inf then r else x) else if x == 0 then -inf else nan

-- | log (1 + f) - f, |f| <= 1/3: with s = f / (2 + f), this is
-- s (f^2 / 2 + 2 (atanh s - s)) - f^2 / 2.
local def log_tail (f: f64): f64 =
  let s = f / (2 + f)
  let z = s * s
  let h = 0.5 * f * f
  let p = fma (fma 0.0768500694305815 z 0.07624985222056006) z 0.09093183027517093
  let p = fma (fma p z 0.1111106914160994) z 0.14285714698801671
  let p = fma (fma p z 0.19999999998075568) z 0.3333333333333636
  in fma s (fma (2 * z) p h) (-h)

-- | log x: e ln 2 + log (1 + f). At most 0.85 ulp.
#[math(log)]
def log (x: f64): f64 =
  let (e, f) = parts x
  in log_ends x (fma e 0.6931471805599453 (f + fma e 2.3190468138462996e-17 (log_tail f)))

-- | log2 x: the logarithm above times 1 / ln 2 in two parts. At most 1.5 ulp.
#[math(log2)]
def log2 (x: f64): f64 =
  let (e, f) = parts x
  let r = fma f 2.0355273740931033e-17 (log_tail f * 1.4426950408889634)
  in log_ends x (e + fma f 1.4426950408889634 r)

-- | log10 x: the same with 1 / ln 10 and log10 2. At most 1.05 ulp.
#[math(log10)]
def log10 (x: f64): f64 =
  let (e, f) = parts x
  let r = fma f 1.098319650216765e-17 (log_tail f * 0.4342944819032518)
  in log_ends x (fma e 0.3010299956639812 (fma e (-2.8037281277851704e-18) (fma f 0.4342944819032518 r)))

-- | log (1 + x): 1 + x = 2^e (1 + f), where f is computed from x itself unless
-- x is so large that the 1 does not matter. At most 1.45 ulp.
#[math(log1p)]
def log1p (x: f64): f64 =
  let y = 1 + x
  let (e, k) = exponent (bits y)
  let s = float (0x3ff0000000000000 - k)
  let f = if x > 1e30 then float (bits y - k) - 1 else fma x s (s - 1)
  let r = log_ends y (fma e 0.6931471805599453 (f + fma e 2.3190468138462996e-17 (log_tail f)))
  in if x == 0 then x else r

-- | log (y + y_low) + n ln 2 for finite y > 0 that is not denormal.
local def log_of_sum (y: f64) (y_low: f64) (n: f64): f64 =
  let (e, k) = exponent (bits y)
  let f = float (bits y - k) - 1
  let f_low = y_low * float (0x3ff0000000000000 - k)
  let low = fma f_low (1 - f * (1 - f)) (log_tail f)
  let e = e + n
  in fma e 0.6931471805599453 (f + fma e 2.3190468138462996e-17 low)

-- | log (1 + u + u_low) for u >= 0.
local def log_past_1 (u: f64) (u_low: f64): f64 =
  let y = 1 + u
  let y_low = (if u > 1 then u - y + 1 else 1 - y + u) + u_low
  in log_of_sum y y_low 0

-- | asinh x = log (x + sqrt (x^2 + 1)), less 1 in the logarithm's argument. At most 1.15 ulp.
#[math(asinh)]
def asinh (x: f64): f64 =
  let a = abs x
  let big = a > 268435456
  let w = a * a / (1 + intrinsics.sqrt_f64 (fma a a 1))
  let u = a + w
  let r = if big then log_of_sum (0.5 * a) 0 2 else log_past_1 u (a - u + w)
  let r = if a < inf then r else a
  in float (bits r | (bits x & 0x8000000000000000))

-- | acosh x = log (x + sqrt (x^2 - 1)), the same way. At most 1.6 ulp.
#[math(acosh)]
def acosh (x: f64): f64 =
  let d = x - 1
  let s = intrinsics.sqrt_f64 (fma d d (2 * d))
  let u = d + s
  let r = if x > 268435456 then log_of_sum (0.5 * x) 0 2 else log_past_1 u (s - u + d)
  in if x < 1 then nan else if x < inf then r else x

-- | atanh x = log (1 + 2 x / (1 - x)) / 2, the quotient in two parts. At most 1 ulp.
#[math(atanh)]
def atanh (x: f64): f64 =
  let a = abs x
  let d = 1 - a
  let d_low = 1 - d - a
  let v = 1 / d
  let u = 2 * a * v
  let u_low = (fma (-u) d (2 * a) - u * d_low) * v
  let r = if a < 1 then 0.5 * log_past_1 u u_low else if a == 1 then inf else nan
  in float (bits r | (bits x & 0x8000000000000000))

-- | The upper half of the product of two 64-bit integers.
local def mul_high (x: u64) (y: u64): u64 =
  let (x0, x1) = (x & 0xffffffff, x >> 32)
  let (y0, y1) = (y & 0xffffffff, y >> 32)
  let t = x0 * y1 + (x0 * y0 >> 32)
  let u = x1 * y0 + (t & 0xffffffff)
  in x1 * y1 + (t >> 32) + (u >> 32)

-- | |x| / pi modulo 2 for finite |x| >= 2^30, with 127 bits after the point, in
-- two words: the 53-bit mantissa of x times 192 of the binary digits of 1 / pi.
-- Which ones, the exponent says: whole words by its high bits, then bits.
local def large_turns (x: f64): (u64, u64) =
  let b = bits x & 0x7fffffffffffffff
  let start = (b >> 52) - 1051
  let by8 = start & 512 != 0
  let w0: u64 = if by8 then 0xaed1213a671c09ad else 0x28be60db93
  let w1: u64 = if by8 then 0x17df904e64758e60 else 0x91054a7f09d5f47d
  let w2: u64 = if by8 then 0xd4ce7d272117e2ef else 0x4d377036d8a5664f
  let w3: u64 = if by8 then 0x7e4a0ec7fe25fff7 else 0x10e4107f9458eaf7
  let w4: u64 = if by8 then 0x816603fbcbc462d6 else 0xaef1586dc91b8e90
  let w5: u64 = if by8 then 0x829b47db4d9fb3c9 else 0x9374b801924bba82
  let w6: u64 = if by8 then 0xf2c26dd3d18fd9a7 else 0x7464873f877ac72c
  let w7: u64 = if by8 then 0x97fa8b5d49eeb1fa else 0x4a69cfba208d7d4b
  let w8: u64 = if by8 then 0xf97c5ecf41ce7de2 else 0xaed1213a671c09ad
  let w9: u64 = if by8 then 0x94a4ba9afed7ec47 else 0x17df904e64758e60
  let w10: u64 = if by8 then 0xe357421580cc11bf else 0xd4ce7d272117e2ef
  let by4 = start & 256 != 0
  let w0 = if by4 then w4 else w0
  let w1 = if by4 then w5 else w1
  let w2 = if by4 then w6 else w2
  let w3 = if by4 then w7 else w3
  let w4 = if by4 then w8 else w4
  let w5 = if by4 then w9 else w5
  let w6 = if by4 then w10 else w6
  let by2 = start & 128 != 0
  let w0 = if by2 then w2 else w0
  let w1 = if by2 then w3 else w1
  let w2 = if by2 then w4 else w2
  let w3 = if by2 then w5 else w3
  let w4 = if by2 then w6 else w4
  let by1 = start & 64 != 0
  let w0 = if by1 then w1 else w0
  let w1 = if by1 then w2 else w1
  let w2 = if by1 then w3 else w2
  let w3 = if by1 then w4 else w3
  let shift = start & 63
  let join (x: u64) (y: u64): u64 = x << shift | y >> 1 >> (63 - shift)
  let m = b & 0xfffffffffffff | 0x10000000000000
  let middle = join w1 w2
  let low = m * middle + mul_high m (join w2 w3)
  let carry = if low < m * middle then 1 else 0
  in (m * join w0 w1 + mul_high m middle + carry, low)

-- | Turns as above, less the nearest integer, in radians if `unit` and
-- `unit_low` are pi / 2^64, what its rounding lost; and that integer in the top bit.
local def fold_turns (turns: u64) (more: u64) (unit: f64) (unit_low: f64): (f64, f64, u64) =
  let v = turns << 1 | more >> 63
  let high = intrinsics.i64_to_f64 (intrinsics.u64_to_i64 (v & 0xfffffffffffff800))
  let low = fma (intrinsics.u64_to_f64 (more << 1)) 5.421010862427522e-20 (intrinsics.u64_to_f64 (v & 0x7ff))
  let rest = fma high unit_low (low * unit)
  let r = fma high unit rest
  in (r, fma high unit (-r) + rest, (turns + 0x4000000000000000) & 0x8000000000000000)

-- | x - n pi for integral or half-integral n: exact but for the last step.
local def less_pi (x: f64) (n: f64): f64 =
  fma n 2.9947698097183397e-33 (fma n (-1.2246467991473532e-16) (fma n (-3.141592653589793) x))

-- | sin r with the sign changed by the top bit of `flip`; |r| <= pi / 2.
local def sin_near (r: f64) (flip: u64): f64 =
  let s = r * r
  let p = fma (fma (-1.649523091069319e-18) s 2.739048854172268e-15) s (-7.643797096303643e-13)
  let p = fma (fma p s 1.605895923801266e-10) s (-2.5052107147727618e-08)
  let p = fma (fma p s 2.7557319213395105e-06) s (-0.00019841269841219496)
  let p = fma (fma p s 0.008333333333333217) s (-0.16666666666666666)
  in float (bits (fma (r * s) p r) ^ flip)

-- | sin x: x = n pi + r; large x by way of integers, behind a branch. At most 1.65 ulp.
#[math(sin)]
def sin (x: f64): f64 =
  let (r, flip) =
    if abs x <= 1073741824
    then let magic: f64 = 6755399441055744
         let t = fma x 0.3183098861837907 magic
         in (less_pi x (t - magic), bits t << 63)
    else let (turns, more) = large_turns x
         let (r, _, odd) = fold_turns turns more 1.7030607900432772e-19 6.638823600814898e-36
         in (if abs x < inf then r else nan, odd ^ (bits x & 0x8000000000000000))
  in if x == 0 then x else sin_near r flip

-- | cos x: the sine of x + pi / 2. At most 1.65 ulp.
#[math(cos)]
def cos (x: f64): f64 =
  let (r, flip) =
    if abs x <= 1073741824
    then let magic: f64 = 6755399441055744
         let t = fma x 0.3183098861837907 0.5 + magic
         in (less_pi x (t - magic - 0.5), bits t << 63)
    else let (turns, more) = large_turns x
         let (r, _, odd) = fold_turns (turns + 0x4000000000000000) more 1.7030607900432772e-19 6.638823600814898e-36
         in (if abs x < inf then r else nan, odd)
  in sin_near r flip

-- | tan (r + r_low), or -1 over that if `odd`; |r| <= pi / 4.
local def tan_near (r: f64) (r_low: f64) (odd: bool): f64 =
  let s = r * r
  let q = s * s
  let p0 = fma (fma (-4.505339039620723e-05) q (-2.6728621328453882e-05)) q 0.00022226632979966256
  let p0 = fma (fma p0 q 0.0014547491415033182) q 0.008863219007569367
  let p0 = fma (fma p0 q 0.05396825392620907) q 0.3333333333333277
  let p1 = fma (fma 2.0906655123976907e-05 q 8.977338124052236e-05) q 0.00013676380429367938
  let p1 = fma (fma p1 q 0.0005951025256782608) q 0.003592290509606065
  let p1 = fma (fma p1 q 0.02186948962003511) q 0.13333333333415584
  let p = fma p1 s p0
  let c = r * s
  let high = fma c p r
  let low = fma c p (r - high) + r_low * fma high high 1
  let q = -1 / high
  let q = fma q (fma q low (fma q high 1)) q
  in if odd then q else high + low

-- | tan x: x = n pi / 2 + r, |r| <= pi / 4; -1 / tan r for odd n, where r and
-- tan r are in two parts. At most 1 ulp.
#[math(tan)]
def tan (x: f64): f64 =
  let (r, r_low, odd) =
    if abs x <= 1073741824
    then let magic: f64 = 6755399441055744
         let t = fma x 0.6366197723675814 magic
         let n = t - magic
         let x1 = fma n (-1.5707963267948966) x
         let v = n * (-6.123233995736766e-17)
         let sum = x1 + v
         let part = sum - x1
         let low = x1 - (sum - part) + (v - part) + fma n 1.4973849048591698e-33 (fma n (-6.123233995736766e-17) (-v))
         let r = sum + low
         in (r, sum - r + low, bits t << 63)
    else let (turns, more) = large_turns x
         let (r, r_low, odd) = fold_turns (turns << 1 | more >> 63) (more << 1) 8.515303950216386e-20 3.319411800407449e-36
         let flip = bits x & 0x8000000000000000
         in (if abs x < inf then float (bits r ^ flip) else nan, float (bits r_low ^ flip), odd)
  in if x == 0 then x else tan_near r r_low (odd != 0)

-- | (atan t - t) / t, 0 <= t <= 1.
local def atan_tail (t: f64): f64 =
  let s = t * t
  let p = fma (fma 1.322944709438221e-05 s (-0.00015220558608695003)) s 0.0008315337457222901
  let p = fma (fma p s (-0.0028855355144636412)) s 0.0071977388578372105
  let p = fma (fma p s (-0.01390236403295431)) s 0.021986839388696118
  let p = fma (fma p s (-0.029905541017141928)) s 0.03664302030486785
  let p = fma (fma p s (-0.042192361709917345)) s 0.04722345290611958
  let p = fma (fma p s (-0.052535257917082794)) s 0.05880529563400198
  let p = fma (fma p s (-0.06666404377751464)) s 0.07692279882694772
  let p = fma (fma p s (-0.0909090700720477)) s 0.11111111007305187
  let p = fma (fma p s (-0.142857142825868)) s 0.19999999999951731
  let p = fma p s (-0.3333333333333307)
  in p * s

-- | atan x: pi / 2 - atan (1 / x) beyond 1. At most 1.2 ulp.
#[math(atan)]
def atan (x: f64): f64 =
  let a = abs x
  let t = if a > 1 then 1 / a else a
  let p = t * atan_tail t
  let r = if a > 1 then 1.5707963267948966 - (t + (p + (-6.123233995736766e-17))) else t + p
  in float (bits r | (bits x & 0x8000000000000000))

-- | The smaller over the larger of |x| and |y|, and whether |y| is the larger.
local def octant (y: f64) (x: f64): (bool, f64) =
  let (a, b) = (abs x, abs y)
  let steep = b > a
  let quotient = (if steep then a else b) / (if steep then b else a)
  in (steep, if a != b then quotient else if a == 0 then 0 else 1)

-- | atan2 y x: the arc tangent of that quotient, moved to its octant. At most 1.45 ulp.
#[math(atan2)]
def atan2 (y: f64) (x: f64): f64 =
  let (steep, t) = octant y x
  let p = t * atan_tail t
  let r = if steep then 1.5707963267948966 - (t + (p + (-6.123233995736766e-17))) else t + p
  let r = if bits x >= 0x8000000000000000 then 3.141592653589793 - (r + (-1.2246467991473532e-16)) else r
  in float (bits r | (bits y & 0x8000000000000000))

-- | (asin t - t) / t of s = t^2, |t| <= 1/2.
local def asin_tail (s: f64): f64 =
  let q = s * s
  let p0 = fma (fma (-0.016207426544058014) q 0.006532098291870295) q 0.013885385170651358
  let p0 = fma (fma p0 q 0.022371759010827438) q 0.044642856828998614
  let p0 = fma p0 q 0.1666666666666541
  let p1 = fma (fma 0.03190104921908417 q 0.019517253360136582) q 0.012168239318219143
  let p1 = fma (fma p1 q 0.017359689699541627) q 0.03038195910101056
  let p1 = fma p1 q 0.07500000000336583
  let p = fma p1 s p0
  in p * s

-- | `t` and `p` for which t + p is asin |x|, or, if the first result says so,
-- pi / 2 less twice that.
local def asin_parts (x: f64): (bool, f64, f64) =
  let a = abs x
  let far = a > 0.5
  let s = if far then fma a (-0.5) 0.5 else a * a
  let t = if far then intrinsics.sqrt_f64 s else a
  in (far, t, t * asin_tail s)

-- | asin x: pi / 2 - 2 asin (sqrt ((1 - x) / 2)) beyond 1/2. At most 1.2 ulp.
#[math(asin)]
def asin (x: f64): f64 =
  let (far, t, p) = asin_parts x
  let c = 1.5707963267948966 - 2 * t
  let low = 1.5707963267948966 - c - 2 * t
  let r = if far then c - (fma 2 p (-6.123233995736766e-17) - low) else t + p
  in float (bits r | (bits x & 0x8000000000000000))

-- | acos x: pi / 2 - asin x; 2 asin (sqrt ((1 - x) / 2)) beyond 1/2, and pi less
-- that beyond -1/2. At most 1.15 ulp.
#[math(acos)]
def acos (x: f64): f64 =
  let (far, t, p) = asin_parts x
  let far_r = if x > 0 then 2 * (t + p) else 3.141592653589793 - 2 * (t + (p + (-6.123233995736766e-17)))
  let (t, p) = if x < 0 then (-t, -p) else (t, p)
  in if far then far_r else 1.5707963267948966 - (t + (p + (-6.123233995736766e-17)))

-- | exp x / 2, which is finite where the hyperbolic functions are.
local def half_exp (x: f64): f64 = exp_less 1 x

-- | sinh x: a polynomial up to 1, then (exp x - exp (-x)) / 2. At most 1.7 ulp.
#[math(sinh)]
def sinh (x: f64): f64 =
  let a = abs x
  let s = a * a
  let p = fma (fma 6.449893898957052e-15 s 7.504134058045692e-13) s 1.6061327937021403e-10
  let p = fma (fma p s 2.505208948078863e-08) s 2.7557319309899856e-06
  let p = fma (fma p s 0.00019841269841061355) s 0.008333333333333573
  let p = fma p s 0.16666666666666666
  let h = half_exp a
  let r = if a < 1 then fma (a * s) p a else h - 0.25 / h
  in float (bits r | (bits x & 0x8000000000000000))

-- | cosh x: (exp x + exp (-x)) / 2. At most 1.45 ulp.
#[math(cosh)]
def cosh (x: f64): f64 =
  let h = half_exp (abs x)
  in h + 0.25 / h

-- | tanh x: a polynomial up to 0.55, then 1 - 2 / (exp 2x + 1). At most 1.65 ulp.
#[math(tanh)]
def tanh (x: f64): f64 =
  let a = abs x
  let s = a * a
  let p = fma (fma 5.1023224945188117e-05 s (-0.00021030521662959915)) s 0.0005791389424146059
  let p = fma (fma p s (-0.001453217483985089)) s 0.003591719862678966
  let p = fma (fma p s (-0.008863194527179675)) s 0.0218694859767553
  let p = fma (fma p s (-0.053968253876173856)) s 0.13333333333168942
  let p = fma p s (-0.33333333333332316)
  let r = if a < 0.55 then fma (a * s) p a else 1 - 2 / (exp (2 * a) + 1)
  in float (bits r | (bits x & 0x8000000000000000))

-- | log2 of finite a > 0 as a sum of two floats, with an error of 2^-64: 2 / ln 2
-- times atanh s with s = (m - 1) / (m + 1) and its first terms in two parts.
def log2_sum (a: f64): (f64, f64) =
  let (e, f) = parts a
  let d = 2 + f
  let d_low = 2 - d + f
  let inverse = 1 / d
  let s = f * inverse
  let s_low = (fma (-s) d f - s * d_low) * inverse
  let z = s * s
  let z_low = fma (2 * s) s_low (fma s s (-z))
  let p = fma (fma 0.06288614958908861 z 0.05795708413592866) z 0.06670603582446455
  let p = fma (fma p z 0.07692202224506475) z 0.09090910784793316
  let p = fma (fma p z 0.11111111095384311) z 0.14285714285789988
  let p = fma p z 0.1999999999999986
  let v = z * p
  let b = 0.3333333333333333 + v
  let b_low = 0.3333333333333333 - b + v + 1.850371707708594e-17
  let c = z * b
  let c_low = fma z b (-c) + fma z b_low (z_low * b)
  let g = s * c
  let g_low = fma s c (-g) + fma s c_low (s_low * c)
  let h = s + g
  let h_low = s - h + g + (s_low + g_low)
  let l = h * 2.8853900817779268
  let l_low = fma h 2.8853900817779268 (-l) + fma h 4.0710547481862066e-17 (h_low * 2.8853900817779268)
  let r = e + l
  in (r, e - r + l + l_low)

-- | 2 to the power of y log2 |x|, that product in two parts. At most 1.75 ulp.
def pow (x: f64) (y: f64): f64 =
  let a = abs x
  let (l, l_low) = log2_sum a
  let k = if y < -1e20 then -1e20 else if y > 1e20 then 1e20 else y
  let w = k * l
  let w_low = fma k l (-w) + k * l_low
  let z = scaled_exp2 1 w w_low
  let z = if a > 0 && a < inf then z
          else if y > 0 then a
          else if y < 0 then (if a < 1 then inf else if a > 1 then 0 else a)
          else y
  let whole = intrinsics.floor_f64 y == y
  let half = 0.5 * y
  let odd = whole && intrinsics.floor_f64 half != half
  let z = if odd then float (bits z | (bits x & 0x8000000000000000)) else z
  let z = if x < 0 && !whole && a < inf then nan else z
  in if x == 1 || y == 0 then 1 else z

-- | The nearest half turns left to go: x less an even integer, exact, within [-1, 1].
local def less_turns (x: f64): f64 = x - 2 * intrinsics.round_f64 (x * 0.5)

-- | sin (pi s) for |s| <= 1/2, by way of cos (pi (1/2 - |s|)) beyond 1/4.
local def sinpi_near (s: f64): f64 =
  let a = abs s
  let far = a > 0.25
  let r = if far then 0.5 - a else s
  let q = r * r
  let p = fma (fma 0.00046156238516837235 q (-0.007370028480609468)) q 0.08214586977549834
  let p = fma (fma (fma p q (-0.5992645289642364)) q 2.550164039873868) q (-5.167712780049959)
  let c = fma (fma (-0.00010304562474128528) q 0.001929352869340194) q (-0.025806876107441264)
  let c = fma (fma c q 0.23533062979394692) q (-1.3352627688435827)
  let c = fma (fma c q 4.058712126416667) q (-4.934802200544679)
  let near = fma r 3.141592653589793 (r * fma q p 1.2246467991473532e-16)
  let c = fma q c 1
  in if !far then near else if s < 0 then -c else c

-- | sin (pi x): exact at multiples of a half. At most 1 ulp.
#[math(sinpi)]
def sinpi (x: f64): f64 =
  let r = less_turns x
  let s = if r > 0.5 then 1 - r else if r < -0.5 then -1 - r else r
  in if s == 0 then x * 0 else sinpi_near s

-- | cos (pi x): exact at multiples of a half. At most 1.4 ulp.
#[math(cospi)]
def cospi (x: f64): f64 = sinpi_near (0.5 - abs (less_turns x))

-- | tan (pi x): exact at multiples of a quarter. At most 1 ulp.
#[math(tanpi)]
def tanpi (x: f64): f64 =
  let r = less_turns x
  let s = if r > 0.5 then r - 1 else if r < -0.5 then r + 1 else r
  let odd = abs s > 0.25
  let q = if !odd then s else if s > 0 then s - 0.5 else s + 0.5
  let v = q * 3.141592653589793
  let t = tan_near v (fma q 3.141592653589793 (-v) + q * 1.2246467991473532e-16) odd
  let zero: f64 = if r == 0 then 0 else -0.0
  in if s == 0 then x * zero
     else if q == 0 then (if s > 0 then inf else -inf)
     else if abs q == 0.25 then (if s > 0 then 1 else -1)
     else t

-- | (t + p) / pi.
local def over_pi (t: f64) (p: f64): f64 =
  fma t 0.3183098861837907 (fma p 0.3183098861837907 (t * (-1.9678676675182486e-17)))

-- | c - (t + p) / pi.
local def less_over_pi (c: f64) (t: f64) (p: f64): f64 =
  let v = t * 0.3183098861837907
  let h = c - v
  in h + (c - h - v - fma t 0.3183098861837907 (-v) - fma p 0.3183098861837907 (t * (-1.9678676675182486e-17)))

-- | asin x / pi. At most 1.4 ulp.
#[math(asinpi)]
def asinpi (x: f64): f64 =
  let (far, t, p) = asin_parts x
  let r = if far then less_over_pi 0.5 (2 * t) (2 * p) else over_pi t p
  in float (bits r | (bits x & 0x8000000000000000))

-- | acos x / pi. At most 1.25 ulp.
#[math(acospi)]
def acospi (x: f64): f64 =
  let (far, t, p) = asin_parts x
  let far_r = if x > 0 then 2 * over_pi t p else less_over_pi 1 (2 * t) (2 * p)
  let (t, p) = if x < 0 then (-t, -p) else (t, p)
  in if far then far_r else less_over_pi 0.5 t p

-- | atan x / pi. At most 1.45 ulp.
#[math(atanpi)]
def atanpi (x: f64): f64 =
  let a = abs x
  let t = if a > 1 then 1 / a else a
  let p = t * atan_tail t
  let r = if a > 1 then less_over_pi 0.5 t p else over_pi t p
  in float (bits r | (bits x & 0x8000000000000000))

-- | atan2 y x / pi. At most 1.6 ulp.
#[math(atan2pi)]
def atan2pi (y: f64) (x: f64): f64 =
  let (steep, t) = octant y x
  let p = t * atan_tail t
  let r = if steep then less_over_pi 0.5 t p else over_pi t p
  let r = if bits x >= 0x8000000000000000 then 1 - r else r
  in float (bits r | (bits y & 0x8000000000000000))
