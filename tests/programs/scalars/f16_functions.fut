-- The rarer functions of type f16.  (Made by tests/oracle/make_scalars.py.)

-- ==
-- entry: logarithms
-- input { [0.25f16, 1.0f16, 2.5f16, 4.0f16, 7.75f16, 0.01f16] }
-- output { [-2.0f16, 0.0f16, 1.322f16, 2.0f16, 2.955f16, -6.645f16] [-0.602f16, 0.0f16, 0.398f16, 0.602f16, 0.889f16, -2.0f16] [0.2231f16, 0.6934f16, 1.253f16, 1.609f16, 2.17f16, 0.00995f16] }
entry logarithms [n] (a: [n]f16) : ([n]f16, [n]f16, [n]f16) =
  (map f16.log2 a, map f16.log10 a, map f16.log1p a)

-- ==
-- entry: roots
-- input { [0.25f16, 1.0f16, 2.5f16, 4.0f16, 7.75f16, 0.01f16] }
-- output { [2.0f16, 1.0f16, 0.6323f16, 0.5f16, 0.3591f16, 1.0e+01f16] [0.63f16, 1.0f16, 1.357f16, 1.587f16, 1.979f16, 0.2155f16] [4.0f16, 1.0f16, 0.4f16, 0.25f16, 0.129f16, 1.0e+02f16] [0.2502f16, 7.812f16, 4.72f16, 4.72f16, 7.812f16, 0.2502f16] }
entry roots [n] (a: [n]f16) : ([n]f16, [n]f16, [n]f16, [n]f16) =
  (map f16.rsqrt a, map f16.cbrt a, map f16.recip a, map2 f16.hypot a (reverse a))

-- ==
-- entry: trigonometry
-- input { [0.25f16, -0.5f16, 0.875f16, 0.0625f16, -0.9375f16] }
-- output { [0.2554f16, -0.5464f16, 1.197f16, 0.06256f16, -1.362f16] [0.2527f16, -0.5234f16, 1.065f16, 0.06256f16, -1.216f16] [1.318f16, 2.094f16, 0.5054f16, 1.508f16, 2.787f16] [2.88f16, -1.446f16, 0.785f16, 3.018f16, -1.311f16] [0.245f16, -0.4636f16, 0.7188f16, 0.0624f16, -0.753f16] }
entry trigonometry [n] (a: [n]f16) : ([n]f16, [n]f16, [n]f16, [n]f16, [n]f16) =
  ( map f16.tan a
  , map f16.asin a
  , map f16.acos a
  , map2 f16.atan2 a (reverse a)
  , map f16.atan a
  )

-- Arguments or results in half turns.
-- ==
-- entry: half_turns
-- input { [0.25f16, -0.5f16, 0.875f16, 0.0625f16, -0.9375f16] }
-- output { [0.707f16, -1.0f16, 0.3826f16, 0.1951f16, -0.1951f16] [0.707f16, 0.0f16, -0.924f16, 0.981f16, -0.981f16] [0.268f16, -0.577f16, 1.304f16, 0.06555f16, -1.497f16] [0.08044f16, -0.1666f16, 0.339f16, 0.01991f16, -0.387f16] [0.4197f16, 0.6665f16, 0.1609f16, 0.48f16, 0.8867f16] [0.078f16, -0.1476f16, 0.2288f16, 0.01987f16, -0.2397f16] [0.917f16, -0.4604f16, 0.25f16, 0.9604f16, -0.417f16] }
entry half_turns [n] (a: [n]f16)
               : ([n]f16, [n]f16, [n]f16, [n]f16, [n]f16, [n]f16, [n]f16) =
  ( map f16.sinpi a
  , map f16.cospi a
  , map (\x -> f16.tanpi (x / 3)) a
  , map f16.asinpi a
  , map f16.acospi a
  , map f16.atanpi a
  , map2 f16.atan2pi a (reverse a)
  )

-- ==
-- entry: hyperbolic
-- input { [0.25f16, -0.5f16, 0.875f16, 0.0625f16, -0.9375f16] }
-- output { [0.2527f16, -0.521f16, 0.991f16, 0.06256f16, -1.081f16] [1.031f16, 1.128f16, 1.408f16, 1.002f16, 1.473f16] [0.2449f16, -0.4622f16, 0.704f16, 0.0624f16, -0.734f16] [0.2474f16, -0.4812f16, 0.79f16, 0.06247f16, -0.8364f16] [1.848f16, 1.566f16, 2.031f16, 1.784f16, 1.353f16] [0.2554f16, -0.5493f16, 1.3545f16, 0.06256f16, -1.717f16] }
entry hyperbolic [n] (a: [n]f16) : ([n]f16, [n]f16, [n]f16, [n]f16, [n]f16, [n]f16) =
  ( map f16.sinh a
  , map f16.cosh a
  , map f16.tanh a
  , map f16.asinh a
  , map (\x -> f16.acosh (x + 3)) a
  , map f16.atanh a
  )

-- ==
-- entry: special
-- input { [0.25f16, 1.0f16, 2.5f16, 4.0f16, 7.75f16, 0.01f16] }
-- output { [3.625f16, 1.0f16, 1.329f16, 6.0f16, 3058.0f16, 99.44f16] [1.288f16, 0.0f16, 0.2847f16, 1.792f16, 8.02f16, 4.598f16] [0.2764f16, 0.843f16, 0.9995f16, 1.0f16, 1.0f16, 0.011284f16] [0.7236f16, 0.1573f16, 0.000407f16, 0.0f16, 0.0f16, 0.989f16] }
entry special [n] (a: [n]f16) : ([n]f16, [n]f16, [n]f16, [n]f16) =
  (map f16.gamma a, map f16.lgamma a, map f16.erf a, map f16.erfc a)

-- ==
-- entry: combined
-- input { [0.25f16, -0.5f16, 0.875f16, 0.0625f16, -0.9375f16] }
-- output { [-0.875f16, 0.3125f16, 1.641f16, -0.496f16, 1.129f16] [-0.875f16, 0.3125f16, 1.641f16, -0.496f16, 1.129f16] [-0.04688f16, -0.2188f16, 0.875f16, 0.02734f16, 0.1758f16] [-0.25f16, 0.5f16, 0.875f16, -0.0625f16, 0.9375f16] [2.0f16, -4.0f16, 7.0f16, 0.5f16, -7.5f16] }
entry combined [n] (a: [n]f16) : ([n]f16, [n]f16, [n]f16, [n]f16, [n]f16) =
  ( map3 f16.fma a a (reverse a)
  , map3 f16.mad a a (reverse a)
  , map3 f16.lerp a (reverse a) (map f16.abs a)
  , map2 f16.copysign a (reverse a)
  , map (\x -> f16.ldexp x 3) a
  )
