-- Reductions and scans: operators on tuples, operators that do not commute,
-- over rows of matrices, fused with maps before and after.

-- ==
-- entry: sums
-- input { [1, 2, 3, 4] }
-- output { 10i32 24i32 4i32 1i32 4i32 }
-- input { [-1] }
-- output { -1i32 -1i32 -1i32 -1i32 -1i32 }
-- input { empty([0]i32) }
-- output { 0i32 1i32 -2147483648i32 2147483647i32 0i32 }
entry sums (xs: []i32) : (i32, i32, i32, i32, i32) =
  ( i32.sum xs
  , i32.product xs
  , i32.maximum xs
  , i32.minimum xs
  , reduce (^) 0 xs
  )

-- ==
-- entry: logic
-- input { [true, true, false] }
-- output { false true [true, true, false] [true, true, true] }
-- input { [true] }
-- output { true true [true] [true] }
-- input { empty([0]bool) }
-- output { true false empty([0]bool) empty([0]bool) }
entry logic (bs: []bool) : (bool, bool, []bool, []bool) =
  (and bs, or bs, scan (&&) true bs, scan (||) false bs)

-- Composition of x -> a x + b: associative, not commutative.
def compose (a: i32, b: i32) (c: i32, d: i32) : (i32, i32) = (c * a, c * b + d)

-- ==
-- entry: linear
-- input { [1, 2, 3, -1, 2] [5, -6, 7, 8, 9] }
-- output { -12i32 -13i32 [1i32, 2i32, 6i32, -6i32, -12i32] [5i32, 4i32, 19i32, -11i32, -13i32] }
-- input { [2] [3] }
-- output { 2i32 3i32 [2i32] [3i32] }
-- input { empty([0]i32) empty([0]i32) }
-- output { 1i32 0i32 empty([0]i32) empty([0]i32) }
entry linear [n] (as: [n]i32) (bs: [n]i32) : (i32, i32, [n]i32, [n]i32) =
  let pairs = zip as bs
  let (a, b) = reduce compose (1, 0) pairs
  let (xs, ys) = unzip (scan compose (1, 0) pairs)
  in (a, b, xs, ys)

-- Linear recurrence x[i] = a[i] x[i-1] + b[i] by a scan.
-- ==
-- entry: recurrence
-- input { 1.0 [0.5, 2.0, -1.0] [1.0, 0.0, 3.0] }
-- output { [1.5f64, 3.0f64, 0.0f64] }
entry recurrence [n] (x0: f64) (as: [n]f64) (bs: [n]f64) : [n]f64 =
  let step (a, b) (c, d) = (c * a, c * b + d)
  in map (\(a, b) -> a * x0 + b) (scan step (1, 0) (zip as bs))

-- The maximum and its index, the minimum and its index.
-- ==
-- entry: extremes
-- input { [3.0, -1.5, 9.25, 9.25, -1.5] }
-- output { 9.25f64 2i64 -1.5f64 1i64 }
-- input { [2.0] }
-- output { 2.0f64 0i64 2.0f64 0i64 }
entry extremes [n] (xs: [n]f64) : (f64, i64, f64, i64) =
  let better (a, i, b, j) (c, k, d, l) =
    let (a, i) = if c > a then (c, k) else (a, i)
    let (b, j) = if d < b then (d, l) else (b, j)
    in (a, i, b, j)
  in reduce better (-f64.inf, -1, f64.inf, -1) (map2 (\x i -> (x, i, x, i)) xs (iota n))

-- Row and column sums, and the total.
-- ==
-- entry: matrix_sums
-- input { [[1, 2, 3], [4, 5, 6]] }
-- output { [6i32, 15i32] [5i32, 7i32, 9i32] 21i32 [5i32, 7i32, 9i32] }
-- input { empty([0][2]i32) }
-- output { empty([0]i32) [0i32, 0i32] 0i32 [0i32, 0i32] }
-- input { empty([2][0]i32) }
-- output { [0i32, 0i32] empty([0]i32) 0i32 empty([0]i32) }
entry matrix_sums [n] [m] (a: [n][m]i32) : ([n]i32, [m]i32, i32, [m]i32) =
  ( map (reduce (+) 0) a
  , map (reduce (+) 0) (transpose a)
  , reduce (+) 0 (map (reduce (+) 0) a)
  , reduce (map2 (+)) (replicate m 0) a
  )

-- ==
-- entry: matrix_scans
-- input { [[1, 2, 3], [4, 5, 6], [7, 8, 9]] }
-- output { [[1i32, 3i32, 6i32], [4i32, 9i32, 15i32], [7i32, 15i32, 24i32]] [[1i32, 2i32, 3i32], [5i32, 7i32, 9i32], [12i32, 15i32, 18i32]] }
-- input { [[5]] }
-- output { [[5i32]] [[5i32]] }
entry matrix_scans [n] [m] (a: [n][m]i32) : ([n][m]i32, [n][m]i32) =
  (map (scan (+) 0) a, scan (map2 (+)) (replicate m 0) a)

-- A reduction whose mapped array is a result too.
-- ==
-- entry: redomap
-- input { [1.0, 2.0, 3.0] }
-- output { 17.0f64 0.5f64 [2.0f64, 5.0f64, 10.0f64] [0.5f64, 0.4f64, 0.3f64] }
-- input { empty([0]f64) }
-- output { 0.0f64 -f64.inf empty([0]f64) empty([0]f64) }
entry redomap [n] (xs: [n]f64) : (f64, f64, [n]f64, [n]f64) =
  let ys = map (\x -> x * x + 1) xs
  let zs = map2 (/) xs ys
  in (f64.sum ys, f64.maximum zs, ys, zs)

-- A scan between two maps, then a reduction of its result.
-- ==
-- entry: scanomap
-- input { [3, 1, 2, -4, 6] }
-- output { [7i32, 9i32, 13i32, 5i32, 17i32] 10i32 }
-- input { empty([0]i32) }
-- output { empty([0]i32) -2147483648i32 }
entry scanomap [n] (xs: [n]i32) : ([n]i32, i32) =
  let ys = scan (+) 0 (map (* 2) xs)
  in (map (+ 1) ys, i32.maximum (map2 (-) ys xs))

-- Adjacent nests of different depths.
-- ==
-- entry: nests
-- input { [[[1, 2], [3, 4]], [[5, 6], [7, 8]], [[-1, 0], [2, 1]]] }
-- output { [7i32, 15i32, 3i32] [[3i32, 7i32], [11i32, 15i32], [-1i32, 3i32]] [[5i32, 8i32], [12i32, 13i32]] [[[11i32, 13i32], [13i32, 17i32]], [[31i32, 37i32], [33i32, 41i32]], [[1i32, 1i32], [4i32, 5i32]]] }
-- input { [[[4]]] }
-- output { [4i32] [[4i32]] [[4i32]] [[[8i32]]] }
entry nests [a] [b] [c] (x: [a][b][c]i32) : ([a]i32, [a][b]i32, [b][c]i32, [a][b][c]i32) =
  ( map (\m -> i32.maximum (map i32.sum m)) x
  , map (map i32.sum) x
  , reduce (map2 (map2 (+))) (replicate b (replicate c 0)) x
  , map (\m -> let k = i32.sum (flatten m) in map (\row -> map (+ k) (scan (+) 0 row)) m) x
  )

-- Rows that are computed before a scan and used after it.
-- ==
-- entry: rows_behind
-- input { 2i64 [1, 2, 3] }
-- output { [0i32, 1i32, 3i32] }
-- input { 3i64 empty([0]i32) }
-- output { empty([0]i32) }
-- input { 2i64 [5, -1, 7, 0, 100] }
-- output { [0i32, 5i32, 4i32, 11i32, 11i32] }
entry rows_behind [n] (m: i64) (xs: [n]i32) : [n]i32 =
  let (as, rows) =
    unzip (map (\x -> (x, loop row = replicate m x for i < m do row with [i] = row[i] * i32.i64 (i + 2))) xs)
  in map2 (\a row -> a + row[0] - row[1]) (scan (+) 0 as) rows

-- Sums and extrema of integers over iterations with branches, loops and divisions.
def steps (x: i32) : i32 =
  (loop (y, k) = (x, 0) while y > 1 && k < 60 do
     if y % 2 == 0 then (y / 2, k + 1) else (3 * y + 1, k + 1)).1

-- ==
-- entry: branching
-- input { 0i64 }
-- output { 0i64 -2147483648i32 0i32 0i64 }
-- input { 31i64 }
-- output { 18230i64 60i32 15966i32 12910i64 }
-- input { 1000i64 }
-- output { 519743i64 60i32 417905i32 13998144i64 }
entry branching (n: i64) : (i64, i32, i32, i64) =
  let xs = map (\i -> i32.i64 (i * 7919 % 1013 - 300)) (iota n)
  in ( i64.sum (map (\x -> if x > 400 then i64.i32 x * 3 else if x < 0 then -1 else 10) xs)
     , i32.maximum (map steps xs)
     , i32.sum (map (\x -> loop y = 0 for i < x % 5 do y + i * x) xs)
     , i64.sum (scan (+) 0 (map (\x -> i64.i32 (steps x)) xs)) )

-- Quotients and remainders by powers of two, rounded down and toward zero.
-- ==
-- entry: halves
-- input { [0, 1, -1, 7, 8, -8, -9, 2147483647, -2147483648] }
-- output { [0i32, 0i32, -1i32, 0i32, 1i32, -1i32, -2i32, 268435455i32, -268435456i32] [0i32, 1i32, 7i32, 7i32, 0i32, 0i32, 7i32, 7i32, 0i32] [0i32, 0i32, 0i32, 0i32, 1i32, -1i32, -1i32, 268435455i32, -268435456i32] [0i32, 1i32, -1i32, 7i32, 0i32, 0i32, -1i32, 7i32, 0i32] [0u32, 1u32, 16u32, 7u32, 8u32, 9u32, 8u32, 15u32, 1u32] [0i8, 0i8, -1i8, 0i8, 0i8, -1i8, -1i8, -1i8, 0i8] }
entry halves [n] (xs: [n]i32) : ([n]i32, [n]i32, [n]i32, [n]i32, [n]u32, [n]i8) =
  let wide x = u32.i32 x
  in ( map (/ 8) xs, map (% 8) xs, map (\x -> x // 8) xs, map (\x -> x %% 8) xs
     , map (\x -> wide x / 2147483648 + wide x % 16) xs
     , map (\x -> i8.i32 x / 64 + i8.i32 x % 1) xs )

-- Scans of rows without elements next to mapped and reduced values.
-- ==
-- entry: beside_nothing
-- input { [1i64, 2i64, 3i64] } output { [2i64, 3i64, 4i64] empty([3][0]i64) 6i64 }
-- input { empty([0]i64) } output { empty([0]i64) empty([0][0]i64) 0i64 }
entry beside_nothing [n] (xs: [n]i64) : ([n]i64, [n][0]i64, i64) =
  let (rows, ys) =
    unzip (map2 (\row x -> (map (+ x) row, x + 1))
                (scan (map2 (+)) (replicate 0 0) (map (\x -> replicate 0 x) xs)) xs)
  in (ys, rows, i64.sum xs)
