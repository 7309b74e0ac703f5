-- The Mandelbrot set by a while loop, as iteration counts and as a picture.

-- The number of steps of z -> z^2 + c within a radius of 2, at most `limit`.
def escape (limit: i32) (cr: f64) (ci: f64) : i32 =
  let (_, _, i) =
    loop (re, im, i) = (0, 0, 0) while i < limit && re * re + im * im <= 4 do
      (re * re - im * im + cr, 2 * re * im + ci, i + 1)
  in i

-- The rectangle from (left, bottom) to (right, top), top row first.
-- ==
-- entry: counts
-- input { 5i64 7i64 40i32 -2.03 0.71 -1.11 1.13 }
-- output { [[1i32, 2i32, 3i32, 3i32, 3i32, 5i32, 2i32], [1i32, 3i32, 3i32, 4i32, 8i32, 40i32, 7i32], [1i32, 4i32, 9i32, 40i32, 40i32, 40i32, 40i32], [1i32, 4i32, 11i32, 40i32, 40i32, 40i32, 40i32], [1i32, 3i32, 3i32, 4i32, 9i32, 40i32, 8i32]] }
-- input { 1i64 1i64 9i32 0.3 0.4 0.5 0.6 }
-- output { [[9i32]] }
-- input { 3i64 4i64 25i32 -0.77 -0.71 0.09 0.12 }
-- output { [[25i32, 25i32, 25i32, 25i32], [25i32, 25i32, 25i32, 25i32], [25i32, 25i32, 25i32, 25i32]] }
-- input { 0i64 3i64 5i32 0.0 1.0 0.0 1.0 }
-- output { empty([0][3]i32) }
entry counts (h: i64) (w: i64) (limit: i32) (left: f64) (right: f64) (bottom: f64) (top: f64)
           : [h][w]i32 =
  tabulate_2d h w (\y x ->
    let cr = left + (right - left) * f64.i64 x / f64.i64 w
    let ci = top - (top - bottom) * f64.i64 y / f64.i64 h
    in escape limit cr ci)

-- Points of the set are black, others have warmer colours for more steps.
def colour (limit: i32) (count: i32) : [3]u8 =
  if count >= limit
  then [0, 0, 0]
  else let level = (255 * count) / limit
       in [u8.i32 level, u8.i32 (level / 2), u8.i32 (255 - level)]

-- ==
-- entry: image
-- input { 3i64 4i64 20i32 }
-- output { [[[12u8, 6u8, 243u8], [25u8, 12u8, 230u8], [38u8, 19u8, 217u8], [38u8, 19u8, 217u8]], [[12u8, 6u8, 243u8], [63u8, 31u8, 192u8], [178u8, 89u8, 77u8], [0u8, 0u8, 0u8]], [[12u8, 6u8, 243u8], [63u8, 31u8, 192u8], [191u8, 95u8, 64u8], [0u8, 0u8, 0u8]]] }
-- input { 1i64 2i64 255i32 }
-- output { [[[1u8, 0u8, 254u8], [3u8, 1u8, 252u8]]] }
entry image (h: i64) (w: i64) (limit: i32) : [h][w][3]u8 =
  map (map (colour limit)) (counts h w limit (-2.07) 0.73 (-1.17) 1.19)
