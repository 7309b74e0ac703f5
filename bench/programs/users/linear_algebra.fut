-- Linear algebra, as users write it. Measured by `bench/run.py users`; the peers are in
-- bench/peers/users_linear_algebra.py.

-- The inverse by Gauss-Jordan elimination with partial pivoting of the matrix beside the identity.
-- ==
-- entry: gauss_jordan
-- input { [[0.0f64, 2.0f64, 1.0f64], [1.0f64, -1.0f64, 0.0f64], [3.0f64, 0.0f64, -2.5f64]] }
-- output { [[0.3125f64, 0.625f64, 0.125f64], [0.3125f64, -0.375f64, 0.125f64], [0.375f64, 0.75f64,
--   -0.25f64]] }
-- input { [[4.0f64]] }
-- output { [[0.25f64]] }
entry gauss_jordan [n] (a: [n][n]f64) : [n][n]f64 =
  let width = n + n
  let identity = tabulate_2d n n (\i j -> f64.bool (i == j))
  let start = map2 (\left right -> left ++ right :> [width]f64) a identity
  let larger (i, x) (j, y) = if x > y || (x == y && i < j) then (i, x) else (j, y)
  let reduced =
    loop rows = start for k < n do
      let candidates = map (\i -> (i, if i < k then -1 else f64.abs rows[i, k])) (iota n)
      let (pivot, _) = reduce larger (n, -1) candidates
      let pivot_row = map (/ rows[pivot, k]) rows[pivot]
      in tabulate n (\i ->
           let row = if i == pivot then rows[k] else rows[i]
           in if i == k
              then pivot_row
              else map2 (\x p -> x - row[k] * p) row pivot_row)
  in map (\row -> row[n:] :> [n]f64) reduced

-- Thomas's algorithm: elimination along the diagonal, and substitution backwards.
def thomas [n] (lower: [n]f64) (diagonal: [n]f64) (upper: [n]f64) (right: [n]f64) : [n]f64 =
  let (cs, ds) =
    loop (cs, ds) = (replicate n 0, replicate n 0) for i < n do
      let (c, d) = if i == 0 then (0, 0) else (cs[i - 1], ds[i - 1])
      let pivot = diagonal[i] - lower[i] * c
      in (cs with [i] = upper[i] / pivot, ds with [i] = (right[i] - lower[i] * d) / pivot)
  in loop xs = ds for j < n - 1 do
       let i = n - 2 - j
       in xs with [i] = xs[i] - cs[i] * xs[i + 1]

-- Tridiagonal systems; the first element of `lower` and the last one of `upper` are not used.
-- ==
-- entry: tridiagonal
-- input { [[-0.5f64, 2.0f64, 1.75f64, -0.75f64], [-0.75f64, -1.0f64, -0.75f64, -1.25f64]]
--   [[3.3125f64, 3.3125f64, 3.4375f64, 2.6875f64], [2.875f64, 3.3125f64, 2.875f64, 3.25f64]]
--   [[-2.0f64, -0.25f64, -1.25f64, 0.0f64], [-1.25f64, 1.75f64, 0.0f64, 1.25f64]] [[-2.0f64,
--   -1.5f64, 1.25f64, 1.0f64], [0.75f64, -0.5f64, -0.5f64, 2.0f64]] }
-- output { [[-0.6236713536410824f64, -0.03295567946804268f64, 0.5739664179197757f64,
--   0.5322696980241234f64], [0.2693738705219517f64, 0.01955990220048899f64, -0.1688104602955246f64,
--   0.5504575152709521f64]] }
-- input { [[-0.5f64], [-0.75f64]] [[3.3125f64], [2.875f64]] [[-2.0f64], [-1.25f64]] [[-2.0f64],
--   [0.75f64]] }
-- output { [[-0.6037735849056604f64], [0.2608695652173913f64]] }
entry tridiagonal [m] [n] (lower: [m][n]f64) (diagonal: [m][n]f64) (upper: [m][n]f64) (right: [m][n]f64) : [m][n]f64 =
  map4 thomas lower diagonal upper right

-- A sparse matrix times a vector: row i has the entries from `begins[i]` to `begins[i + 1]`.
-- ==
-- entry: sparse_product
-- input { [0i32, 2i32, 2i32, 5i32] [0i32, 3i32, 1i32, 2i32, 3i32] [0.5f64, -1.25f64, 0.5f64,
--   -2.0f64, -1.0f64] [-0.75f64, 0.25f64, -1.75f64, -0.5f64] }
-- output { [0.25f64, 0.0f64, 4.125f64] }
-- input { [0i32] empty([0]i32) empty([0]f64) [2.0f64, 1.0f64] }
-- output { empty([0]f64) }
entry sparse_product [n1] [m] [k] (begins: [n1]i32) (columns: [m]i32) (values: [m]f64) (xs: [k]f64) : []f64 =
  let row i =
    let (from, to) = (i64.i32 begins[i], i64.i32 begins[i + 1])
    in f64.sum (map2 (\column value -> value * xs[column]) columns[from:to] values[from:to])
  in tabulate (n1 - 1) row
