-- Sequential loops of all kinds, nested loops, in-place updates.

-- ==
-- entry: gcd
-- input { 48 36 }
-- output { 12i32 }
-- input { 7 0 }
-- output { 7i32 }
-- input { 1071 462 }
-- output { 21i32 }
entry gcd (a: i32) (b: i32) : i32 =
  (loop (a, b) = (a, b) while b != 0 do (b, a % b)).0

-- ==
-- entry: collatz
-- input { 1 }
-- output { 0i32 1i32 }
-- input { 27 }
-- output { 111i32 9232i32 }
entry collatz (n: i32) : (i32, i32) =
  let (_, steps, top) =
    loop (x, steps, top) = (n, 0, n) while x != 1 do
      let next = if x % 2 == 0 then x / 2 else 3 * x + 1
      in (next, steps + 1, i32.max top next)
  in (steps, top)

-- For loops over a count and over the elements of an array.
-- ==
-- entry: horner
-- input { [2.0, -1.0, 0.5] 3.0 }
-- output { 3.5f64 3.5f64 }
-- input { empty([0]f64) 3.0 }
-- output { 0.0f64 0.0f64 }
entry horner [n] (cs: [n]f64) (x: f64) : (f64, f64) =
  ( loop acc = 0 for i < n do acc * x + cs[n - 1 - i]
  , loop acc = 0 for c in reverse cs do acc * x + c
  )

-- Nested loops, the inner bound by the outer counter.
-- ==
-- entry: pascal
-- input { 0i64 }
-- output { empty([0][0]i64) }
-- input { 1i64 }
-- output { [[1i64]] }
-- input { 6i64 }
-- output { [[1i64, 0i64, 0i64, 0i64, 0i64, 0i64], [1i64, 1i64, 0i64, 0i64, 0i64, 0i64], [1i64, 2i64, 1i64, 0i64, 0i64, 0i64], [1i64, 3i64, 3i64, 1i64, 0i64, 0i64], [1i64, 4i64, 6i64, 4i64, 1i64, 0i64], [1i64, 5i64, 10i64, 10i64, 5i64, 1i64]] }
entry pascal (n: i64) : [n][n]i64 =
  loop rows = replicate n (replicate n 0) for i < n do
    loop rows = rows for j < i + 1 do
      rows with [i, j] =
        if j == 0 then 1 else copy rows[i - 1, j - 1] + copy rows[i - 1, j]

-- ==
-- entry: updates
-- input { [1, 2, 3, 4, 5] 2i64 }
-- output { [1i32, 2i32, 10i32, 4i32, 11i32] }
-- input { [1] 0i64 }
-- output { [20i32] }
entry updates [n] (xs: *[n]i32) (i: i64) : [n]i32 =
  let xs = xs with [i] = 10
  let xs = xs with [n - 1] = xs[0] + xs[i]
  in xs

-- Updates of slices and rows.
-- ==
-- entry: slice_updates
-- input { [[1, 2, 3], [4, 5, 6], [7, 8, 9]] [10, 20, 30] }
-- output { [[10i32, 20i32, 11i32], [-1i32, -2i32, 21i32], [-3i32, 20i32, 10i32]] }
entry slice_updates [n] (a: *[n][n]i32) (v: [n]i32) : [n][n]i32 =
  let a = a with [0] = v
  let a = a with [:, n - 1] = map (+ 1) v
  let a = a with [1:3, 0:2] = [[-1, -2], [-3, -4]]
  in a with [n - 1, :0:-1] = copy a[0, :n - 1]

-- The sequential sieve and insertion sort: updates in loops.
-- ==
-- entry: insertion_sort
-- input { [3, 1, 2] }
-- output { [1i32, 2i32, 3i32] }
-- input { [5, 4, 3, 2, 1, 0, 9, -9] }
-- output { [-9i32, 0i32, 1i32, 2i32, 3i32, 4i32, 5i32, 9i32] }
-- input { empty([0]i32) }
-- output { empty([0]i32) }
-- input { [2, 2] }
-- output { [2i32, 2i32] }
entry insertion_sort [n] (xs: [n]i32) : [n]i32 =
  loop xs = copy xs for i in 1..<i64.max 1 n do
    let x = xs[i]
    let (xs, j) =
      loop (xs, j) = (xs, i) while j > 0 && xs[j - 1] > x do
        let previous = xs[j - 1]
        in (xs with [j] = previous, j - 1)
    in xs with [j] = x

-- A sequential loop inside a map, with a private array per iteration.
-- ==
-- entry: digit_counts
-- input { [112, 0, 998877, 5] }
-- output { [[0i32, 2i32, 1i32, 0i32, 0i32, 0i32, 0i32, 0i32, 0i32, 0i32], [0i32, 0i32, 0i32, 0i32, 0i32, 0i32, 0i32, 0i32, 0i32, 0i32], [0i32, 0i32, 0i32, 0i32, 0i32, 0i32, 0i32, 2i32, 2i32, 2i32], [0i32, 0i32, 0i32, 0i32, 0i32, 1i32, 0i32, 0i32, 0i32, 0i32]] }
-- input { empty([0]i32) }
-- output { empty([0][10]i32) }
entry digit_counts [n] (xs: [n]i32) : [n][10]i32 =
  map (\x ->
         let (counts, _) =
           loop (counts, x) = (replicate 10 0, x) while x > 0 do
             let d = i64.i32 (x % 10)
             in (counts with [d] = counts[d] + 1, x / 10)
         in counts)
      xs

-- A parallel operation in a sequential loop.
-- ==
-- entry: smoothing
-- input { 0 [1.0, 2.0] }
-- output { [1.0f64, 2.0f64] 0.0f64 }
-- input { 3 [8.0, 0.0, 0.0, 16.0, 4.0] }
-- output { [3.0f64, 6.5f64, 8.5f64, 6.5f64, 3.5f64] 27.5f64 }
entry smoothing [n] (k: i32) (xs: [n]f64) : ([n]f64, f64) =
  loop (xs, total) = (xs, 0) for _i < k do
    let next = map2 (\a b -> (a + b) / 2) xs (rotate 1 xs)
    in (next, total + f64.maximum next)

-- A loop over a range of another type, and one that runs downwards.
-- ==
-- entry: counters
-- input { 5i8 }
-- output { 58i8 2736i32 }
-- input { 0i8 }
-- output { 1i8 2736i32 }
entry counters (n: i8) : (i8, i32) =
  ( loop acc = 1i8 for i < n do acc * 2 + i
  , loop acc = 0 for i in 3..2..>-4 do acc * 3 + i
  )

-- Elements that are read before they are overwritten, and used in parallel code after it.
-- ==
-- entry: read_before_update
-- input { [[1, 2, 3], [4, 5, 6]] [1i64, 2i64] }
-- output { [2i32, 6i32] [14i32, 77i32] [16i32, 48i32] }
-- input { [[1, 2, 3, 4], [9, 8, 7, 6], [0, 1, 0, 1]] [0i64, 5i64, 3i64] }
-- output { [1i32, 14i32, 1i32] [30i32, 230i32, 2i32] [10i32, 112i32, 8i32] }
-- input { [[5]] [2i64] }
-- output { [20i32] [25i32] [200i32] }
entry read_before_update [n] [m] (xss: [n][m]i32) (is: [n]i64) : ([n]i32, [n]i32, [n]i32) =
  unzip3 (map2 (\xs i ->
                  let ys = loop ys = copy xs for k < i do ys with [k % m] = ys[(k + 1) % m] * 2
                  let a = ys[i % m]
                  let ys = ys with [i % m] = 7
                  let ys = ys with [0] = 9
                  let zs = map (* a) ys
                  let s = i32.sum (map (\x -> x * x) xs)
                  in (a, s, zs[i % m] + a))
               xss
               is)
