-- Floating-point arithmetic of type f64.  (Made by tests/oracle/make_scalars.py.)

-- ==
-- entry: arithmetic
-- input { [1.5f64, -2.25f64, 0.0f64, 7.0f64, -7.5f64, 100.0f64, 0.001f64] [0.5f64, 4.0f64, -3.0f64, 2.0f64, 2.0f64, -0.5f64, 3.0f64] }
-- output { [2.0f64, 1.75f64, -3.0f64, 9.0f64, -5.5f64, 99.5f64, 3.001f64] [1.0f64, -6.25f64, 3.0f64, 5.0f64, -9.5f64, 100.5f64, -2.999f64] [0.75f64, -9.0f64, -0.0f64, 14.0f64, -15.0f64, -50.0f64, 0.003f64] [3.0f64, -0.5625f64, -0.0f64, 3.5f64, -3.75f64, -200.0f64, 0.0003333333333333333f64] [-1.5f64, 2.25f64, -0.0f64, -7.0f64, 7.5f64, -100.0f64, -0.001f64] }
-- input { [f64.inf, -f64.inf, f64.nan, 1.0f64] [f64.inf, 2.0f64, 1.0f64, 0.0f64] }
-- output { [f64.inf, -f64.inf, f64.nan, 1.0f64] [f64.nan, -f64.inf, f64.nan, 1.0f64] [f64.inf, -f64.inf, f64.nan, 0.0f64] [f64.nan, -f64.inf, f64.nan, f64.inf] [-f64.inf, f64.inf, f64.nan, -1.0f64] }
-- input { empty([0]f64) empty([0]f64) }
-- output { empty([0]f64) empty([0]f64) empty([0]f64) empty([0]f64) empty([0]f64) }
entry arithmetic [n] (a: [n]f64) (b: [n]f64) : ([n]f64, [n]f64, [n]f64, [n]f64, [n]f64) =
  ( map2 (+) a b
  , map2 (-) a b
  , map2 (*) a b
  , map2 (/) a b
  , map (\x -> -x) a
  )

-- ==
-- entry: others
-- input { [1.5f64, -2.25f64, 0.0f64, 7.0f64, -7.5f64, 100.0f64, 0.001f64] [0.5f64, 4.0f64, -3.0f64, 2.0f64, 2.0f64, -0.5f64, 3.0f64] }
-- output { [0.5f64, -2.25f64, -3.0f64, 2.0f64, -7.5f64, -0.5f64, 0.001f64] [1.5f64, 4.0f64, 0.0f64, 7.0f64, 2.0f64, 100.0f64, 3.0f64] [1.5f64, 2.25f64, 0.0f64, 7.0f64, 7.5f64, 100.0f64, 0.001f64] [1.0f64, -1.0f64, 0.0f64, 1.0f64, -1.0f64, 1.0f64, 1.0f64] [0.0f64, -2.25f64, 0.0f64, 1.0f64, -1.5f64, 0.0f64, 0.001f64] }
entry others [n] (a: [n]f64) (b: [n]f64) : ([n]f64, [n]f64, [n]f64, [n]f64, [n]f64) =
  (map2 f64.min a b, map2 f64.max a b, map f64.abs a, map f64.sgn a, map2 (%) a b)

-- Down, up, towards zero, to the nearest (of two the even one).
-- ==
-- entry: rounding
-- input { [0.5f64, 1.5f64, 2.5f64, -0.5f64, -1.5f64, -2.5f64, 2.25f64, -2.75f64, 7.0f64] }
-- output { [0.0f64, 1.0f64, 2.0f64, -1.0f64, -2.0f64, -3.0f64, 2.0f64, -3.0f64, 7.0f64] [1.0f64, 2.0f64, 3.0f64, -0.0f64, -1.0f64, -2.0f64, 3.0f64, -2.0f64, 7.0f64] [0.0f64, 1.0f64, 2.0f64, -0.0f64, -1.0f64, -2.0f64, 2.0f64, -2.0f64, 7.0f64] [0.0f64, 2.0f64, 2.0f64, -0.0f64, -2.0f64, -2.0f64, 2.0f64, -3.0f64, 7.0f64] }
entry rounding [n] (a: [n]f64) : ([n]f64, [n]f64, [n]f64, [n]f64) =
  (map f64.floor a, map f64.ceil a, map f64.trunc a, map f64.round a)

-- ==
-- entry: comparisons
-- input { [1.5f64, -2.25f64, 0.0f64, 7.0f64, -7.5f64, 100.0f64, 0.001f64] [0.5f64, 4.0f64, -3.0f64, 2.0f64, 2.0f64, -0.5f64, 3.0f64] }
-- output { [false, false, false, false, false, false, false] [true, true, true, true, true, true, true] [false, true, false, false, true, false, true] [false, true, false, false, true, false, true] [true, false, true, true, false, true, false] [true, false, true, true, false, true, false] }
-- input { [f64.nan, f64.inf, 0.0f64, 1.5f64] [f64.nan, -f64.inf, -0.0f64, 1.5f64] }
-- output { [false, false, true, true] [true, true, false, false] [false, false, false, false] [false, false, true, true] [false, true, false, false] [false, true, true, true] }
entry comparisons [n] (a: [n]f64) (b: [n]f64)
                : ([n]bool, [n]bool, [n]bool, [n]bool, [n]bool, [n]bool) =
  (map2 (==) a b, map2 (!=) a b, map2 (<) a b, map2 (<=) a b, map2 (>) a b, map2 (>=) a b)

-- ==
-- entry: classes
-- input { [f64.nan, f64.inf, -f64.inf, -0.0f64, 1.5f64] }
-- output { [true, false, false, false, false] [false, true, true, false, false] [0u64, 9218868437227405312u64, 18442240474082181120u64, 9223372036854775808u64, 4609434218613702656u64] [f64.nan, f64.inf, -f64.inf, -0.0f64, 1.5f64] }
entry classes [n] (a: [n]f64) : ([n]bool, [n]bool, [n]u64, [n]f64) =
  ( map f64.isnan a
  , map f64.isinf a
  , map (\x -> if f64.isnan x then 0 else f64.to_bits x) a
  , map (\x -> f64.from_bits (f64.to_bits x)) a
  )

-- ==
-- entry: elementary
-- input { [0.25f64, 1.0f64, 2.5f64, 4.0f64, 7.75f64, 0.01f64] }
-- output { [0.5f64, 1.0f64, 1.5811388300841898f64, 2.0f64, 2.7838821814150108f64, 0.1f64] [1.2840254166877414f64, 2.718281828459045f64, 12.182493960703473f64, 54.598150033144236f64, 2321.572414611057f64, 1.010050167084168f64] [-1.3862943611198906f64, 0.0f64, 0.9162907318741551f64, 1.3862943611198906f64, 2.0476928433652555f64, -4.605170185988091f64] [0.24740395925452294f64, 0.8414709848078965f64, 0.5984721441039565f64, -0.7568024953079282f64, 0.9945987791111761f64, 0.009999833334166664f64] [0.9689124217106447f64, 0.5403023058681398f64, -0.8011436155469337f64, -0.6536436208636119f64, 0.10379435721925297f64, 0.9999500004166653f64] [1.0516502125483738f64, 0.7853981633974483f64, -0.4636476090008061f64, -1.1071487177940904f64, -1.3986055122719576f64, 1.1051406883644943f64] [0.125f64, 1.0f64, 3.952847075210474f64, 8.0f64, 21.575086905966334f64, 0.001f64] }
entry elementary [n] (a: [n]f64) : ([n]f64, [n]f64, [n]f64, [n]f64, [n]f64, [n]f64, [n]f64) =
  ( map f64.sqrt a
  , map f64.exp a
  , map f64.log a
  , map f64.sin a
  , map f64.cos a
  , map f64.atan (map (2 -) a)
  , map (** 1.5) a
  )

-- ==
-- entry: summaries
-- input { [1.5f64, -2.25f64, 0.0f64, 7.0f64, -7.5f64, 100.0f64, 0.001f64] }
-- output { 98.751f64 0.0f64 100.0f64 -7.5f64 f64.inf -f64.inf }
-- input { empty([0]f64) }
-- output { 0.0f64 1.0f64 -f64.inf f64.inf f64.inf -f64.inf }
entry summaries (a: []f64) : (f64, f64, f64, f64, f64, f64) =
  (f64.sum a, f64.product a, f64.maximum a, f64.minimum a, f64.highest, f64.lowest)
