-- Nests whose iterations have different amounts of work, each as nested tasks and as a
-- sequential variant. On one thread the difference is the cost of tasks where there is
-- little work.

-- Quicksort, as a flat map over the three parts.
-- ==
-- entry: quicksort quicksort_sequential
-- input { [3i32, -1i32, 4i32, 1i32, -5i32, 9i32, 2i32] }
-- output { [-5i32, -1i32, 1i32, 2i32, 3i32, 4i32, 9i32] }
def sort [n] (xs: [n]i32) : []i32 =
  if n < 2
  then xs
  else let (less, equal, more) = partition2 (< xs[n / 2]) (== xs[n / 2]) xs
       let part p = if p == 0 then sort less else if p == 1 then equal else sort more
       in (flatmap' part [0, 1, 2]).3

entry quicksort (xs: []i32) : []i32 = sort xs
entry quicksort_sequential (xs: []i32) : []i32 = #[sequential] sort xs

-- The number of placements of n queens, by a function that calls itself for each
-- column.
-- ==
-- entry: queens queens_sequential
-- input { 6i64 }
-- output { 4i64 }
-- input { 8i64 }
-- output { 92i64 }
def placements (n: i64) (row: i64) (columns: i64) (up: i64) (down: i64) : i64 =
  if row == n
  then 1
  else let below c =
         let bit = 1 << c
         let (a, b) = (1 << (row + c), 1 << (row - c + n))
         in if columns & bit != 0 || up & a != 0 || down & b != 0
            then 0
            else placements n (row + 1) (columns | bit) (up | a) (down | b)
       in i64.sum (map below (iota n))

entry queens (n: i64) : i64 = placements n 0 0 0 0
entry queens_sequential (n: i64) : i64 = #[sequential] placements n 0 0 0 0

-- The Mandelbrot set, whose iterations take from 1 to some hundred steps.
-- ==
-- entry: mandelbrot mandelbrot_sequential
-- input { 4i64 100i32 }
-- output { [[1i32, 2i32, 2i32, 2i32], [1i32, 3i32, 6i32, 5i32], [1i32, 100i32, 100i32, 100i32], [1i32, 3i32, 6i32, 5i32]] }
def steps_outside (limit: i32) (x: f64) (y: f64) : i32 =
  let (_, _, i) =
    loop (a, b, i) = (0, 0, 0) while i < limit && a * a + b * b < 4 do
      (a * a - b * b + x, 2 * a * b + y, i + 1)
  in i

def image (n: i64) (limit: i32) : [n][n]i32 =
  let at from k = from + 3 * f64.i64 k / f64.i64 n
  in map (\i -> map (\j -> steps_outside limit (at (-2) j) (at (-1.5) i)) (iota n)) (iota n)

entry mandelbrot (n: i64) (limit: i32) : [n][n]i32 = image n limit
entry mandelbrot_sequential (n: i64) (limit: i32) : [n][n]i32 = #[sequential] image n limit

-- A sparse matrix times a vector; `begins` has the offsets of the rows.
-- ==
-- entry: sparse sparse_sequential
-- input { [0i64, 2i64, 2i64] [0i64, 2i64, 1i64] [2f64, 3f64, 4f64] [1f64, 10f64, 100f64] }
-- output { [302.0f64, 0.0f64, 40.0f64] }
def product [n] [m] [k] (begins: [n]i64) (columns: [m]i64) (values: [m]f64) (xs: [k]f64) : [n]f64 =
  let row i =
    let from = begins[i]
    let to = if i + 1 < n then begins[i + 1] else m
    in f64.sum (map2 (\c v -> v * xs[c]) columns[from:to] values[from:to])
  in tabulate n row

entry sparse [n] [m] [k] (begins: [n]i64) (columns: [m]i64) (values: [m]f64) (xs: [k]f64) =
  product begins columns values xs

entry sparse_sequential [n] [m] [k] (begins: [n]i64) (columns: [m]i64) (values: [m]f64) (xs: [k]f64) =
  #[sequential] product begins columns values xs

-- For each k the sum of the steps of the Collatz sequences of 1, ..., k.
-- ==
-- entry: collatz collatz_sequential
-- input { [1i64, 0i64, 10i64] }
-- output { [0i64, 0i64, 67i64] }
def steps (i: i64) : i64 =
  let (_, k) = loop (x, k) = (i, 0) while x > 1 do (if x % 2 == 0 then x / 2 else 3 * x + 1, k + 1)
  in k

def lengths [n] (ks: [n]i64) : [n]i64 = map (\k -> i64.sum (map (\i -> steps (i + 1)) (iota k))) ks

entry collatz (ks: []i64) : []i64 = lengths ks
entry collatz_sequential (ks: []i64) : []i64 = #[sequential] lengths ks

-- A flat map to the first k multiples of each element k.
-- ==
-- entry: expand expand_sequential
-- input { [3i64, 0i64, 2i64] }
-- output { [0i64, 3i64, 6i64, 0i64, 2i64] }
def multiples [n] (ks: [n]i64) : []i64 = (flatmap' (\k -> map (* k) (iota k)) ks).3

entry expand (ks: []i64) : []i64 = multiples ks
entry expand_sequential (ks: []i64) : []i64 = #[sequential] multiples ks
