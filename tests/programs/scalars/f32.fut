-- Floating-point arithmetic of type f32.  (Made by tests/oracle/make_scalars.py.)

-- ==
-- entry: arithmetic
-- input { [1.5f32, -2.25f32, 0.0f32, 7.0f32, -7.5f32, 100.0f32, 0.001f32] [0.5f32, 4.0f32, -3.0f32, 2.0f32, 2.0f32, -0.5f32, 3.0f32] }
-- output { [2.0f32, 1.75f32, -3.0f32, 9.0f32, -5.5f32, 99.5f32, 3.001f32] [1.0f32, -6.25f32, 3.0f32, 5.0f32, -9.5f32, 100.5f32, -2.999f32] [0.75f32, -9.0f32, -0.0f32, 14.0f32, -15.0f32, -5.0e+01f32, 0.003f32] [3.0f32, -0.5625f32, -0.0f32, 3.5f32, -3.75f32, -2.0e+02f32, 0.00033333336f32] [-1.5f32, 2.25f32, -0.0f32, -7.0f32, 7.5f32, -1.0e+02f32, -0.001f32] }
-- input { [f32.inf, -f32.inf, f32.nan, 1.0f32] [f32.inf, 2.0f32, 1.0f32, 0.0f32] }
-- output { [f32.inf, -f32.inf, f32.nan, 1.0f32] [f32.nan, -f32.inf, f32.nan, 1.0f32] [f32.inf, -f32.inf, f32.nan, 0.0f32] [f32.nan, -f32.inf, f32.nan, f32.inf] [-f32.inf, f32.inf, f32.nan, -1.0f32] }
-- input { empty([0]f32) empty([0]f32) }
-- output { empty([0]f32) empty([0]f32) empty([0]f32) empty([0]f32) empty([0]f32) }
entry arithmetic [n] (a: [n]f32) (b: [n]f32) : ([n]f32, [n]f32, [n]f32, [n]f32, [n]f32) =
  ( map2 (+) a b
  , map2 (-) a b
  , map2 (*) a b
  , map2 (/) a b
  , map (\x -> -x) a
  )

-- ==
-- entry: others
-- input { [1.5f32, -2.25f32, 0.0f32, 7.0f32, -7.5f32, 100.0f32, 0.001f32] [0.5f32, 4.0f32, -3.0f32, 2.0f32, 2.0f32, -0.5f32, 3.0f32] }
-- output { [0.5f32, -2.25f32, -3.0f32, 2.0f32, -7.5f32, -0.5f32, 0.001f32] [1.5f32, 4.0f32, 0.0f32, 7.0f32, 2.0f32, 1.0e+02f32, 3.0f32] [1.5f32, 2.25f32, 0.0f32, 7.0f32, 7.5f32, 1.0e+02f32, 0.001f32] [1.0f32, -1.0f32, 0.0f32, 1.0f32, -1.0f32, 1.0f32, 1.0f32] [0.0f32, -2.25f32, 0.0f32, 1.0f32, -1.5f32, 0.0f32, 0.001f32] }
entry others [n] (a: [n]f32) (b: [n]f32) : ([n]f32, [n]f32, [n]f32, [n]f32, [n]f32) =
  (map2 f32.min a b, map2 f32.max a b, map f32.abs a, map f32.sgn a, map2 (%) a b)

-- Down, up, towards zero, to the nearest (of two the even one).
-- ==
-- entry: rounding
-- input { [0.5f32, 1.5f32, 2.5f32, -0.5f32, -1.5f32, -2.5f32, 2.25f32, -2.75f32, 7.0f32] }
-- output { [0.0f32, 1.0f32, 2.0f32, -1.0f32, -2.0f32, -3.0f32, 2.0f32, -3.0f32, 7.0f32] [1.0f32, 2.0f32, 3.0f32, -0.0f32, -1.0f32, -2.0f32, 3.0f32, -2.0f32, 7.0f32] [0.0f32, 1.0f32, 2.0f32, -0.0f32, -1.0f32, -2.0f32, 2.0f32, -2.0f32, 7.0f32] [0.0f32, 2.0f32, 2.0f32, -0.0f32, -2.0f32, -2.0f32, 2.0f32, -3.0f32, 7.0f32] }
entry rounding [n] (a: [n]f32) : ([n]f32, [n]f32, [n]f32, [n]f32) =
  (map f32.floor a, map f32.ceil a, map f32.trunc a, map f32.round a)

-- ==
-- entry: comparisons
-- input { [1.5f32, -2.25f32, 0.0f32, 7.0f32, -7.5f32, 100.0f32, 0.001f32] [0.5f32, 4.0f32, -3.0f32, 2.0f32, 2.0f32, -0.5f32, 3.0f32] }
-- output { [false, false, false, false, false, false, false] [true, true, true, true, true, true, true] [false, true, false, false, true, false, true] [false, true, false, false, true, false, true] [true, false, true, true, false, true, false] [true, false, true, true, false, true, false] }
-- input { [f32.nan, f32.inf, 0.0f32, 1.5f32] [f32.nan, -f32.inf, -0.0f32, 1.5f32] }
-- output { [false, false, true, true] [true, true, false, false] [false, false, false, false] [false, false, true, true] [false, true, false, false] [false, true, true, true] }
entry comparisons [n] (a: [n]f32) (b: [n]f32)
                : ([n]bool, [n]bool, [n]bool, [n]bool, [n]bool, [n]bool) =
  (map2 (==) a b, map2 (!=) a b, map2 (<) a b, map2 (<=) a b, map2 (>) a b, map2 (>=) a b)

-- ==
-- entry: classes
-- input { [f32.nan, f32.inf, -f32.inf, -0.0f32, 1.5f32] }
-- output { [true, false, false, false, false] [false, true, true, false, false] [0u32, 2139095040u32, 4286578688u32, 2147483648u32, 1069547520u32] [f32.nan, f32.inf, -f32.inf, -0.0f32, 1.5f32] }
entry classes [n] (a: [n]f32) : ([n]bool, [n]bool, [n]u32, [n]f32) =
  ( map f32.isnan a
  , map f32.isinf a
  , map (\x -> if f32.isnan x then 0 else f32.to_bits x) a
  , map (\x -> f32.from_bits (f32.to_bits x)) a
  )

-- ==
-- entry: elementary
-- input { [0.25f32, 1.0f32, 2.5f32, 4.0f32, 7.75f32, 0.01f32] }
-- output { [0.5f32, 1.0f32, 1.5811388f32, 2.0f32, 2.7838821f32, 0.1f32] [1.2840254f32, 2.7182817f32, 12.182494f32, 54.59815f32, 2321.5725f32, 1.0100502f32] [-1.3862944f32, 0.0f32, 0.91629076f32, 1.3862944f32, 2.0476928f32, -4.6051702f32] [0.24740396f32, 0.84147096f32, 0.5984721f32, -0.7568025f32, 0.9945988f32, 0.009999833f32] [0.9689124f32, 0.5403023f32, -0.8011436f32, -0.6536436f32, 0.10379436f32, 0.99995f32] [1.0516502f32, 0.7853982f32, -0.4636476f32, -1.1071488f32, -1.3986055f32, 1.1051407f32] [0.125f32, 1.0f32, 3.952847f32, 8.0f32, 21.575087f32, 0.0009999999f32] }
entry elementary [n] (a: [n]f32) : ([n]f32, [n]f32, [n]f32, [n]f32, [n]f32, [n]f32, [n]f32) =
  ( map f32.sqrt a
  , map f32.exp a
  , map f32.log a
  , map f32.sin a
  , map f32.cos a
  , map f32.atan (map (2 -) a)
  , map (** 1.5) a
  )

-- ==
-- entry: summaries
-- input { [1.5f32, -2.25f32, 0.0f32, 7.0f32, -7.5f32, 100.0f32, 0.001f32] }
-- output { 98.751f32 0.0f32 1.0e+02f32 -7.5f32 f32.inf -f32.inf }
-- input { empty([0]f32) }
-- output { 0.0f32 1.0f32 -f32.inf f32.inf f32.inf -f32.inf }
entry summaries (a: []f32) : (f32, f32, f32, f32, f32, f32) =
  (f32.sum a, f32.product a, f32.maximum a, f32.minimum a, f32.highest, f32.lowest)
