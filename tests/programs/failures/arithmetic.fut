-- Division by zero and negative exponents of integers fail; on floats they do
-- not.

-- ==
-- entry: divide
-- input { 7 0 }
-- error: division by zero
-- input { -7 2 }
-- output { -4i32 }
entry divide (a: i32) (b: i32) : i32 = a / b

-- ==
-- entry: modulo
-- input { 7i8 0i8 }
-- error: division by zero
entry modulo (a: i8) (b: i8) : i8 = a % b

-- ==
-- entry: quotient
-- input { 7i64 0i64 }
-- error: division by zero
entry quotient (a: i64) (b: i64) : i64 = a // b

-- ==
-- entry: remainder
-- input { 7u16 0u16 }
-- error: division by zero
-- input { 7u16 4u16 }
-- output { 3u16 }
entry remainder (a: u16) (b: u16) : u16 = a %% b

-- ==
-- entry: power
-- input { 2 -1 }
-- error: [Nn]egative exponent
-- input { 2 10 }
-- output { 1024i32 }
entry power (a: i32) (b: i32) : i32 = a ** b

-- Operands known at compile time.
-- ==
-- entry: folded
-- input { true }
-- error: [Nn]egative exponent
-- input { false }
-- output { 0i32 }
entry folded (b: bool) : i32 = if b then 2 ** -1 else 0

-- One failing iteration of many.
-- ==
-- entry: divide_all
-- input { [6, 7, 8] [1, 0, 2] }
-- error: division by zero
-- input { [6, 7, 8] [1, -2, 2] }
-- output { [6i32, -4i32, 4i32] }
entry divide_all [n] (a: [n]i32) (b: [n]i32) : [n]i32 = map2 (/) a b

-- In a nest, fused with a reduction and a filter.
-- ==
-- entry: nested
-- input { [[1, 2], [3, 0]] }
-- error: division by zero
-- input { [[1, 2], [3, 4]] }
-- output { 184i32 }
-- input { [[1, 2], [-3, 4], [-1, 0]] }
-- error: division by zero
entry nested (xss: [][]i32) : i32 =
  i32.sum (map (\xs -> i32.sum (map (\x -> 100 / x) xs)) xss) - 24

-- A divisor whose quotient is unused.
-- ==
-- entry: guarded
-- input { [4, 0, -5] }
-- output { [25i32, 0i32, -20i32] }
entry guarded [n] (xs: [n]i32) : [n]i32 =
  map (\x -> if x == 0 then 0 else 100 / x) xs

-- ==
-- entry: floats
-- input { 1.0 0.0 }
-- output { f64.inf }
-- input { 0.0 0.0 }
-- output { f64.nan }
entry floats (a: f64) (b: f64) : f64 = a / b
