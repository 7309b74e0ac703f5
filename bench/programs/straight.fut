-- Repeated operations on a short array per element: up to eight elements become
-- straight-line code, more become a combinator, which is a loop.
-- ==
-- entry: eight
-- input { [1f32] [2f32] }
-- output { [6.863739e+09f32] }
-- notest random input { [1000000]f32 [1000000]f32 }
-- entry: nine
-- input { [1f32] [2f32] }
-- output { [6.9735706e+09f32] }
-- notest random input { [1000000]f32 [1000000]f32 }

def norm [n] (xs: [n]f32) : f32 = f32.sqrt (f32.sum (map (\x -> x * x) xs))

entry eight [n] (xs: [n]f32) (ys: [n]f32) =
  map2 (\x y -> loop x for _i < 20i64 do norm [x, y, x + y, x - y, x * y, x + 1, y + 1, x - 1]) xs ys
entry nine [n] (xs: [n]f32) (ys: [n]f32) =
  map2 (\x y -> loop x for _i < 20i64 do norm [x, y, x + y, x - y, x * y, x + 1, y + 1, x - 1, y - 1]) xs ys
