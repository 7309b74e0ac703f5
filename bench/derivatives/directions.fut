-- Derivatives in eight directions beside those in one: forward and reverse, of the heat equation through steps, of a
-- layer of a network, and of sums of exponentials.

def step [n][m] (conductivity: [n][m]f64) (grid: [n][m]f64) : [n][m]f64 =
  tabulate_2d n m (\y x ->
    if y == 0 || y == n - 1 || x == 0 || x == m - 1 then grid[y, x]
    else let around = grid[y - 1, x] + grid[y + 1, x] + grid[y, x - 1] + grid[y, x + 1]
         in grid[y, x] + conductivity[y, x] * (around - 4 * grid[y, x]))

def heat [n][m] (conductivity: [n][m]f64) (grid: [n][m]f64) : [n][m]f64 =
  loop grid for _step < 20i32 do step conductivity grid

def layer [n][k] (weights: [n][k]f64) (x: [k]f64) : [n]f64 =
  map (\row -> f64.tanh (f64.sum (map2 (*) row x))) weights

def log_sums [n][k] (table: [n][k]f64) (x: [k]f64) : [n]f64 =
  map (\row -> f64.log (f64.sum (map2 (\a b -> f64.exp (a * b)) row x))) table

entry heat_forward_primal [n][m] (conductivity: [n][m]f64) (grid: [n][m]f64) (seeds: [8][n][m]f64) : [n][m]f64 =
  jvp (heat conductivity) grid seeds[0]

entry heat_forward_derivative [n][m] (conductivity: [n][m]f64) (grid: [n][m]f64) (seeds: [8][n][m]f64) : [8][n][m]f64 =
  jmp (heat conductivity) grid seeds

entry heat_reverse_primal [n][m] (conductivity: [n][m]f64) (grid: [n][m]f64) (seeds: [8][n][m]f64) : [n][m]f64 =
  vjp (\conductivity -> heat conductivity grid) conductivity seeds[0]

entry heat_reverse_derivative [n][m] (conductivity: [n][m]f64) (grid: [n][m]f64) (seeds: [8][n][m]f64) : [8][n][m]f64 =
  mjp (\conductivity -> heat conductivity grid) conductivity seeds

entry layer_forward_primal [n][k] (weights: [n][k]f64) (x: [k]f64) (seeds: [8][k]f64) : [n]f64 =
  jvp (layer weights) x seeds[0]

entry layer_forward_derivative [n][k] (weights: [n][k]f64) (x: [k]f64) (seeds: [8][k]f64) : [8][n]f64 =
  jmp (layer weights) x seeds

entry layer_reverse_primal [n][k] (weights: [n][k]f64) (x: [k]f64) (seeds: [8][n]f64) : [k]f64 =
  vjp (layer weights) x seeds[0]

entry layer_reverse_derivative [n][k] (weights: [n][k]f64) (x: [k]f64) (seeds: [8][n]f64) : [8][k]f64 =
  mjp (layer weights) x seeds

entry log_sums_forward_primal [n][k] (table: [n][k]f64) (x: [k]f64) (seeds: [8][k]f64) : [n]f64 =
  jvp (log_sums table) x seeds[0]

entry log_sums_forward_derivative [n][k] (table: [n][k]f64) (x: [k]f64) (seeds: [8][k]f64) : [8][n]f64 =
  jmp (log_sums table) x seeds

entry log_sums_reverse_primal [n][k] (table: [n][k]f64) (x: [k]f64) (seeds: [8][n]f64) : [k]f64 =
  vjp (log_sums table) x seeds[0]

entry log_sums_reverse_derivative [n][k] (table: [n][k]f64) (x: [k]f64) (seeds: [8][n]f64) : [8][k]f64 =
  mjp (log_sums table) x seeds
