-- Arrays of a thread block whose sizes are known at launch. Arrays that are not live at once may
-- share a shared-memory slot; arrays that do not fit are in device memory.

-- Consecutive arrays of one size.
-- ==
-- entry: chain
-- input { [[3, -1, 4, 1], [5, 9, -2, 6]] }
-- output { [[-209i32, -125i32, -29i32, 71i32], [-581i32, -329i32, -77i32, 191i32]] }
-- input { empty([2][0]i32) }
-- output { empty([2][0]i32) }
entry chain [n][m] (xss: [n][m]i32) : [n][m]i32 =
  map (\xs -> let a = scan (+) 0 xs
              let s = i32.sum a
              let b = scan i32.max (-100) (map (+ s) a)
              let t = i32.maximum (map (% 5) b)
              let c = scan (+) 0 (map (\y -> y * t) b)
              let u = i32.sum (map (/ 3) c)
              in map (\z -> z - u) c) xss

-- Arrays of two sizes and several types, in loops and branches.
-- ==
-- entry: loops
-- input { [2i64, 3i64] [[1, 2, 3], [4, 5, -6]] [[1i64, 2i64, 3i64, 4i64, 5i64], [9i64, 8i64, 7i64, 6i64, 5i64]] }
-- output { [[302i32, 370i32, 441i32], [2i32, 2i32, 2i32]] [[731i64, 364i64, 10i64, 670i64, 345i64], [221i64, 487i64, 721i64, 945i64, 180i64]] }
-- input { [0i64, 1i64] [[1, 2, 3], [4, 5, -6]] [[1i64], [2i64]] }
-- output { [[1i32, 2i32, 3i32], [22i32, 27i32, 27i32]] [[1i64], [94i64]] }
entry loops [n][m][k] (trips: [n]i64) (xss: [n][m]i32) (yss: [n][k]i64)
    : ([n][m]i32, [n][k]i64) =
  unzip (map3 (\t xs ys ->
                 loop (xs, ys) = (copy xs, copy ys) for i < t do
                   let a = scan (+) 0 xs
                   let s = i64.i32 (i32.sum a)
                   let b = scan (+) 0 (map (+ s) ys)
                   let r = i32.i64 (i64.maximum b % 1000)
                   in if r > 500
                      then (map (\x -> x - r) a, map (\y -> y % 100) b)
                      else let c = scan i32.max 0 (map (+ r) a)
                           let u = i64.i32 (i32.sum c)
                           in (map (\x -> x + i32.i64 i) c, map (\y -> (y + u) % 1000) b))
              trips xss yss)

-- Too many to fit if they are long.
-- ==
-- entry: sums only_sums
-- input { 2i64 5i64 }
-- output { [76i32, 111i32] }
-- input { 2i64 9001i64 }
-- output { [925102i32, 925785i32] }
-- input { 1i64 0i64 }
-- output { [0i32] }
-- input { 0i64 7i64 }
-- output { empty([0]i32) }
entry sums (n: i64) (m: i64) : [n]i32 =
  map (\i -> let xs = scan (+) 0 (map (\j -> i32.i64 ((i + j) % 3)) (iota m))
             let s = i32.sum xs
             let ys = scan i32.max 0 (map (\x -> (x + s) % 101) xs)
             let t = i32.sum ys
             in t + i32.sum (map2 (\x y -> (x * y + t) % 7) xs ys)) (iota n)

-- The same without another version.
entry only_sums (n: i64) (m: i64) : [n]i32 =
  #[incremental_flattening(only_intra)]
  map (\i -> let xs = scan (+) 0 (map (\j -> i32.i64 ((i + j) % 3)) (iota m))
             let s = i32.sum xs
             let ys = scan i32.max 0 (map (\x -> (x + s) % 101) xs)
             let t = i32.sum ys
             in t + i32.sum (map2 (\x y -> (x * y + t) % 7) xs ys)) (iota n)

-- Few long segments in an iteration, which the threads share, and many short ones.
-- ==
-- entry: rows_of_rows
-- input { 2i64 1i64 700i64 }
-- output { [489857i32, 492260i32] [[489300i32], [491400i32]] [[557i32], [860i32]] }
-- input { 1i64 3i64 300i64 }
-- output { [91668i32] [[89700i32, 90600i32, 90300i32]] [[88i32, 224i32, 756i32]] }
-- input { 2i64 50i64 2i64 }
-- output { [1920i32, 1920i32] [[1i32, 10i32, 4i32, 8i32, 7i32, 1i32, 10i32, 4i32, 8i32, 7i32, 1i32, 10i32, 4i32, 8i32, 7i32, 1i32, 10i32, 4i32, 8i32, 7i32, 1i32, 10i32, 4i32, 8i32, 7i32, 1i32, 10i32, 4i32, 8i32, 7i32, 1i32, 10i32, 4i32, 8i32, 7i32, 1i32, 10i32, 4i32, 8i32, 7i32, 1i32, 10i32, 4i32, 8i32, 7i32, 1i32, 10i32, 4i32, 8i32, 7i32], [7i32, 1i32, 10i32, 4i32, 8i32, 7i32, 1i32, 10i32, 4i32, 8i32, 7i32, 1i32, 10i32, 4i32, 8i32, 7i32, 1i32, 10i32, 4i32, 8i32, 7i32, 1i32, 10i32, 4i32, 8i32, 7i32, 1i32, 10i32, 4i32, 8i32, 7i32, 1i32, 10i32, 4i32, 8i32, 7i32, 1i32, 10i32, 4i32, 8i32, 7i32, 1i32, 10i32, 4i32, 8i32, 7i32, 1i32, 10i32, 4i32, 8i32]] [[31i32, 43i32, 24i32, 42i32, 51i32, 31i32, 43i32, 24i32, 42i32, 51i32, 31i32, 43i32, 24i32, 42i32, 51i32, 31i32, 43i32, 24i32, 42i32, 51i32, 31i32, 43i32, 24i32, 42i32, 51i32, 31i32, 43i32, 24i32, 42i32, 51i32, 31i32, 43i32, 24i32, 42i32, 51i32, 31i32, 43i32, 24i32, 42i32, 51i32, 31i32, 43i32, 24i32, 42i32, 51i32, 31i32, 43i32, 24i32, 42i32, 51i32], [51i32, 31i32, 43i32, 24i32, 42i32, 51i32, 31i32, 43i32, 24i32, 42i32, 51i32, 31i32, 43i32, 24i32, 42i32, 51i32, 31i32, 43i32, 24i32, 42i32, 51i32, 31i32, 43i32, 24i32, 42i32, 51i32, 31i32, 43i32, 24i32, 42i32, 51i32, 31i32, 43i32, 24i32, 42i32, 51i32, 31i32, 43i32, 24i32, 42i32, 51i32, 31i32, 43i32, 24i32, 42i32, 51i32, 31i32, 43i32, 24i32, 42i32]] }
-- input { 1i64 2i64 0i64 }
-- output { [0i32] [[0i32, 0i32]] [[0i32, 0i32]] }
entry rows_of_rows (n: i64) (k: i64) (m: i64) : ([n]i32, [n][k]i32, [n][k]i32) =
  unzip3 (map (\i ->
                 let xss = map (\a -> scan (+) 0 (map (\j -> i32.i64 ((i * 7 + a * 3 + j) % 5)) (iota m)))
                               (iota k)
                 let op (a: i32, b: i32) (c: i32, d: i32) = ((a * c) % 1009, (b * c + d) % 1009)
                 let sums = map i32.sum xss
                 let top = i32.maximum sums
                 let composed = map (\xs -> (reduce op (1, 0) (map (\x -> (1 + x % 3, x + top % 11)) xs)).1) xss
                 in (top + i32.sum composed, sums, composed)) (iota n))
