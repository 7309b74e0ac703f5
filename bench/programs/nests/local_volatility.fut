-- Call options under a local volatility model, one per strike, by finite differences:
-- the Crank-Nicolson scheme with alternating directions, backwards in time. The shape
-- is LocVolCalib's (Henriksen, Thorøe, Elsman and Oancea, "Incremental Flattening for
-- Nested Data Parallelism", §5.2): a map over strikes, a loop over time, maps over rows
-- and columns, and three scans that solve a tridiagonal system.

-- The coefficients of the previous, the current and the next grid point.
type stencil = (f32, f32, f32)

def plus (a: stencil) (b: stencil) : stencil = (a.0 + b.0, a.1 + b.1, a.2 + b.2)

def times (c: f32) (a: stencil) : stencil = (c * a.0, c * a.1, c * a.2)

-- First and second derivatives on a grid; one-sided differences at its ends.
def derivatives [n] (grid: [n]f32) : [n](stencil, stencil) =
  tabulate n (\i ->
                if i == 0
                then let h = grid[1] - grid[0] in ((0, -1 / h, 1 / h), (0, 0, 0))
                else if i == n - 1
                then let h = grid[i] - grid[i - 1] in ((-1 / h, 1 / h, 0), (0, 0, 0))
                else let l = grid[i] - grid[i - 1]
                     let r = grid[i + 1] - grid[i]
                     in ( (-r / l / (l + r), (r / l - l / r) / (l + r), l / r / (l + r))
                        , (2 / l / (l + r), -2 * (1 / l + 1 / r) / (l + r), 2 / r / (l + r))
                        ))

-- A stencil at each point of a row; points outside have weight zero.
def apply_stencils [n] (stencils: [n]stencil) (row: [n]f32) : [n]f32 =
  map2 (\i (before, at, after) ->
          at * row[i]
          + (if i > 0 then before * row[i - 1] else 0)
          + (if i < n - 1 then after * row[i + 1] else 0))
       (iota n)
       stencils

-- All prefixes of x = p + q * x', starting with the first.
def linear_recurrence [n] (steps: [n](f32, f32)) (first: f32) : [n]f32 =
  map (\(p, q) -> p + q * first)
      (scan (\(p, q) (r, s) -> (r + s * p, s * q)) (0, 1) steps)

-- The solution of a tridiagonal system by three recurrences, each a scan: quotients of
-- linear functions for the diagonal, linear functions for the other two.
def tridag [n] (rows: [n]stencil) (y: [n]f32) : [n]f32 =
  let first = rows[0].1
  let fractions =
    tabulate n (\i ->
                  if i == 0
                  then (0, 0, 1)
                  else let (a, b, _) = rows[i]
                       in (-a * rows[i - 1].2 / b, 1 / b, 0))
  let composed =
    scan (\(a, b, c) (a', b', c') ->
            let scale = 1 / (1 + a' * b)
            in (scale * (a + a' * c), scale * (b' + c' * b), scale * (b' * a + c' * c)))
         (0, 0, 1)
         fractions
  let pivots = map (\(p, q, r) -> (first + p) / (q * first + r)) composed
  let lower =
    tabulate n (\i -> if i == 0 then (0, 1) else (y[i], -rows[i].0 / pivots[i - 1]))
  let forward = linear_recurrence lower y[0]
  let upper =
    tabulate n (\k ->
                  let i = n - 1 - k
                  in if k == 0 then (0, 1) else (forward[i] / pivots[i], -rows[i].2 / pivots[i]))
  in reverse (linear_recurrence upper (forward[n - 1] / pivots[n - 1]))

-- The implicit half of a step: `rate` on the diagonal minus half of the operator.
def implicit [n] (rate: f32) (operator: [n]stencil) (row: [n]f32) : [n]f32 =
  tridag (map (plus (0, rate, 0) <-< times (-0.5)) operator) row

def price (nx: i64) (ny: i64) (nt: i64)
          (s0: f32) (t: f32) (alpha: f32) (nu: f32) (beta: f32)
          (strike: f32) : f32 =
  let hx = 20 * alpha * s0 * f32.sqrt t / f32.i64 nx
  let hy = 10 * nu * f32.sqrt t / f32.i64 ny
  let (x0, y0) = (i64.f32 (s0 / hx), ny / 2)
  let xs = tabulate nx (\i -> f32.i64 i * hx - f32.i64 x0 * hx + s0)
  let ys = tabulate ny (\i -> f32.i64 i * hy - f32.i64 y0 * hy + f32.log alpha)
  let (dxs, dys) = (derivatives xs, derivatives ys)
  let time (k: i64) : f32 = t * f32.i64 k / (f32.i64 nt - 1)
  -- Along y the variance is nu squared, without drift.
  let along_y = map (\(_, dd) -> times (0.5 * nu * nu) dd) dys
  let payoff = replicate ny (map (\x -> f32.max (x - strike) 0) xs)
  let values =
    loop values = payoff for step < nt - 1 do
      let now = time (nt - 2 - step)
      let rate = 1 / (time (nt - 1 - step) - now)
      let along_x =
        map (\y ->
               map2 (\x (_, dd) ->
                       let variance = f32.exp (2 * (beta * f32.log x + y - 0.5 * nu * nu * now))
                       in times (0.5 * variance) dd)
                    xs
                    dxs)
            ys
      let from_x =
        map2 (\operator row ->
                map2 (\d v -> rate * v + 0.5 * d) (apply_stencils operator row) row)
             along_x
             values
      let from_y = map (apply_stencils along_y) (transpose values)
      let both = map2 (map2 (+)) from_x (transpose from_y)
      let half = map2 (implicit rate) along_x both
      let rest = map2 (map2 (\u v -> rate * u - 0.5 * v)) (transpose half) from_y
      in transpose (map (implicit rate along_y) rest)
  in values[y0, x0]

-- Arguments: numbers of strikes, of grid points, and of points in time; today's price,
-- time to maturity, and the parameters of the model.
-- ==
-- entry: main
-- input { 2i32 6i32 8i32 4i32 0.03f32 5.0f32 0.2f32 0.6f32 0.5f32 }
-- output { [0.030000f32, 0.029000f32] }
entry main (strikes: i32) (nx: i32) (ny: i32) (nt: i32)
           (s0: f32) (t: f32) (alpha: f32) (nu: f32) (beta: f32) : []f32 =
  let (nx, ny, nt) = (i64.i32 nx, i64.i32 ny, i64.i32 nt)
  in map (\k -> price nx ny nt s0 t alpha nu beta (0.001 * f32.i64 k))
         (iota (i64.i32 strikes))
