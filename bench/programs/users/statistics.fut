-- Statistics and simulation, as users write them. Measured by `bench/run.py users`; the peers are in
-- bench/peers/users_statistics.py.

-- The generator xorshift32: its next state, a seed that is not zero, and a number from 0 to 1.
def next (state: u32) : u32 =
  let state = state ^ (state << 13)
  let state = state ^ (state >> 17)
  in state ^ (state << 5)

def seed (i: i64) : u32 = (u32.i64 i + 1) * 2654435769

def uniform (state: u32) : f32 = f32.u32 state / 4294967296

-- Pi by n random points of the unit square.
-- ==
-- entry: pi
-- input { 10i64 }
-- output { 2.8f64 }
-- input { 1000i64 }
-- output { 3.2f64 }
entry pi (n: i64) : f64 =
  let is_inside i =
    let first = next (seed i)
    let second = next first
    let (x, y) = (uniform first, uniform second)
    in x * x + y * y < 1
  in 4 * f64.i64 (i64.sum (map (\i -> i64.bool (is_inside i)) (iota n))) / f64.i64 n

-- The price of an Asian call over a year, by geometric Brownian motion and the Box-Muller transform.
-- ==
-- entry: asian_option
-- input { 8i64 3i32 }
-- output { 6.3806653f32 }
-- input { 5i64 1i32 }
-- output { 9.767902f32 }
entry asian_option (paths: i64) (steps: i32) : f32 =
  let (start, strike, rate, volatility) = (100, 100, 0.05, 0.2)
  let dt = 1 / f32.i32 steps
  let drift = (rate - volatility * volatility / 2) * dt
  let diffusion = volatility * f32.sqrt dt
  let payoff i =
    let (_, _, total) =
      loop (state, price, total) = (seed i, start, 0) for _step < steps do
        let first = next state
        let second = next first
        let radius = f32.sqrt (-2 * f32.log (uniform first))
        let normal = radius * f32.cos (2 * f32.pi * uniform second)
        let price = price * f32.exp (drift + diffusion * normal)
        in (second, price, total + price)
    in f32.max 0 (total / f32.i32 steps - strike)
  in f32.exp (-rate) * f32.sum (map payoff (iota paths)) / f32.i64 paths

-- Sums and numbers of the values with each key from 0 to k - 1.
-- ==
-- entry: group_by
-- input { 4i64 [2i32, 0i32, 2i32, 3i32, 2i32, 0i32] [1.25f64, -0.25f64, 0.25f64, -0.25f64,
--   -1.25f64, 1.5f64] }
-- output { [1.25f64, 0.0f64, 0.25f64, -0.25f64] [2i32, 0i32, 3i32, 1i32] }
-- input { 2i64 [1i32] [-0.25f64] }
-- output { [0.0f64, -0.25f64] [0i32, 1i32] }
entry group_by [n] (k: i64) (keys: [n]i32) (values: [n]f64) : ([k]f64, [k]i32) =
  let keys = map i64.i32 keys
  let sums = reduce_by_index (replicate k 0) (+) 0 keys values
  let counts = reduce_by_index (replicate k 0) (+) 0 keys (replicate n 1)
  in (sums, counts)

-- The five points that are nearest to each query, and their squared distances.
-- ==
-- entry: nearest_neighbours
-- input { [[-0.5f32, 0.0f32, -2.0f32], [0.0f32, -0.75f32, 0.0f32]] [[0.25f32, -1.75f32, 1.75f32],
--   [2.03125f32, -0.21875f32, 0.03125f32], [-1.9375f32, 0.0625f32, 2.0625f32], [-0.65625f32,
--   0.34375f32, -1.40625f32], [1.875f32, 1.625f32, -1.625f32], [1.15625f32, 1.65625f32,
--   0.65625f32], [-0.0625f32, 0.4375f32, -0.3125f32]] }
-- output { [[3i32, 6i32, 4i32, 1i32, 5i32], [6i32, 3i32, 0i32, 1i32, 5i32]] [[0.4951172f32,
--   3.2304688f32, 8.421875f32, 10.581055f32, 12.541992f32], [1.5117188f32, 3.6044922f32, 4.125f32,
--   4.4091797f32, 7.557617f32]] }
entry nearest_neighbours [q] [n] [d] (queries: [q][d]f32) (points: [n][d]f32) : ([q][5]i32, [q][5]f32) =
  let insert (best: *[5](i32, f32)) (new: (i32, f32)) : *[5](i32, f32) =
    let (best, _) =
      loop (best, (i, x)) = (best, new) for j < 5 do
        let (k, y) = copy best[j]
        in if x < y then (best with [j] = (i, x), (k, y)) else (best, (i, x))
    in best
  let nearest query =
    loop best = replicate 5 (-1, f32.inf) for i < n do
      let distance = f32.sum (map2 (\a b -> (a - b) * (a - b)) query points[i])
      in if distance < best[4].1 then insert best (i32.i64 i, distance) else best
  in unzip (map unzip (map nearest queries))

-- A Kalman filter of position and velocity for each track: the state after the last measurement. Each
-- track has measurements of its own variance.
-- ==
-- entry: kalman
-- input { [0.25f32, 1.5f32] [[1.75f32, 1.5f32, 0.75f32, -0.25f32], [2.0f32, -2.0f32, -1.25f32,
--   1.5f32]] }
-- output { [0.16374075f32, 0.028187849f32] [-0.4423266f32, 0.00017717326f32] }
-- input { [0.5f32] empty([1][0]f32) }
-- output { [0.0f32] [0.0f32] }
entry kalman [n] [steps] (variances: [n]f32) (measurements: [n][steps]f32) : ([n]f32, [n]f32) =
  let noise = 0.01
  let track variance zs =
    let (x, v, _, _, _) =
      loop (x, v, pxx, pxv, pvv) = (0, 0, 1, 0, 1) for z in zs do
        let x = x + v
        let pxx = pxx + 2 * pxv + pvv + noise
        let pxv = pxv + pvv
        let pvv = pvv + noise
        let (gain_x, gain_v) = (pxx / (pxx + variance), pxv / (pxx + variance))
        let error = z - x
        in (x + gain_x * error, v + gain_v * error, (1 - gain_x) * pxx, (1 - gain_x) * pxv, pvv - gain_v * pxv)
    in (x, v)
  in unzip (map2 track variances measurements)
