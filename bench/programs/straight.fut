-- Short vectors, element by element: of up to eight there is straight code, of more a
-- combinator, which becomes a loop.
-- ==
-- entry: eight nine
-- notest random input { [2000000]f32 [2000000]f32 }

def length2 [n] (xs: [n]f32) : f32 = f32.sqrt (f32.sum (map (\x -> x * x) xs))

entry eight [n] (xs: [n]f32) (ys: [n]f32) =
  map2 (\x y -> length2 [x, y, x + y, x - y, x * y, x + 1, y + 1, x - 1]) xs ys
entry nine [n] (xs: [n]f32) (ys: [n]f32) =
  map2 (\x y -> length2 [x, y, x + y, x - y, x * y, x + 1, y + 1, x - 1, y - 1]) xs ys
