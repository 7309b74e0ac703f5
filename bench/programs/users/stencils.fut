-- Stencils, as users write them. Measured by `bench/run.py users`; the peers are in
-- bench/peers/users_stencils.py.

-- Jacobi's method for Poisson's equation; values at the edge are given.
-- ==
-- entry: jacobi
-- input { 2i32 [[-1.5f32, -0.25f32, -1.25f32, 1.0f32, 0.5f32], [-0.75f32, -0.75f32, 2.0f32,
--   0.75f32, 1.25f32], [-0.75f32, 0.5f32, -0.75f32, -0.5f32, 0.5f32], [1.5f32, 1.0f32, -0.5f32,
--   1.0f32, -1.25f32]] [[0.5f32, -1.75f32, 1.75f32, -0.25f32, 0.0f32], [-0.75f32, 0.5f32, -1.75f32,
--   0.25f32, 0.5f32], [-1.25f32, 1.0f32, 1.5f32, -1.75f32, 2.0f32], [1.25f32, 0.5f32, -2.0f32,
--   0.5f32, 1.25f32]] }
-- output { [[0.5f32, -1.75f32, 1.75f32, -0.25f32, 0.0f32], [-0.75f32, -0.265625f32, -0.703125f32,
--   0.296875f32, 0.5f32], [-1.25f32, -0.703125f32, 0.15625f32, 0.265625f32, 2.0f32], [1.25f32,
--   0.5f32, -2.0f32, 0.5f32, 1.25f32]] }
-- input { 1i32 [[-0.25f32, 1.25f32, -2.0f32], [1.75f32, 0.5f32, 2.0f32]] [[-0.25f32, 0.25f32,
--   0.5f32], [1.25f32, 1.5f32, 1.75f32]] }
-- output { [[-0.25f32, 0.25f32, 0.5f32], [1.25f32, 1.5f32, 1.75f32]] }
entry jacobi [n] [m] (steps: i32) (right: [n][m]f32) (start: [n][m]f32) : [n][m]f32 =
  loop u = start for _step < steps do
    tabulate_2d n m (\y x ->
      if y == 0 || y == n - 1 || x == 0 || x == m - 1
      then u[y, x]
      else 0.25 * (u[y - 1, x] + u[y + 1, x] + u[y, x - 1] + u[y, x + 1] - right[y, x]))

-- The wave equation with reflecting edges, from rest.
-- ==
-- entry: wave
-- input { 3i32 [[0.75f32, 1.0f32, -0.25f32, -1.25f32], [1.25f32, 1.0f32, -1.0f32, 0.5f32],
--   [-0.75f32, 2.0f32, -1.25f32, -1.75f32], [-1.5f32, 0.25f32, 1.75f32, 1.0f32], [1.0f32, -0.5f32,
--   0.25f32, 1.0f32]] }
-- output { [[0.0f32, 0.0f32, 0.0f32, 0.0f32], [0.0f32, -1.1835938f32, 1.5742188f32, 0.0f32],
--   [0.0f32, -1.2773438f32, 0.703125f32, 0.0f32], [0.0f32, -1.1132812f32, -1.171875f32, 0.0f32],
--   [0.0f32, 0.0f32, 0.0f32, 0.0f32]] }
-- input { 0i32 [[0.75f32, -2.0f32], [-0.5f32, -1.75f32]] }
-- output { [[0.75f32, -2.0f32], [-0.5f32, -1.75f32]] }
entry wave [n] [m] (steps: i32) (start: [n][m]f32) : [n][m]f32 =
  let (_, u) =
    loop (previous, u) = (start, start) for _step < steps do
      let next =
        tabulate_2d n m (\y x ->
          if y == 0 || y == n - 1 || x == 0 || x == m - 1
          then 0
          else let laplacian = u[y - 1, x] + u[y + 1, x] + u[y, x - 1] + u[y, x + 1] - 4 * u[y, x]
               in 2 * u[y, x] - previous[y, x] + 0.25 * laplacian)
      in (u, next)
  in u

-- Diffusion in three dimensions, with seven points; values at the edge stay.
-- ==
-- entry: diffusion
-- input { 2i32 [[[0.5f32, 0.5f32, 0.5f32, 0.75f32], [1.5f32, 1.5f32, -0.25f32, -1.75f32],
--   [-1.75f32, -1.5f32, 0.25f32, -1.0f32], [1.5f32, 1.25f32, 2.0f32, -1.75f32]], [[-1.25f32,
--   1.25f32, -2.0f32, 2.0f32], [-1.75f32, 1.75f32, 0.0f32, 0.75f32], [-1.75f32, 1.75f32, -2.0f32,
--   -0.25f32], [1.0f32, 0.5f32, 1.25f32, 0.75f32]], [[0.5f32, 0.0f32, -0.25f32, 1.75f32], [-2.0f32,
--   0.25f32, 1.5f32, 1.25f32], [1.75f32, -1.25f32, 2.0f32, -0.75f32], [0.5f32, 2.0f32, 1.5f32,
--   1.5f32]]] }
-- output { [[[0.5f32, 0.5f32, 0.5f32, 0.75f32], [1.5f32, 1.5f32, -0.25f32, -1.75f32], [-1.75f32,
--   -1.5f32, 0.25f32, -1.0f32], [1.5f32, 1.25f32, 2.0f32, -1.75f32]], [[-1.25f32, 1.25f32, -2.0f32,
--   2.0f32], [-1.75f32, 0.55f32, 0.060000006f32, 0.75f32], [-1.75f32, -0.22000003f32,
--   0.22999999f32, -0.25f32], [1.0f32, 0.5f32, 1.25f32, 0.75f32]], [[0.5f32, 0.0f32, -0.25f32,
--   1.75f32], [-2.0f32, 0.25f32, 1.5f32, 1.25f32], [1.75f32, -1.25f32, 2.0f32, -0.75f32], [0.5f32,
--   2.0f32, 1.5f32, 1.5f32]]] }
entry diffusion [l] [n] [m] (steps: i32) (start: [l][n][m]f32) : [l][n][m]f32 =
  loop u = start for _step < steps do
    tabulate_3d l n m (\z y x ->
      if z == 0 || z == l - 1 || y == 0 || y == n - 1 || x == 0 || x == m - 1
      then u[z, y, x]
      else let around = u[z - 1, y, x] + u[z + 1, y, x] + u[z, y - 1, x] + u[z, y + 1, x]
                        + u[z, y, x - 1] + u[z, y, x + 1]
           in 0.4 * u[z, y, x] + 0.1 * around)
