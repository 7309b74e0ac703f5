-- The operator `**` on floats equals the function of that name in the float's module, bit for
-- bit.

-- ==
-- entry: same_f32
-- input { [0f32, 1f32, 2f32, 2.5f32, -1.5f32, -8f32, 1e-40f32, 3e38f32, f32.inf, -f32.inf] [0f32, 1f32, 2f32, 0.5f32, -3f32, 2.5f32, 1e-3f32, 40f32, f32.inf, -f32.inf] }
-- output { true }
entry same_f32 [n] [m] (xs: [n]f32) (ys: [m]f32) : bool =
  all (\x -> all (\y -> f32.to_bits (x ** y) == f32.to_bits (x f32.** y)) ys) xs

-- ==
-- entry: same_f64
-- input { [0f64, 1f64, 2f64, 2.5f64, -1.5f64, -8f64, 1e-310f64, 1e300f64, f64.inf, -f64.inf] [0f64, 1f64, 2f64, 0.5f64, -3f64, 2.5f64, 1e-3f64, 40f64, f64.inf, -f64.inf] }
-- output { true }
entry same_f64 [n] [m] (xs: [n]f64) (ys: [m]f64) : bool =
  all (\x -> all (\y -> f64.to_bits (x ** y) == f64.to_bits (x f64.** y)) ys) xs

-- ==
-- entry: same_f16
-- input { [0f16, 1f16, 2f16, 2.5f16, -1.5f16, -8f16, 60000f16, f16.inf] [0f16, 1f16, 2f16, 0.5f16, -3f16, 2.5f16, f16.inf] }
-- output { true }
entry same_f16 [n] [m] (xs: [n]f16) (ys: [m]f16) : bool =
  all (\x -> all (\y -> f16.to_bits (x ** y) == f16.to_bits (x f16.** y)) ys) xs

-- A square is a product, with a constant exponent or a variable one.
-- ==
-- entry: square_f32
-- input { [1.1f32, -3.7f32, 1e-3f32, 1234.567f32, 0.3333333f32] 2f32 }
-- output { true }
-- input { [1.5f32] 3f32 }
-- output { false }
entry square_f32 [n] (xs: [n]f32) (two: f32) : bool =
  all (\x -> x ** two == x * x && x ** 2 == x * x) xs

-- ==
-- entry: square_f64
-- input { [1.1f64, -3.7f64, 1e-3f64, 1234.567f64, 0.3333333f64] 2f64 }
-- output { true }
-- input { [1.5f64] 3f64 }
-- output { false }
entry square_f64 [n] (xs: [n]f64) (two: f64) : bool =
  all (\x -> x ** two == x * x && x ** 2 == x * x) xs

-- ==
-- entry: powers
-- input { [2f64, 2f64, 9f64, -2f64, 10f64, 0.5f64, 1f64] [10f64, -1f64, 0.5f64, 3f64, -3f64, 4f64, 1e9f64] }
-- output { [1024.0f64, 0.5f64, 3.0f64, -8.0f64, 0.001f64, 0.0625f64, 1.0f64] }
entry powers [n] (xs: [n]f64) (ys: [n]f64) : [n]f64 = map2 (**) xs ys
