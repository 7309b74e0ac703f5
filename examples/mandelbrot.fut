-- A picture of the Mandelbrot set.
--
--   echo 1080i64 1920i64 1000 | bindrune run examples/mandelbrot.fut -b > picture
--
-- A point c of the plane belongs to the set if z -> z * z + c, begun at 0, stays
-- near 0 for ever.  All pixels are computed in parallel; each by its own
-- loop, which ends as soon as z is far from 0.

-- Futhark has records ...
type complex = {re: f64, im: f64}

-- ... and functions on them; this costs nothing, as records exist only until
-- the compiler is done.
def add (a: complex) (b: complex) : complex =
  {re = a.re + b.re, im = a.im + b.im}

def square (a: complex) : complex =
  {re = a.re * a.re - a.im * a.im, im = 2 * a.re * a.im}

def norm2 (a: complex) : f64 = a.re * a.re + a.im * a.im

-- How many steps z stays within distance 2, and where it is then.  A `loop`
-- is sequential: `z` and `i` start with the values after `=` and have those
-- after `do` in the next iteration.
def escape (limit: i32) (c: complex) : (i32, complex) =
  loop (i, z) = (0, c) while i < limit && norm2 z <= 4 do
    (i + 1, add (square z) c)

-- Black inside; outside, bands of colour that repeat every 32 steps.
def colour (limit: i32) (steps: i32) : [3]u8 =
  if steps >= limit
  then [0, 0, 0]
  else let phase = steps % 32
       let ramp = if phase < 16 then phase else 31 - phase
       in [u8.i32 (16 * ramp), u8.i32 (40 + 12 * ramp), u8.i32 (96 + 10 * ramp)]

-- The part of the plane around (-0.5, 0), 2.5 high; its width follows from the
-- picture's shape.
def steps (h: i64) (w: i64) (limit: i32) (y: i64) (x: i64) : i32 =
  let scale = 2.5 / f64.i64 h
  let c = { re = (f64.i64 x - f64.i64 w / 2) * scale - 0.5
          , im = (f64.i64 h / 2 - f64.i64 y) * scale }
  in (escape limit c).0

-- Height, width and largest number of steps in; rows of pixels of three bytes
-- (red, green, blue) out.
-- ==
-- entry: main
-- input { 3i64 5i64 50 }
-- output { [[[0u8, 40u8, 96u8], [0u8, 40u8, 96u8], [32u8, 64u8, 116u8], [32u8, 64u8, 116u8], [16u8, 52u8, 106u8]], [[0u8, 40u8, 96u8], [32u8, 64u8, 116u8], [96u8, 112u8, 156u8], [0u8, 0u8, 0u8], [32u8, 64u8, 116u8]], [[0u8, 40u8, 96u8], [32u8, 64u8, 116u8], [96u8, 112u8, 156u8], [0u8, 0u8, 0u8], [32u8, 64u8, 116u8]]] }
-- input { 1i64 1i64 10 }
-- output { [[[0u8, 40u8, 96u8]]] }
entry main (h: i64) (w: i64) (limit: i32) : [h][w][3]u8 =
  tabulate_2d h w (\y x -> colour limit (steps h w limit y x))

-- The share of the picture that is black: one number to compare results by.
-- ==
-- entry: black
-- input { 21i64 31i64 100 }
-- output { 0.1597542242703533f64 }
entry black (h: i64) (w: i64) (limit: i32) : f64 =
  let inside y x = f64.bool (steps h w limit y x >= limit)
  in f64.sum (flatten (tabulate_2d h w inside)) / f64.i64 (h * w)
