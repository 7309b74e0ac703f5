-- Stencils: Jacobi's method on a plate and on a rod, the game of life.

-- Each inner point becomes the mean of its four neighbours; the boundary stays.
-- ==
-- entry: jacobi
-- input { 0i32 [[1.0, 2.0], [3.0, 4.0]] }
-- output { [[1.0f64, 2.0f64], [3.0f64, 4.0f64]] }
-- input { 1i32 [[1.0, 1.0, 1.0], [0.0, 0.0, 2.0], [0.0, 4.0, 0.0]] }
-- output { [[1.0f64, 1.0f64, 1.0f64], [0.0f64, 1.75f64, 2.0f64], [0.0f64, 4.0f64, 0.0f64]] }
-- input { 5i32 [[8.0, 8.0, 8.0, 8.0, 8.0], [0.0, 0.0, 0.0, 0.0, -8.0], [0.0, 1.0, 0.0, 0.0, -8.0], [0.0, 0.0, 0.0, 0.0, 4.0]] }
-- output { [[8.0f64, 8.0f64, 8.0f64, 8.0f64, 8.0f64], [0.0f64, 2.9033203125f64, 2.8203125f64, 0.23828125f64, -8.0f64], [0.0f64, 0.78125f64, 0.4345703125f64, -1.8828125f64, -8.0f64], [0.0f64, 0.0f64, 0.0f64, 0.0f64, 4.0f64]] }
entry jacobi [n] [m] (steps: i32) (grid: [n][m]f64) : [n][m]f64 =
  loop grid for _i < steps do
    tabulate_2d n m (\i j ->
      if i == 0 || i == n - 1 || j == 0 || j == m - 1
      then grid[i, j]
      else 0.25 * (grid[i - 1, j] + grid[i + 1, j] + grid[i, j - 1] + grid[i, j + 1]))

-- The same on a rod, until no point changes by more than `tolerance`; also returns the number of
-- steps.
-- ==
-- entry: relax
-- input { 0.01f32 [0f32, 0f32, 0f32, 8f32] }
-- output { 10i32 [0.0f32, 2.6640625f32, 5.328125f32, 8.0f32] }
-- input { 0.5f32 [1f32] }
-- output { 1i32 [1.0f32] }
-- input { 0.25f32 [4f32, -4f32, 16f32, 0f32, 2f32] }
-- output { 14i32 [4.0f32, 3.4609375f32, 3.1015625f32, 2.4609375f32, 2.0f32] }
entry relax [n] (tolerance: f32) (rod: [n]f32) : (i32, [n]f32) =
  let step (rod: [n]f32) =
    map (\i -> if i == 0 || i == n - 1 then rod[i] else 0.5 * (rod[i - 1] + rod[i + 1])) (iota n)
  let (count, rod, _) =
    loop (count, rod, change) = (0, rod, f32.inf) while change > tolerance do
      let next = step rod
      in (count + 1, next, f32.maximum (map2 (\a b -> f32.abs (a - b)) rod next))
  in (count, rod)

-- One generation on a torus: neighbours by rotation.
def generation [n] [m] (world: [n][m]i8) : [n][m]i8 =
  let left = map (rotate 1) world
  let right = map (rotate (-1)) world
  let rows = map3 (map3 (\a b c -> a + b + c)) left world right
  let all = map3 (map3 (\a b c -> a + b + c)) (rotate 1 rows) rows (rotate (-1) rows)
  in map2 (map2 (\cell sum -> i8.bool (sum == 3 || (sum == 4 && cell == 1)))) world all

-- ==
-- entry: life
-- input { 0i32 [[1i8, 0i8], [0i8, 1i8]] }
-- output { [[1i8, 0i8], [0i8, 1i8]] }
-- input { 1i32 [[0i8, 0i8, 0i8, 0i8, 0i8], [0i8, 0i8, 1i8, 0i8, 0i8], [0i8, 0i8, 1i8, 0i8, 0i8], [0i8, 0i8, 1i8, 0i8, 0i8], [0i8, 0i8, 0i8, 0i8, 0i8]] }
-- output { [[0i8, 0i8, 0i8, 0i8, 0i8], [0i8, 0i8, 0i8, 0i8, 0i8], [0i8, 1i8, 1i8, 1i8, 0i8], [0i8, 0i8, 0i8, 0i8, 0i8], [0i8, 0i8, 0i8, 0i8, 0i8]] }
-- input { 7i32 [[0i8, 1i8, 0i8, 0i8, 0i8, 0i8], [0i8, 0i8, 1i8, 0i8, 0i8, 0i8], [1i8, 1i8, 1i8, 0i8, 0i8, 0i8], [0i8, 0i8, 0i8, 0i8, 0i8, 0i8], [0i8, 0i8, 0i8, 0i8, 0i8, 0i8]] }
-- output { [[0i8, 0i8, 0i8, 0i8, 0i8, 0i8], [0i8, 0i8, 0i8, 0i8, 0i8, 0i8], [0i8, 0i8, 1i8, 0i8, 0i8, 0i8], [0i8, 0i8, 0i8, 1i8, 1i8, 0i8], [0i8, 0i8, 1i8, 1i8, 0i8, 0i8]] }
entry life [n] [m] (steps: i32) (world: [n][m]i8) : [n][m]i8 =
  iterate steps generation world
