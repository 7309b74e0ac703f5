-- Operations over enough elements for several chunks, which several threads
-- share.

def value (i: i64) : f64 = f64.i64 ((i * 7919) % 10007 - 5000) / f64.i64 (i % 97 + 1)

def small (i: i64) : i32 = i32.i64 ((i * 7919) % 11 - 5)

-- ==
-- entry: sums
-- input { 20000i64 }
-- output { -11915.25571013163f64 -385102341.8623848f64 4874.0f32 }
-- input { 7001i64 }
-- output { -5554.866639973024f64 4580448.749849068f64 4868.0f32 }
entry sums (n: i64) : (f64, f64, f32) =
  ( reduce (+) 0 (map value (iota n))
  , reduce (+) 0 (map (\i -> value i * value (n - i)) (iota n))
  , f32.maximum (map (\i -> f32.f64 (value i)) (iota n))
  )

-- Composition of x -> a x + b: an operator that does not commute.
-- ==
-- entry: compose
-- input { 20000i64 }
-- output { -191688043i32 -2106647361i32 }
entry compose (n: i64) : (i32, i32) =
  reduce (\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0) (map (\i -> (2 * small i + 1, small (i + 1))) (iota n))

-- ==
-- entry: running
-- input { 20000i64 [0i64, 1i64, 4999i64, 10000i64, 19999i64] }
-- output { [-5000.0f64, -3540.5f64, -4926.7225798252975f64, -14127.400468478414f64, -11915.25571013163f64] [-9i32, -99i32, 1345246421i32, -809985103i32, -191688043i32] [5i32, 59i32, 676144131i32, -260345039i32, -2106647361i32] }
entry running [k] (n: i64) (positions: [k]i64) : ([k]f64, [k]i32, [k]i32) =
  let totals = scan (+) 0 (map value (iota n))
  let (as, bs) =
    unzip (scan (\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0)
                (map (\i -> (2 * small i + 1, small (i + 1))) (iota n)))
  in (map (\p -> totals[p]) positions, map (\p -> as[p]) positions, map (\p -> bs[p]) positions)

-- The same on floats, where grouping changes bits, reduced and scanned.
-- ==
-- entry: compose_floats
-- input { 20001i64 [0i64, 15i64, 16i64, 4999i64, 16000i64, 20000i64] }
-- output { 4.5236693849527914e-05f64 2784.6442032165296f64 [-5000.0f64, -3280.2018339907386f64, -3183.5956356100833f64, 47.505986573140106f64, 4148.683049268325f64, 2784.6442032165296f64] [5.0f32, 14.881258f32, 14.866347f32, 7.547156f32, 6.53173f32, 4.549897f32] }
-- input { 300i64 [299i64] }
-- output { 0.8610071178978056f64 -5525.439927061191f64 [-5525.439927061191f64] [8.6727915f32] }
entry compose_floats [k] (n: i64) (positions: [k]i64) : (f64, f64, [k]f64, [k]f32) =
  let compose (a, b) (c, d) : (f64, f64) = (a * c, b * c + d)
  let steps = map (\i -> (0.9995 + 0.0001 * f64.i32 (small i), value i)) (iota n)
  let (a, b) = reduce compose (1, 0) steps
  let bs = (unzip (scan compose (1, 0) steps)).1
  let scale x (y: f32, z: f32) = (x * y, z)
  let cs = scan (\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0)
                (map (\i -> scale (1 + 0.001 * f32.i32 (small i)) (0.998, f32.i32 (small (i + 1)))) (iota n))
  in (a, b, map (\p -> bs[p]) positions, map (\p -> cs[p].1) positions)

-- Length, sum and last element of a filter's result.
-- ==
-- entry: kept
-- input { 20000i64 3i32 }
-- output { 5455i64 54535456i64 19999i64 }
-- input { 20000i64 6i32 }
-- output { 0i64 0i64 -1i64 }
entry kept (n: i64) (least: i32) : (i64, i64, i64) =
  let xs = filter (\i -> small i >= least) (iota n)
  in (length xs, i64.sum xs, if null xs then -1 else last xs)

-- Rows are reduced and scanned, then columns.
-- ==
-- entry: rows
-- input { 100i64 70i64 }
-- output { 216.68877119215765f64 156116.77255604917f64 -2486.1872642338985f64 }
-- input { 3i64 3000i64 }
-- output { 1134.4762356647504f64 14323.0f64 -143.17623339658445f64 }
entry rows (n: i64) (m: i64) : (f64, f64, f64) =
  let xss = tabulate_2d n m (\i j -> value (i * m + j))
  let sums = map f64.sum xss
  let lasts = map (\xs -> last (scan f64.max f64.lowest xs)) xss
  let columns = reduce (map2 (+)) (replicate m 0) xss
  in (sums[n / 2], f64.sum lasts, columns[m / 3])

-- A permutation and its inverse, and rows permuted by another.
-- ==
-- entry: moved
-- input { 10009i64 }
-- output { true 522i64 4i32 }
entry moved (n: i64) : (bool, i64, i32) =
  let positions = map (\i -> (i * 7919) % n) (iota n)
  let moved = scatter (replicate n (-1)) positions (iota n)
  let rows = scatter (replicate n [0, 0]) positions (map (\i -> [small i, 1]) (iota n))
  in (and (map2 (\p i -> moved[p] == i) positions (iota n)), moved[1], i32.sum (map (\r -> r[0] * r[1]) rows))

-- A loop around parallel operations.
-- ==
-- entry: steps
-- input { 5000i64 6i32 }
-- output { 7.680510310083891f64 }
entry steps (n: i64) (k: i32) : f64 =
  let xs =
    loop xs = map value (iota n) for _i < k do
      map (\i -> (xs[(i + n - 1) % n] + xs[i] + xs[(i + 1) % n]) / 3) (iota n)
  in xs[n / 2]
