-- A loop of maps. Fused (`--fuse on`), each element runs all iterations at once: the
-- array is read once and written once.
-- ==
-- entry: ten
-- input { [1f32, 2f32, 0f32] } output { [45.870256f32, 91.74051f32, 0f32] }
-- notest random input { [10000000]f32 }
-- entry: thousand
-- notest random input { [4000]f32 }

def map_loop [n] (k: i64) (xs: [n]f32) : [n]f32 =
  loop ys = xs for i < k do map2 (\x y -> y * 0.999 + x * f32.i64 i) xs ys

entry ten [n] (xs: [n]f32) = map_loop 10 xs
entry thousand [n] (xs: [n]f32) = map_loop 1000 xs
