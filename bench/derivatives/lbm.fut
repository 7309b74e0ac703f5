-- The lattice Boltzmann method with nine velocities in the plane and one relaxation time (Bhatnagar, Gross and Krook
-- 1954; Qian, d'Humieres and Lallemand 1992) on a torus, and the gradient of the kinetic energy at the end by the
-- densities at the start and the relaxation rates of the cells.

def weights : [9]f64 = [4/9, 1/9, 1/9, 1/9, 1/9, 1/36, 1/36, 1/36, 1/36]
def right : [9]i64 = [0, 1, 0, -1, 0, 1, -1, -1, 1]
def down : [9]i64 = [0, 0, 1, 0, -1, 1, 1, -1, -1]

-- Mass and momentum of a cell.
def moments (f: [9]f64) : (f64, f64, f64) =
  let mass = f[0] + f[1] + f[2] + f[3] + f[4] + f[5] + f[6] + f[7] + f[8]
  in (mass, f[1] - f[3] + f[5] - f[6] - f[7] + f[8], f[2] - f[4] + f[5] + f[6] - f[7] - f[8])

def collide (rate: f64) (f: [9]f64) : [9]f64 =
  let (mass, px, py) = moments f
  let (ux, uy) = (px / mass, py / mass)
  let square = 1.5 * (ux * ux + uy * uy)
  let relaxed i =
    let along = 3 * (f64.i64 right[i] * ux + f64.i64 down[i] * uy)
    let equilibrium = weights[i] * mass * (1 + along + along * along / 2 - square)
    in f[i] + rate * (equilibrium - f[i])
  in tabulate 9 relaxed

def stream [h][w] (cells: [h][w][9]f64) : [h][w][9]f64 =
  tabulate_3d h w 9 (\y x i -> cells[(y + h - down[i]) % h, (x + w - right[i]) % w, i])

def energy [h][w] (steps: i32) (cells: [h][w][9]f64, rates: [h][w]f64) : f64 =
  let end = loop cells = cells for _step < steps do stream (map2 (map2 collide) rates cells)
  let of_cell f = let (mass, px, py) = moments f in (px * px + py * py) / (2 * mass)
  in f64.sum (flatten (map (map of_cell) end))

entry primal [h][w] (steps: i32) (cells: [h][w][9]f64) (rates: [h][w]f64) : f64 = energy steps (cells, rates)

entry derivative [h][w] (steps: i32) (cells: [h][w][9]f64) (rates: [h][w]f64) : ([h][w][9]f64, [h][w]f64) =
  vjp (energy steps) (cells, rates) 1
