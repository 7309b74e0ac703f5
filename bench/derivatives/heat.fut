-- The heat equation with a conductivity per cell through explicit steps on a square grid, and the gradient of half the
-- squared distance to a target by the temperatures at the start and the conductivities.

def step [n][m] (conductivity: [n][m]f64) (grid: [n][m]f64) : [n][m]f64 =
  tabulate_2d n m (\y x ->
    if y == 0 || y == n - 1 || x == 0 || x == m - 1 then grid[y, x]
    else let around = grid[y - 1, x] + grid[y + 1, x] + grid[y, x - 1] + grid[y, x + 1]
         in grid[y, x] + conductivity[y, x] * (around - 4 * grid[y, x]))

def distance [n][m] (steps: i32) (target: [n][m]f64) (start: [n][m]f64, conductivity: [n][m]f64) : f64 =
  let end = loop grid = start for _step < steps do step conductivity grid
  in f64.sum (flatten (map2 (map2 (\a b -> (a - b) * (a - b))) end target)) / 2

entry primal [n][m] (steps: i32) (target: [n][m]f64) (start: [n][m]f64) (conductivity: [n][m]f64) : f64 =
  distance steps target (start, conductivity)

entry derivative [n][m] (steps: i32) (target: [n][m]f64) (start: [n][m]f64) (conductivity: [n][m]f64)
  : ([n][m]f64, [n][m]f64) =
  vjp (distance steps target) (start, conductivity) 1
