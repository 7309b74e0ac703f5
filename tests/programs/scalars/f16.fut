-- Floating-point arithmetic of type f16.  (Made by tests/oracle/make_scalars.py.)

-- ==
-- entry: arithmetic
-- input { [1.5f16, -2.25f16, 0.0f16, 7.0f16, -7.5f16, 100.0f16, 0.001f16] [0.5f16, 4.0f16, -3.0f16, 2.0f16, 2.0f16, -0.5f16, 3.0f16] }
-- output { [2.0f16, 1.75f16, -3.0f16, 9.0f16, -5.5f16, 99.5f16, 3.002f16] [1.0f16, -6.25f16, 3.0f16, 5.0f16, -9.5f16, 100.5f16, -2.998f16] [0.75f16, -9.0f16, -0.0f16, 14.0f16, -15.0f16, -5.0e+01f16, 0.003002f16] [3.0f16, -0.5625f16, -0.0f16, 3.5f16, -3.75f16, -2.0e+02f16, 0.0003335f16] [-1.5f16, 2.25f16, -0.0f16, -7.0f16, 7.5f16, -1.0e+02f16, -0.001f16] }
-- input { [f16.inf, -f16.inf, f16.nan, 1.0f16] [f16.inf, 2.0f16, 1.0f16, 0.0f16] }
-- output { [f16.inf, -f16.inf, f16.nan, 1.0f16] [f16.nan, -f16.inf, f16.nan, 1.0f16] [f16.inf, -f16.inf, f16.nan, 0.0f16] [f16.nan, -f16.inf, f16.nan, f16.inf] [-f16.inf, f16.inf, f16.nan, -1.0f16] }
-- input { empty([0]f16) empty([0]f16) }
-- output { empty([0]f16) empty([0]f16) empty([0]f16) empty([0]f16) empty([0]f16) }
entry arithmetic [n] (a: [n]f16) (b: [n]f16) : ([n]f16, [n]f16, [n]f16, [n]f16, [n]f16) =
  ( map2 (+) a b
  , map2 (-) a b
  , map2 (*) a b
  , map2 (/) a b
  , map (\x -> -x) a
  )

-- ==
-- entry: others
-- input { [1.5f16, -2.25f16, 0.0f16, 7.0f16, -7.5f16, 100.0f16, 0.001f16] [0.5f16, 4.0f16, -3.0f16, 2.0f16, 2.0f16, -0.5f16, 3.0f16] }
-- output { [0.5f16, -2.25f16, -3.0f16, 2.0f16, -7.5f16, -0.5f16, 0.001f16] [1.5f16, 4.0f16, 0.0f16, 7.0f16, 2.0f16, 1.0e+02f16, 3.0f16] [1.5f16, 2.25f16, 0.0f16, 7.0f16, 7.5f16, 1.0e+02f16, 0.001f16] [1.0f16, -1.0f16, 0.0f16, 1.0f16, -1.0f16, 1.0f16, 1.0f16] [0.0f16, -2.25f16, 0.0f16, 1.0f16, -1.5f16, 0.0f16, 0.001f16] }
entry others [n] (a: [n]f16) (b: [n]f16) : ([n]f16, [n]f16, [n]f16, [n]f16, [n]f16) =
  (map2 f16.min a b, map2 f16.max a b, map f16.abs a, map f16.sgn a, map2 (%) a b)

-- Down, up, towards zero, to the nearest (of two the even one).
-- ==
-- entry: rounding
-- input { [0.5f16, 1.5f16, 2.5f16, -0.5f16, -1.5f16, -2.5f16, 2.25f16, -2.75f16, 7.0f16] }
-- output { [0.0f16, 1.0f16, 2.0f16, -1.0f16, -2.0f16, -3.0f16, 2.0f16, -3.0f16, 7.0f16] [1.0f16, 2.0f16, 3.0f16, -0.0f16, -1.0f16, -2.0f16, 3.0f16, -2.0f16, 7.0f16] [0.0f16, 1.0f16, 2.0f16, -0.0f16, -1.0f16, -2.0f16, 2.0f16, -2.0f16, 7.0f16] [0.0f16, 2.0f16, 2.0f16, -0.0f16, -2.0f16, -2.0f16, 2.0f16, -3.0f16, 7.0f16] }
entry rounding [n] (a: [n]f16) : ([n]f16, [n]f16, [n]f16, [n]f16) =
  (map f16.floor a, map f16.ceil a, map f16.trunc a, map f16.round a)

-- ==
-- entry: comparisons
-- input { [1.5f16, -2.25f16, 0.0f16, 7.0f16, -7.5f16, 100.0f16, 0.001f16] [0.5f16, 4.0f16, -3.0f16, 2.0f16, 2.0f16, -0.5f16, 3.0f16] }
-- output { [false, false, false, false, false, false, false] [true, true, true, true, true, true, true] [false, true, false, false, true, false, true] [false, true, false, false, true, false, true] [true, false, true, true, false, true, false] [true, false, true, true, false, true, false] }
-- input { [f16.nan, f16.inf, 0.0f16, 1.5f16] [f16.nan, -f16.inf, -0.0f16, 1.5f16] }
-- output { [false, false, true, true] [true, true, false, false] [false, false, false, false] [false, false, true, true] [false, true, false, false] [false, true, true, true] }
entry comparisons [n] (a: [n]f16) (b: [n]f16)
                : ([n]bool, [n]bool, [n]bool, [n]bool, [n]bool, [n]bool) =
  (map2 (==) a b, map2 (!=) a b, map2 (<) a b, map2 (<=) a b, map2 (>) a b, map2 (>=) a b)

-- ==
-- entry: classes
-- input { [f16.nan, f16.inf, -f16.inf, 0.0f16, 1.5f16] }
-- output { [true, false, false, false, false] [false, true, true, false, false] [0u16, 31744u16, 64512u16, 0u16, 15872u16] [f16.nan, f16.inf, -f16.inf, 0.0f16, 1.5f16] }
entry classes [n] (a: [n]f16) : ([n]bool, [n]bool, [n]u16, [n]f16) =
  ( map f16.isnan a
  , map f16.isinf a
  , map (\x -> if f16.isnan x then 0 else f16.to_bits x) a
  , map (\x -> f16.from_bits (f16.to_bits x)) a
  )

-- ==
-- entry: elementary
-- input { [0.25f16, 1.0f16, 2.5f16, 4.0f16, 7.75f16, 0.01f16] }
-- output { [0.5f16, 1.0f16, 1.581f16, 2.0f16, 2.783f16, 0.10004f16] [1.284f16, 2.719f16, 12.18f16, 54.6f16, 2322.0f16, 1.01f16] [-1.387f16, 0.0f16, 0.9165f16, 1.387f16, 2.047f16, -4.605f16] [0.2474f16, 0.8413f16, 0.5986f16, -0.757f16, 0.9946f16, 0.01f16] [0.9688f16, 0.5405f16, -0.8013f16, -0.654f16, 0.1038f16, 1.0f16] [1.052f16, 0.785f16, -0.4636f16, -1.107f16, -1.398f16, 1.105f16] [0.125f16, 1.0f16, 3.953f16, 8.0f16, 21.58f16, 0.001f16] }
entry elementary [n] (a: [n]f16) : ([n]f16, [n]f16, [n]f16, [n]f16, [n]f16, [n]f16, [n]f16) =
  ( map f16.sqrt a
  , map f16.exp a
  , map f16.log a
  , map f16.sin a
  , map f16.cos a
  , map f16.atan (map (2 -) a)
  , map (** 1.5) a
  )

-- ==
-- entry: summaries
-- input { [1.5f16, -2.25f16, 0.0f16, 7.0f16, -7.5f16, 100.0f16, 0.001f16] }
-- output { 98.75f16 0.0f16 1.0e+02f16 -7.5f16 f16.inf -f16.inf }
-- input { empty([0]f16) }
-- output { 0.0f16 1.0f16 -f16.inf f16.inf f16.inf -f16.inf }
entry summaries (a: []f16) : (f16, f16, f16, f16, f16, f16) =
  (f16.sum a, f16.product a, f16.maximum a, f16.minimum a, f16.highest, f16.lowest)
