-- Graphs, as users write them. Measured by `bench/run.py users`; the peers are in
-- bench/peers/users_graphs.py.

-- PageRank of n vertices along a list of edges. Vertices without edges share their rank among all.
-- ==
-- entry: page_rank
-- input { 4i64 3i32 [0i32, 0i32, 1i32, 2i32, 2i32, 2i32] [1i32, 2i32, 2i32, 0i32, 3i32, 3i32] }
-- output { [0.19672097439236108f64, 0.19146565755208333f64, 0.32362516276041664f64,
--   0.2881882052951388f64] }
entry page_rank [m] (n: i64) (iterations: i32) (sources: [m]i32) (targets: [m]i32) : [n]f64 =
  let damping = 0.85
  let (froms, tos) = (map i64.i32 sources, map i64.i32 targets)
  let degrees = hist (+) 0 n froms (replicate m 1i64)
  in loop ranks = replicate n (1 / f64.i64 n) for _iteration < iterations do
       let shares = map2 (\rank degree -> rank / f64.i64 (i64.max 1 degree)) ranks degrees
       let dangling = f64.sum (map2 (\rank degree -> if degree == 0 then rank else 0) ranks degrees)
       let received = hist (+) 0 n tos (map (\from -> shares[from]) froms)
       let base = (1 - damping) / f64.i64 n + damping * dangling / f64.i64 n
       in map (\sum -> base + damping * sum) received

-- Shortest paths between all vertices.
-- ==
-- entry: floyd_warshall
-- input { [[0.0f32, 7.0f32, 2.0f32, 9.0f32], [1.0f32, 0.0f32, 8.0f32, 3.0f32], [6.0f32, 1.5f32,
--   0.0f32, 9.0f32], [9.0f32, 2.0f32, 4.0f32, 0.0f32]] }
-- output { [[0.0f32, 3.5f32, 2.0f32, 6.5f32], [1.0f32, 0.0f32, 3.0f32, 3.0f32], [2.5f32, 1.5f32,
--   0.0f32, 4.5f32], [3.0f32, 2.0f32, 4.0f32, 0.0f32]] }
entry floyd_warshall [n] (weights: [n][n]f32) : [n][n]f32 =
  loop d = weights for k < n do
    tabulate_2d n n (\i j -> f32.min d[i, j] (d[i, k] + d[k, j]))
