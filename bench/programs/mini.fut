-- The nine mini-benchmarks of "Design and GPGPU Performance of Futhark's
-- Redomap Construct" (ARRAY 2016), section 5.2.  Where an operator there has
-- no true neutral element (the maximum of numbers below zero, the product of
-- 2x2 matrices), this file uses one that is.

-- Sum of integers.
-- ==
-- entry: reduce_plus
-- input { empty([0]i32) }
-- output { 0i32 }
-- input { [7] }
-- output { 7i32 }
-- input { [1, -2, 3, 2147483647, 5, 6, -7] }
-- output { -2147483643i32 }
entry reduce_plus (a: []i32) : i32 =
  reduce (+) 0 a

-- Largest element.
-- ==
-- entry: reduce_max
-- input { empty([0]i32) }
-- output { -2147483648i32 }
-- input { [-3] }
-- output { -3i32 }
-- input { [-5, -2, -9, -2, -11] }
-- output { -2i32 }
-- input { [1, 8, 3, 2147483647, -2147483648] }
-- output { 2147483647i32 }
entry reduce_max (a: []i32) : i32 =
  reduce_comm (\x y -> if x < y then y else x) i32.lowest a

-- The larger of two values with their indices; of equal values, the one with the
-- smaller index.
def max_with_index (xv: i32, xi: i32) (yv: i32, yi: i32) : (i32, i32) =
  if xv < yv then (yv, yi)
  else if yv < xv then (xv, xi)
  else if xi < yi then (xv, xi)
  else (yv, yi)

-- Position of the largest element (the first of several).
-- ==
-- entry: index_of_max index_of_max_pack
-- input { empty([0]i32) }
-- output { 2147483647i32 }
-- input { [-2147483648] }
-- output { 0i32 }
-- input { [3, 9, -1, 9, 2] }
-- output { 1i32 }
-- input { [-7, -8, -9, -6, -10, -11, -6] }
-- output { 3i32 }
entry index_of_max [n] (a: [n]i32) : i32 =
  let is = map i32.i64 (iota n)
  let (_, i) = reduce_comm max_with_index (i32.lowest, i32.highest) (zip a is)
  in i

-- A value in the upper half and an index in the lower half of a word.
def pack (v: i32) (i: i64) : i64 = (i64.i32 v << 32) | i

def max_with_index_packed (x: i64) (y: i64) : i64 =
  let (xv, xi) = (i32.i64 (x >> 32), i32.i64 x)
  let (yv, yi) = (i32.i64 (y >> 32), i32.i64 y)
  in if xv < yv then y
     else if yv < xv then x
     else if xi < yi then x
     else y

-- The same, with value and index packed into one integer.
entry index_of_max_pack [n] (a: [n]i32) : i32 =
  let neutral = pack i32.lowest (i64.i32 i32.highest)
  in i32.i64 (reduce_comm max_with_index_packed neutral (map2 pack a (iota n)))

def unpack_matrix (x: i32) : (i8, i8, i8, i8) =
  (i8.i32 (x >> 24), i8.i32 (x >> 16), i8.i32 (x >> 8), i8.i32 x)

def pack_matrix (a: i8) (b: i8) (c: i8) (d: i8) : i32 =
  ((i32.i8 a & 0xFF) << 24)
  | ((i32.i8 b & 0xFF) << 16)
  | ((i32.i8 c & 0xFF) << 8)
  | (i32.i8 d & 0xFF)

-- Product of two 2x2 matrices of bytes, each packed into an integer.
def two_by_two_mult (x: i32) (y: i32) : i32 =
  let (x11, x12, x21, x22) = unpack_matrix x
  let (y11, y12, y21, y22) = unpack_matrix y
  let z11 = x11 * y11 + x12 * y21
  let z12 = x11 * y12 + x12 * y22
  let z21 = x21 * y11 + x22 * y21
  let z22 = x21 * y12 + x22 * y22
  in pack_matrix z11 z12 z21 z22

-- 42 rounds of matrix products, each over the array shifted by the last
-- result.  The operator does not commute.
-- ==
-- entry: reduce_2x2mm
-- input { empty([0]i32) }
-- output { 16777217i32 }
-- input { [16909060] }
-- output { 710180521i32 }
-- input { [1, -2, 300, 70000, -16777216, 12345678, 3, 1000001, 77] }
-- output { 96i32 }
entry reduce_2x2mm (a: []i32) : i32 =
  loop s = 1 for _i < 42 do
    reduce two_by_two_mult 0x01000001 (map (+ s) a)

-- Maximum segment sum (0 for the empty segment).
-- ==
-- entry: mssp
-- input { empty([0]i32) }
-- output { 0i32 }
-- input { [-4] }
-- output { 0i32 }
-- input { [1, -2, 3, 4, -1, 5, -6, 1] }
-- output { 11i32 }
-- input { [-1, -2, -3] }
-- output { 0i32 }
-- input { [5, -9, 6, -1, 2, -8, 7, 0, -1, 3, -20, 9] }
-- output { 9i32 }
entry mssp (xs: []i32) : i32 =
  let op (mssx, misx, mcsx, tsx) (mssy, misy, mcsy, tsy) =
    ( i32.max mssx (i32.max mssy (mcsx + misy))
    , i32.max misx (tsx + misy)
    , i32.max mcsy (mcsx + tsy)
    , tsx + tsy
    )
  let lift x = (i32.max x 0, i32.max x 0, i32.max x 0, x)
  let (best, _, _, _) = reduce op (0, 0, 0, 0) (map lift xs)
  in best

-- Prefix sums.
-- ==
-- entry: scan_plus
-- input { empty([0]i32) }
-- output { empty([0]i32) }
-- input { [-5] }
-- output { [-5i32] }
-- input { [1, 2, -3, 2147483647, 5, 6, -7] }
-- output { [1i32, 3i32, 0i32, 2147483647i32, -2147483644i32, -2147483638i32, -2147483645i32] }
entry scan_plus [n] (a: [n]i32) : [n]i32 =
  scan (+) 0 a

-- The shape of the paper's figure 3 with more expensive functions: three reductions
-- and two mapped results, which fuse into one pass over `iota n`.
-- ==
-- entry: redomap_nt
-- input { 0.5f32 0.25f32 0i64 }
-- output { 0.0f32 f32.inf -f32.inf empty([0]f32) empty([0]f32) }
-- input { 0.5f32 0.25f32 1i64 }
-- output { 1.7788007f32 1.0f32 0.7788008f32 [1.6487212f32] [0.75699866f32] }
-- input { 0.5f32 0.25f32 7i64 }
-- output { 9.638851f32 0.25f32 0.9394131f32 [1.6487212f32, 1.3956125f32, 1.2840254f32, 1.2214028f32, 1.1813604f32, 1.153565f32, 1.1331484f32] [0.75699866f32, 0.771998f32, 0.7792489f32, 0.7835193f32, 0.7863329f32, 0.78832626f32, 0.7898123f32] }
-- input { 0.001f32 3.5f32 5i64 }
-- output { 5.142076f32 0.99601597f32 0.03062141f32 [1.0010005f32, 1.0009995f32, 1.0009985f32, 1.0009975f32, 1.0009965f32] [0.008554022f32, 0.008583726f32, 0.008613471f32, 0.008643261f32, 0.008673093f32] }
entry redomap_nt (a: f32) (b: f32) (n: i64) : (f32, f32, f32, [n]f32, [n]f32) =
  let x = map (\i -> 1 / (1 + f32.i64 i * a)) (iota n)
  let y = map (\xi -> f32.exp (-b * xi)) x
  let t = map2 (+) x y
  let t0 = reduce_comm (+) 0 t
  let t1 = reduce_comm f32.min f32.inf x
  let t2 = reduce_comm f32.max (-f32.inf) y
  let v = map (\xi -> f32.exp (xi * a)) x
  let w = map (\yi -> yi / (yi + b)) y
  in (t0, t1, t2, v, w)

-- Distribution function of the standard normal distribution, by the polynomial
-- 26.2.17 of Abramowitz and Stegun.
def normal_cdf (d: f64) : f64 =
  let k = 1 / (1 + 0.2316419 * f64.abs d)
  let poly =
    k * (0.319381530
         + k * (-0.356563782
                + k * (1.781477937
                       + k * (-1.821255978 + k * 1.330274429))))
  let tail = 0.3989422804014327 * f64.exp (-0.5 * d * d) * poly
  in if d > 0 then 1 - tail else tail

-- Price of a European call option.
def call_price (spot: f64) (strike: f64) (years: f64) : f64 =
  let rate = 0.08
  let volatility = 0.30
  let v_sqrt = volatility * f64.sqrt years
  let d1 = (f64.log (spot / strike) + (rate + 0.5 * volatility * volatility) * years) / v_sqrt
  let d2 = d1 - v_sqrt
  in spot * normal_cdf d1 - strike * f64.exp (-rate * years) * normal_cdf d2

-- Total price of n options with rising spot price and time to maturity.
-- ==
-- entry: black_scholes
-- input { 0i64 }
-- output { 0.0f64 }
-- input { 1i64 }
-- output { 0.26700512623544004f64 }
-- input { 365i64 }
-- output { 9553.367406381518f64 }
entry black_scholes (n: i64) : f64 =
  let prices =
    map (\i ->
           let x = f64.i64 i / f64.i64 n
           in call_price (58 + 14 * x) 65 ((30 + 3620 * x) / 365))
        (iota n)
  in reduce (+) 0 prices
