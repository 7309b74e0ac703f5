-- Programs as users write them: products, layers, statistics, stencils. Measured by
-- `bench/run.py users`; their peers are in bench/peers/users.py.

def dot_f32 [k] (xs: [k]f32) (ys: [k]f32) : f32 = f32.sum (map2 (*) xs ys)

def product [n][m][k] (a: [n][k]f32) (b: [k][m]f32) : [n][m]f32 =
  map (\row -> map (dot_f32 row) (transpose b)) a

-- ==
-- entry: multiply
-- input { [[-0.25f32, -1.25f32, -2.0f32, -0.5f32], [1.25f32, 2.0f32, 1.75f32, 0.25f32], [0.0f32,
--   1.0f32, -0.25f32, 0.5f32]] [[-0.25f32, -1.25f32], [-0.75f32, -2.0f32], [1.75f32, -1.75f32],
--   [0.0f32, -0.5f32]] }
-- output { [[-2.5f32, 6.5625f32], [1.25f32, -8.75f32], [-1.1875f32, -1.8125f32]] }
-- input { [[0.5f32, -1.75f32, -1.75f32, -1.5f32, -0.5f32]] [[0.0f32], [-0.75f32], [-0.5f32],
--   [0.75f32], [0.25f32]] }
-- output { [[0.9375f32]] }
entry multiply [n][m][k] (a: [n][k]f32) (b: [k][m]f32) : [n][m]f32 = product a b

-- ==
-- entry: multiply_f64
-- input { [[-1.0f64, -0.75f64, -1.25f64, 0.25f64], [-1.5f64, 0.5f64, 1.0f64, 1.5f64], [0.0f64,
--   -2.0f64, 1.75f64, 1.0f64]] [[-0.25f64, -0.5f64], [-1.5f64, -1.0f64], [-1.75f64, -1.75f64],
--   [-0.25f64, 0.25f64]] }
-- output { [[3.5f64, 3.5f64], [-2.5f64, -1.125f64], [-0.3125f64, -0.8125f64]] }
-- input { [[-0.75f64, 1.0f64], [-0.25f64, 2.0f64]] [[0.0f64, -0.75f64], [1.0f64, 2.0f64]] }
-- output { [[1.0f64, 2.5625f64], [2.0f64, 4.1875f64]] }
entry multiply_f64 [n][m][k] (a: [n][k]f64) (b: [k][m]f64) : [n][m]f64 =
  map (\row -> map (\column -> f64.sum (map2 (*) row column)) (transpose b)) a

-- ==
-- entry: multiply_left_transposed
-- input { [[1.5f32, 0.0f32, 1.0f32], [1.75f32, 1.25f32, -1.75f32], [1.25f32, -2.0f32, -1.5f32],
--   [-0.25f32, 1.5f32, -2.0f32]] [[-1.0f32, -0.75f32], [1.5f32, -2.0f32], [0.5f32, 1.25f32],
--   [0.75f32, -1.75f32]] }
-- output { [[1.5625f32, -2.625f32], [2.0f32, -7.625f32], [-5.875f32, 4.375f32]] }
entry multiply_left_transposed [n][m][k] (a: [k][n]f32) (b: [k][m]f32) : [n][m]f32 = product (transpose a) b

-- ==
-- entry: multiply_right_transposed
-- input { [[-1.75f32, 0.25f32, -1.5f32, 2.0f32], [-2.0f32, -0.25f32, -1.5f32, -0.75f32], [-0.5f32,
--   1.5f32, 1.25f32, 1.0f32]] [[-1.75f32, -1.5f32, 1.0f32, -0.25f32], [1.5f32, -0.5f32, -1.75f32,
--   1.25f32]] }
-- output { [[0.6875f32, 2.375f32], [2.5625f32, -1.1875f32], [-0.375f32, -2.4375f32]] }
entry multiply_right_transposed [n][m][k] (a: [n][k]f32) (b: [m][k]f32) : [n][m]f32 = product a (transpose b)

-- ==
-- entry: multiply_batch
-- input { [[[-1.25f32, 0.0f32, -1.75f32, -0.25f32], [0.0f32, -0.25f32, 2.0f32, 1.0f32], [0.25f32,
--   2.0f32, -0.25f32, 0.5f32]], [[0.5f32, -0.25f32, -0.25f32, 0.5f32], [-1.75f32, 2.0f32, 0.75f32,
--   1.75f32], [-1.5f32, -1.75f32, -1.5f32, -1.0f32]]] [[[-1.25f32, 0.25f32], [2.0f32, 0.0f32],
--   [2.0f32, -0.25f32], [-0.75f32, -0.75f32]], [[2.0f32, 1.5f32], [1.75f32, 0.0f32], [-0.75f32,
--   -2.0f32], [-2.0f32, 0.25f32]]] }
-- output { [[[-1.75f32, 0.3125f32], [2.75f32, -1.25f32], [2.8125f32, -0.25f32]], [[-0.25f32,
--   1.375f32], [-4.0625f32, -3.6875f32], [-2.9375f32, 0.5f32]]] }
entry multiply_batch [p][n][m][k] (a: [p][n][k]f32) (b: [p][k][m]f32) : [p][n][m]f32 = map2 product a b

-- ==
-- entry: least_sums
-- input { [[-0.5f32, 2.0f32, -0.5f32, -0.5f32], [0.25f32, -0.5f32, 1.25f32, 1.5f32], [-0.75f32,
--   0.5f32, -1.25f32, 0.25f32]] [[1.0f32, -1.25f32], [-1.25f32, 0.25f32], [-1.25f32, -1.5f32],
--   [1.75f32, 0.25f32]] }
-- output { [[-1.75f32, -2.0f32], [-1.75f32, -1.0f32], [-2.5f32, -2.75f32]] }
entry least_sums [n][m][k] (a: [n][k]f32) (b: [k][m]f32) : [n][m]f32 =
  map (\row -> map (\column -> f32.minimum (map2 (+) row column)) (transpose b)) a

-- ==
-- entry: perceptron
-- input { [[0.25f32, 1.25f32, 1.5f32, -1.75f32], [-2.0f32, 1.25f32, -1.0f32, 1.25f32]] [[-1.25f32,
--   -1.75f32, 0.0f32], [1.5f32, -1.0f32, -2.0f32], [0.25f32, 1.75f32, -1.0f32], [-0.75f32, 0.0f32,
--   -0.75f32]] [2.0f32, -0.5f32, -1.75f32] [[-1.0f32, 2.0f32], [-1.75f32, -1.5f32], [0.25f32,
--   0.75f32]] [-1.75f32, 0.75f32] }
-- output { [[-7.765625f32, 10.59375f32], [-6.9375f32, 11.125f32]] }
entry perceptron [n][d][h][o] (x: [n][d]f32) (w1: [d][h]f32) (b1: [h]f32) (w2: [h][o]f32) (b2: [o]f32) : [n][o]f32 =
  let relu = f32.max 0
  let hidden = map (\row -> map2 (\column bias -> relu (bias + dot_f32 row column)) (transpose w1) b1) x
  in map (\row -> map2 (\column bias -> bias + dot_f32 row column) (transpose w2) b2) hidden

-- ==
-- entry: convolution
-- input { [[[-0.5f32, 1.5f32, -1.5f32, -0.5f32, 0.5f32], [-1.75f32, -1.0f32, -0.25f32, -1.75f32,
--   -0.5f32], [-2.0f32, 0.75f32, 1.25f32, -0.25f32, -0.75f32], [0.75f32, 1.25f32, -0.5f32, 1.75f32,
--   -0.25f32]], [[-2.0f32, 0.0f32, -1.5f32, 2.0f32, -1.75f32], [0.25f32, -1.5f32, 2.0f32, -1.0f32,
--   -1.5f32], [-1.25f32, 0.5f32, -1.5f32, 1.25f32, 1.5f32], [0.25f32, 1.75f32, 1.0f32, 1.25f32,
--   -0.5f32]]] [[[[1.5f32, 2.0f32, 0.0f32], [1.0f32, -1.5f32, 0.25f32], [-1.5f32, -1.5f32,
--   -0.5f32]], [[1.0f32, -2.0f32, -0.75f32], [-0.5f32, 0.0f32, -0.75f32], [-1.75f32, -0.75f32,
--   -0.25f32]]], [[[-0.5f32, 1.0f32, 1.75f32], [1.5f32, -2.0f32, 0.25f32], [0.25f32, -0.25f32,
--   1.5f32]], [[0.0f32, 1.5f32, -1.5f32], [-1.0f32, -0.75f32, -0.5f32], [0.75f32, 1.25f32,
--   1.0f32]]]] }
-- output { [[[2.875f32, -1.75f32, -4.875f32], [-8.6875f32, -15.25f32, -2.0f32]], [[-0.0625f32,
--   -10.0625f32, 10.4375f32], [-5.875f32, 7.125f32, 1.125f32]]] }
-- input { [[[1.5f32, -0.5f32, -1.0f32], [-0.75f32, 0.0f32, -1.0f32], [-1.75f32, 0.75f32, 1.75f32]]]
--   [[[[-1.25f32, 1.0f32, -0.75f32], [1.5f32, -2.0f32, -1.0f32], [0.75f32, -2.0f32, -1.75f32]]],
--   [[[-1.0f32, 1.75f32, 0.25f32], [1.75f32, -0.5f32, -1.5f32], [-1.5f32, -1.75f32, -0.5f32]]],
--   [[[-1.5f32, 0.0f32, -1.5f32], [-1.75f32, -1.0f32, 1.5f32], [1.0f32, 1.5f32, -2.0f32]]]] }
-- output { [[[-7.625f32]], [[-2.0f32]], [[-5.0625f32]]] }
entry convolution [ci][co][h][w] (image: [ci][h][w]f32) (kernel: [co][ci][3][3]f32) : [co][][]f32 =
  tabulate_3d co (h - 2) (w - 2) (\o y x ->
    f32.sum (flatten_3d (tabulate_3d ci 3 3 (\c dy dx -> image[c, y + dy, x + dx] * kernel[o, c, dy, dx]))))

def softmax [n] (xs: [n]f32) : [n]f32 =
  let greatest = f32.maximum xs
  let es = map (\x -> f32.exp (x - greatest)) xs
  let total = f32.sum es
  in map (/ total) es

-- ==
-- entry: attention
-- input { [[1.0f32], [-1.25f32]] [[-1.5f32], [0.25f32]] [[1.0f32], [-2.0f32]] }
-- output { [[-1.5558584f32], [0.69736415f32]] }
entry attention [n][d] (q: [n][d]f32) (k: [n][d]f32) (v: [n][d]f32) : [n][d]f32 =
  let scale = 1 / f32.sqrt (f32.i64 d)
  let scores = map (map (* scale)) (product q (transpose k))
  in product (map softmax scores) v

-- ==
-- entry: layer_norm
-- input { [[0.75f32, 2.0f32], [1.0f32, -1.0f32], [0.5f32, 0.5f32]] [0.5f32, -2.0f32] [0.75f32, -1.25f32] }
-- output { [[0.2500064f32, -3.2499745f32], [1.2499975f32, 0.74999f32], [0.75f32, -1.25f32]] }
entry layer_norm [n][d] (x: [n][d]f32) (gain: [d]f32) (bias: [d]f32) : [n][d]f32 =
  map (\row ->
         let mean = f32.sum row / f32.i64 d
         let variance = f32.sum (map (\a -> (a - mean) ** 2) row) / f32.i64 d
         let factor = 1 / f32.sqrt (variance + 1e-5)
         in map3 (\a g b -> (a - mean) * factor * g + b) row gain bias) x

def squared_distance [d] (x: [d]f32) (y: [d]f32) : f32 = f32.sum (map2 (\a b -> (a - b) * (a - b)) x y)

-- ==
-- entry: distances
-- input { [[-0.25f32, -2.0f32, 0.5f32, 0.75f32], [-1.0f32, 0.5f32, -0.25f32, 2.0f32], [-1.75f32,
--   -2.0f32, 1.75f32, 1.25f32]] [[-0.25f32, 0.5f32, -0.5f32, 0.5f32], [1.5f32, 1.0f32, -1.75f32,
--   -1.25f32]] }
-- output { [[2.7041636f32, 4.5961943f32], [1.6955825f32, 4.394599f32], [3.7583241f32,
--   6.1694813f32]] }
entry distances [n][m][d] (xs: [n][d]f32) (ys: [m][d]f32) : [n][m]f32 =
  map (\x -> map (\y -> f32.sqrt (squared_distance x y)) ys) xs

-- ==
-- entry: kernel_sums
-- input { [[0.0f32, 0.25f32], [0.25f32, -0.5f32], [-0.125f32, -0.25f32]] [[0.5f32, 0.25f32],
--   [0.5f32, 0.125f32], [0.0f32, 0.0f32], [0.375f32, 0.125f32]] [0.5f32, 0.25f32, -0.5f32, 1.5f32]
--   }
-- output { [1.3943936f32, 1.0599481f32, 0.9629754f32] }
entry kernel_sums [n][m][d] (xs: [n][d]f32) (ys: [m][d]f32) (weights: [m]f32) : [n]f32 =
  map (\x -> f32.sum (map2 (\y weight -> weight * f32.exp (-squared_distance x y)) ys weights)) xs

-- ==
-- entry: kmeans_step
-- input { [[0.25f32, -0.75f32], [-2.0f32, 1.0f32], [-0.25f32, 1.0f32], [-0.5f32, -1.25f32],
--   [-2.0f32, -0.75f32], [-0.25f32, -1.5f32]] [[1.75f32, -0.25f32], [0.75f32, 1.5f32], [-1.75f32,
--   1.0f32]] }
-- output { [[-0.16666667f32, -1.1666666f32], [-0.25f32, 1.0f32], [-2.0f32, 0.125f32]] [3i32, 1i32,
--   2i32] }
entry kmeans_step [n][k][d] (points: [n][d]f32) (centres: [k][d]f32) : ([k][d]f32, [k]i32) =
  let nearer (i, x) (j, y) = if x < y || (x == y && i < j) then (i, x) else (j, y)
  let nearest point = (reduce nearer (-1, f32.inf) (zip (iota k) (map (squared_distance point) centres))).0
  let members = map nearest points
  let counts = hist (+) 0 k members (replicate n 1)
  let sums = reduce_by_index (replicate k (replicate d 0f32)) (map2 (+)) (replicate d 0) members points
  in (map2 (\sum count -> map (/ f32.i32 (i32.max count 1)) sum) sums counts, counts)

-- ==
-- entry: heat
-- input { 2i32 [[-0.25f32, -1.75f32, 0.5f32, -0.75f32, 0.0f32], [0.25f32, -2.0f32, 2.0f32, 1.5f32,
--   -0.5f32], [-0.25f32, -0.25f32, -0.5f32, 0.0f32, 2.0f32], [0.5f32, 0.75f32, 1.0f32, 1.75f32,
--   -1.75f32]] }
-- output { [[-0.25f32, -1.75f32, 0.5f32, -0.75f32, 0.0f32], [0.25f32, -0.53125f32, 0.359375f32,
--   -0.046875f32, -0.5f32], [-0.25f32, 0.3125f32, 0.390625f32, 1.15625f32, 2.0f32], [0.5f32,
--   0.75f32, 1.0f32, 1.75f32, -1.75f32]] }
-- input { 0i32 [[-1.5f32, -0.5f32], [-0.75f32, 1.5f32]] }
-- output { [[-1.5f32, -0.5f32], [-0.75f32, 1.5f32]] }
-- input { 3i32 [[-1.5f32, 1.25f32, 0.25f32], [1.5f32, -1.5f32, 2.0f32], [1.0f32, -1.0f32, 0.0f32],
--   [-1.0f32, -1.5f32, -0.5f32], [-1.75f32, 2.0f32, 1.25f32]] }
-- output { [[-1.5f32, 1.25f32, 0.25f32], [1.5f32, 1.3007812f32, 2.0f32], [1.0f32, 0.515625f32,
--   0.0f32], [-1.0f32, 0.23828125f32, -0.5f32], [-1.75f32, 2.0f32, 1.25f32]] }
entry heat [n][m] (steps: i32) (grid: [n][m]f32) : [n][m]f32 =
  loop grid for _step < steps do
    tabulate_2d n m (\y x ->
      if y == 0 || y == n - 1 || x == 0 || x == m - 1 then grid[y, x]
      else 0.25 * (grid[y - 1, x] + grid[y + 1, x] + grid[y, x - 1] + grid[y, x + 1]))

-- ==
-- entry: life
-- input { 1i32 [[0u8, 1u8, 0u8, 0u8, 1u8], [0u8, 0u8, 1u8, 0u8, 0u8], [1u8, 1u8, 0u8, 0u8, 1u8],
--   [0u8, 1u8, 0u8, 0u8, 0u8]] }
-- output { [[1u8, 1u8, 1u8, 0u8, 0u8], [0u8, 0u8, 1u8, 1u8, 1u8], [1u8, 1u8, 1u8, 0u8, 0u8], [0u8,
--   1u8, 1u8, 0u8, 1u8]] }
-- input { 3i32 [[1u8, 1u8, 1u8, 1u8], [1u8, 0u8, 1u8, 1u8], [1u8, 0u8, 1u8, 0u8], [0u8, 0u8, 0u8,
--   0u8], [1u8, 0u8, 0u8, 1u8]] }
-- output { [[0u8, 0u8, 0u8, 0u8], [0u8, 0u8, 0u8, 0u8], [0u8, 1u8, 1u8, 1u8], [0u8, 1u8, 1u8, 1u8],
--   [1u8, 0u8, 0u8, 0u8]] }
entry life [n][m] (steps: i32) (world: [n][m]u8) : [n][m]u8 =
  loop world for _step < steps do
    let around = [rotate 1 world, rotate (-1) world, map (rotate 1) world, map (rotate (-1)) world,
                  rotate 1 (map (rotate 1) world), rotate 1 (map (rotate (-1)) world),
                  rotate (-1) (map (rotate 1) world), rotate (-1) (map (rotate (-1)) world)]
    let neighbours = reduce (map2 (map2 (+))) (replicate n (replicate m 0)) around
    in map2 (map2 (\alive count -> if count == 3 || (alive == 1 && count == 2) then 1 else 0)) world neighbours

-- ==
-- entry: cholesky
-- input { [[4.25f64, -2.75f64, 2.625f64], [-2.75f64, 4.125f64, -1.9375f64], [2.625f64, -1.9375f64,
--   4.125f64]] }
-- output { [[2.0615528128088303f64, 0.0f64, 0.0f64], [-1.3339459376998313f64,
--   1.5315313367000094f64, 0.0f64], [1.273312031440748f64, -0.15603375687382556f64,
--   1.5745888153115006f64]] }
-- input { [[4.0f64]] }
-- output { [[2.0f64]] }
entry cholesky [n] (a: *[n][n]f64) : [n][n]f64 =
  loop a for j < n do
    let s = f64.sqrt (a[j, j] - f64.sum (map (\k -> a[j, k] * a[j, k]) (iota j)))
    let column =
      tabulate n (\i ->
        if i < j then 0
        else if i == j then s
        else (a[i, j] - f64.sum (map (\k -> a[i, k] * a[j, k]) (iota j))) / s)
    in a with [:, j] = column
