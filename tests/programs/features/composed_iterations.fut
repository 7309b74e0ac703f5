-- Loops that update a whole matrix in each iteration: elimination, shortest paths, decompositions.
-- Odd and even trip counts, few and no iterations, small matrices, reads of rows, columns, elements.

def weigh [n][m] (xs: [n][m]i32) : i64 =
  i64.sum (tabulate (n * m) (\p -> i64.i32 xs[p / m, p % m] * ((p / m * 31 + p % m * 17) % 101 + 1)))

def along (n: i64) (m: i64) (a: i64) (b: i64) (c: i64) : [n][m]i32 =
  opaque (tabulate_2d n m (\i j -> i32.i64 ((i * a + j * b + i * j % 7) % c) - 3))

-- A well-conditioned matrix whose large elements are not on the diagonal unless `step` is 1; `step`
-- and the size have no common factor.
def regular (n: i64) (step: i64) : [n][n]f64 =
  opaque (tabulate_2d n n (\i j ->
            f64.i64 ((i * 7 + j * 13 + i * j) % 17 - 8) / 4 + (if j == i * step % n then f64.i64 (4 * n) else 0)))

-- The sums of the rows of the inverse, weighted by columns.
def weigh_rows [n] (rows: [n][n]f64) : [n]f64 =
  map (\row -> f64.sum (map2 (\j x -> x * f64.i64 (j % 5 + 1)) (iota n) row)) rows

-- Gauss-Jordan elimination with pivots.
-- ==
-- entry: inverse
-- input { 40i64 7i64 }
-- input { 41i64 5i64 }
-- input { 33i64 2i64 }
-- input { 5i64 2i64 }
-- input { 1i64 1i64 }
entry inverse (n: i64) (step: i64) : [n]f64 =
  let width = n + n
  let identity = tabulate_2d n n (\i j -> f64.bool (i == j))
  let start = map2 (\left right -> left ++ right :> [width]f64) (regular n step) identity
  let larger (i, x) (j, y) = if x > y || (x == y && i < j) then (i, x) else (j, y)
  let reduced =
    loop rows = start for k < n do
      let candidates = map (\i -> (i, if i < k then -1 else f64.abs rows[i, k])) (iota n)
      let (pivot, _) = reduce larger (n, -1) candidates
      let pivot_row = map (/ rows[pivot, k]) rows[pivot]
      in tabulate n (\i ->
           let row = if i == pivot then rows[k] else rows[i]
           in if i == k then pivot_row else map2 (\x p -> x - row[k] * p) row pivot_row)
  in weigh_rows (map (\row -> row[n:] :> [n]f64) reduced)

-- Gauss-Jordan elimination along the diagonal, in place of the matrix.
-- ==
-- entry: inverse_along_diagonal
-- input { 40i64 }
-- input { 39i64 }
-- input { 3i64 }
entry inverse_along_diagonal (n: i64) : [n]f64 =
  weigh_rows (loop a = regular n 1 for k < n do
                tabulate_2d n n (\i j ->
                  if i == k
                  then if j == k then 1 / a[k, k] else a[k, j] / a[k, k]
                  else if j == k
                  then - a[i, k] / a[k, k]
                  else a[i, j] - a[i, k] * (a[k, j] / a[k, k])))

-- The numbers of a decomposition into triangular matrices, by updates of rank one.
-- ==
-- entry: triangular
-- input { 40i64 }
-- input { 37i64 }
-- input { 2i64 }
entry triangular (n: i64) : [n]f64 =
  weigh_rows (loop a = regular n 1 for k < n do
                tabulate_2d n n (\i j ->
                  if i > k && j > k
                  then a[i, j] - a[i, k] / a[k, k] * a[k, j]
                  else if i > k && j == k then a[i, k] / a[k, k] else a[i, j]))

-- Shortest paths through the first `steps` vertices.
-- ==
-- entry: shortest_paths
-- input { 40i64 40i64 }
-- input { 45i64 45i64 }
-- input { 40i64 0i64 }
-- input { 40i64 1i64 }
-- input { 40i64 2i64 }
-- input { 40i64 3i64 }
-- input { 40i64 4i64 }
-- input { 40i64 5i64 }
-- input { 40i64 -3i64 }
-- input { 31i64 31i64 }
-- input { 7i64 7i64 }
-- input { 0i64 0i64 }
entry shortest_paths (n: i64) (steps: i64) : i64 =
  weigh (loop d = along n n 31 17 97 for k < steps do
           tabulate_2d n n (\i j -> i32.min d[i, j] (d[i, k] + d[k, j])))

-- The same, with one iteration too many.
-- ==
-- entry: too_many
-- input { 40i64 40i32 }
-- input { 40i64 41i32 }
-- error: out of bounds
-- input { 40i64 43i32 }
-- error: Index \[40\] out of bounds for array of shape \[40\]
entry too_many (n: i64) (steps: i32) : i64 =
  weigh (loop d = along n n 31 17 97 for k < steps do
           let k = i64.i32 k
           let column = d[:, k]
           let row = d[k]
           in map2 (\x ds -> map2 (\d y -> i32.min d (x + y)) ds row) column d)

-- Elimination without quotients; rows above the pivot stay.
-- ==
-- entry: without_quotients
-- input { 40i64 48i64 40i64 }
-- input { 48i64 40i64 39i64 }
-- input { 40i64 20i64 10i64 }
-- input { 33i64 32i64 6i64 }
entry without_quotients (n: i64) (m: i64) (steps: i64) : i64 =
  weigh (loop a = along n m 5 3 11 for k < steps do
           map (\i -> if i <= k
                      then a[i]
                      else map2 (\x y -> x * a[k, k] - a[i, k] * y) a[i] a[k]) (iota n))

-- Each row is computed from the next one of the matrix before.
-- ==
-- entry: rotated
-- input { 40i64 50i64 13i64 }
-- input { 35i64 33i64 4i64 }
entry rotated (n: i64) (m: i64) (steps: i64) : i64 =
  weigh (loop a = along n m 5 3 11 for k < steps do
           let top = a[k]
           in map (\i -> let next = if i == n - 1 then 0 else i + 1
                         in map2 (\x y -> x * 3 + y) a[next] top) (iota n))

-- Only a row and a column of the matrix before are read.
-- ==
-- entry: outer_products
-- input { 40i64 50i64 11i64 }
-- input { 40i64 50i64 12i64 }
entry outer_products (n: i64) (m: i64) (steps: i64) : i64 =
  weigh (loop a = along n m 5 3 11 for k < steps do
           tabulate_2d n m (\i j -> a[i, k] * a[k, j] + i32.i64 (i - j)))

-- A vector is updated in place, and a sum kept.
-- ==
-- entry: with_diagonal
-- input { 40i64 33i64 }
-- input { 36i64 36i64 }
entry with_diagonal (n: i64) (steps: i64) : (i64, i32, i64) =
  let (a, diagonal, sum) =
    loop (a, diagonal, sum) = (along n n 5 3 11, replicate n 1i32, 0i32) for k < steps do
      let pivot = a[k, k]
      let next = map2 (\i row -> map2 (\x y -> x + diagonal[i] * y) row a[k]) (iota n) a
      in (next, copy diagonal with [k] = pivot + diagonal[0], sum * 3 + a[n - 1, k])
  in (weigh a, sum, i64.sum (map2 (\i x -> i64.i32 x * (i + 1)) (iota n) diagonal))

-- The matrix before the last iteration is returned as well.
-- ==
-- entry: last_two
-- input { 40i64 9i64 }
-- input { 40i64 0i64 }
entry last_two (n: i64) (steps: i64) : (i64, i64) =
  let start = along n n 5 3 11
  let (a, b) = loop (a, _) = (start, start) for k < steps do (map (map2 (+) a[k]) a, a)
  in (weigh a, weigh b)

-- Two matrices; the second one reads columns of the first.
-- ==
-- entry: two_matrices
-- input { 40i64 44i64 15i64 }
entry two_matrices (n: i64) (m: i64) (steps: i64) : (i64, i64) =
  let (a, b) =
    loop (a, b) = (along n n 5 3 11, along m n 3 7 13) for k < steps do
      (map (\row -> map2 (\x y -> x * 3 - y * row[k]) row a[k]) a,
       map (\row -> map2 (\x y -> x + y) row a[:, k]) b)
  in (weigh a, weigh b)

-- A pivot is chosen by the elements of a column, from an array of candidates that may fail.
-- ==
-- entry: chosen
-- input { 40i64 21i64 40i64 }
-- input { 40i64 21i64 4i64 }
-- error: out of bounds
entry chosen (n: i64) (steps: i64) (limit: i64) : i64 =
  weigh (loop a = along n n 5 3 11 for k < steps do
           let least = i32.minimum (map (\row -> row[k] & 63) a)
           let row = if i64.i32 least < limit && k < limit then k else n
           let chosen = a[row]
           in map (\row -> map2 (\x y -> (x - y + least) & 1023) row chosen) a)
