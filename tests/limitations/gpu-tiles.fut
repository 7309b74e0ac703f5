-- run: dev FILE --stage cuda
-- prints: main_segmap
-- not: BR_SHARED

entry main [n] [m] (xs: [n]f32) (ys: [m]f32) =
  map (\x -> loop a = replicate 4 0f32 for i < m do a with [i % 4] = a[i % 4] + f32.abs (x - ys[i])) xs

entry nested [n] [m] (xs: [n]f32) (ys: [m]f32) =
  map (\x -> loop s = 0f32 for k < 3 do loop s for y in ys do s * f32.i64 k + f32.abs (x - y)) xs

entry bound [n] [m] (xs: [n]f32) (ys: [m]f32) =
  map (\x -> loop s = 0f32 for i < i64.f32 x % m do s + f32.abs (x - ys[i])) xs

entry conditional [n] [m] (xs: [n]f32) (ys: [m]f32) =
  map (\x -> loop s = 0f32 for i < m do if f32.sqrt s > x then s + 1 else s + f32.abs (x - ys[i])) xs
