-- Signals and images, as users write them. Measured by `bench/run.py users`; the peers are in
-- bench/peers/users_signals.py.

type complex = (f32, f32)

def add (a: complex) (b: complex) : complex = (a.0 + b.0, a.1 + b.1)
def sub (a: complex) (b: complex) : complex = (a.0 - b.0, a.1 - b.1)
def mul (a: complex) (b: complex) : complex = (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)

-- Stockham's FFT of radix 2: each step makes transforms of twice the size. The length is a power of
-- two.
-- ==
-- entry: fft
-- input { [0.25f32, 2.0f32, 0.5f32, 0.5f32, -1.25f32, 1.5f32, 0.75f32, 1.0f32] [0.5f32, 0.5f32,
--   0.0f32, -0.5f32, -1.5f32, 0.75f32, -1.5f32, 1.75f32] }
-- output { [5.25f32, 1.9393399f32, -2.25f32, -2.4748738f32, -4.75f32, 4.0606604f32, -2.25f32,
--   2.4748738f32] [0.0f32, 3.6642137f32, -1.5f32, 0.33578643f32, -5.0f32, 0.83578646f32, 2.5f32,
--   3.1642137f32] }
-- input { [2.0f32, -0.25f32] [-1.0f32, -1.25f32] }
-- output { [1.75f32, 2.25f32] [-2.25f32, 0.25f32] }
-- input { [-1.25f32] [1.0f32] }
-- output { [-1.25f32] [1.0f32] }
entry fft [n] (real: [n]f32) (imaginary: [n]f32) : ([n]f32, [n]f32) =
  let half = n / 2
  let root k =
    let angle = -2 * f32.pi * f32.i64 k / f32.i64 n
    in (f32.cos angle, f32.sin angle)
  let roots = map root (iota half)
  let (result, _) =
    loop (xs, size) = (zip real imaginary, 1) while size < n do
      let element i =
        let k = i % size
        let j = i / (2 * size) * size + k
        let (a, b) = (xs[j], mul roots[k * (half / size)] xs[j + half])
        in if i % (2 * size) < size then add a b else sub a b
      in (map element (iota n), 2 * size)
  in unzip result

-- Means over a square around each pixel; pixels outside the image have the values of its edge.
-- ==
-- entry: box_blur
-- input { [[0.0f32, 0.25f32, -0.5f32], [-1.5f32, 1.0f32, -0.25f32]] }
-- output { [[-0.33f32, -0.29000002f32, -0.25f32], [-0.47f32, -0.35999998f32, -0.25f32]] }
-- input { [[-0.25f32, -1.25f32, -1.5f32, -1.0f32, 1.25f32], [1.25f32, 0.5f32, -1.0f32, 2.0f32,
--   -0.75f32], [-1.75f32, 1.0f32, 0.5f32, -0.75f32, -0.75f32], [1.0f32, 1.25f32, -1.5f32, -0.5f32,
--   -1.25f32], [-2.0f32, 0.25f32, 0.5f32, 0.75f32, 0.25f32], [0.25f32, -2.0f32, -2.0f32, -2.0f32,
--   0.75f32]] }
-- output { [[-0.44f32, -0.46f32, -0.32f32, -0.18f32, 0.0f32], [-0.19f32, -0.24f32, -0.25f32,
--   -0.26f32, -0.28f32], [-0.26f32, -0.17f32, -0.15f32, -0.13f32, -0.25f32], [-0.25f32, -0.22f32,
--   -0.24f32, -0.26f32, -0.37f32], [-0.51f32, -0.6f32, -0.52f32, -0.44f32, -0.39f32], [-0.49f32,
--   -0.71f32, -0.65f32, -0.59f32, -0.36f32]] }
entry box_blur [h] [w] (image: [h][w]f32) : [h][w]f32 =
  let radius = 2
  let side = 2 * radius + 1
  let clamp low high x = i64.max low (i64.min high x)
  let mean y x =
    let pixel dy dx = image[clamp 0 (h - 1) (y + dy - radius), clamp 0 (w - 1) (x + dx - radius)]
    in f32.sum (flatten (tabulate_2d side side pixel)) / f32.i64 (side * side)
  in tabulate_2d h w mean

def row_sums [n] [m] (rows: [n][m]f32) : [n][m]f32 = map (scan (+) 0) rows

-- The sum of all pixels above and to the left of each pixel.
-- ==
-- entry: integral_image
-- input { [[-0.75f32, -0.25f32, 2.0f32, 0.25f32], [-0.5f32, -0.25f32, -0.25f32, 1.5f32], [0.0f32,
--   1.0f32, -0.5f32, -2.0f32]] }
-- output { [[-0.75f32, -1.0f32, 1.0f32, 1.25f32], [-1.25f32, -1.75f32, 0.0f32, 1.75f32], [-1.25f32,
--   -0.75f32, 0.5f32, 0.25f32]] }
-- input { [[-1.75f32], [1.5f32], [-1.25f32], [1.25f32]] }
-- output { [[-1.75f32], [-0.25f32], [-1.5f32], [-0.25f32]] }
entry integral_image [h] [w] (image: [h][w]f32) : [h][w]f32 =
  transpose (row_sums (transpose (row_sums image)))
