-- Scans of rows, short ones and ones that the lanes of a worker share.

def weigh [n][m] (xss: [n][m]i64) : i64 =
  i64.sum (map2 (\i xs -> i64.sum (map2 (\j x -> (i + 1) * (j + 3) % 101 * x) (iota m) xs))
                (iota n) xss)

def rows (n: i64) (m: i64) : [n][m]i64 =
  tabulate_2d n m (\i j -> (i * 31 + j * j * 7 + j) % 23 - 9)

-- ==
-- entry: sums
-- input { 5i64 0i64 }
-- output { 0i64 0i64 }
-- input { 4i64 15i64 }
-- output { 19080i64 19080i64 }
-- input { 3i64 16i64 }
-- output { 18252i64 18252i64 }
-- input { 70i64 61i64 }
-- output { 13180078i64 13180078i64 }
-- input { 2i64 1000i64 }
-- output { 49809344i64 49809344i64 }
entry sums (n: i64) (m: i64) : (i64, i64) =
  let sums = map (scan (+) 0) (rows n m)
  let narrow = map (map i16.i64 >-> scan (+) 0 >-> map i64.i16) (rows n m)
  in (weigh sums, weigh narrow)

-- Composition of functions x -> a x + b modulo a prime, applied to 2.
-- ==
-- entry: composed
-- input { 3i64 40i64 }
-- output { 21894375i64 }
-- input { 33i64 129i64 }
-- output { 1025410952i64 }
entry composed (n: i64) (m: i64) : i64 =
  let after (a, b) (c, d) : (i64, i64) = ((a * c) % 9973, (b * c + d) % 9973)
  in weigh (map (\xs -> map (\x -> (x * x + 2, x + 10)) xs
                        |> scan after (1, 0)
                        |> map (\(a, b) -> (2 * a + b) % 9973))
                (rows n m))

-- Sums restart at flags; the flags and other values are results of the same pass.
-- ==
-- entry: segmented
-- input { 4i64 100i64 }
-- output { 19685i64 236300i64 93378i64 }
entry segmented (n: i64) (m: i64) : (i64, i64, i64) =
  let add (f, x) (g, y) : (bool, i64) = (f || g, if g then y else x + y)
  let (fs, sums, xs) =
    unzip3 (map (\xs -> unzip3 (map2 (\(f, s) x -> (i64.bool f, s, 3 * x))
                                     (scan add (false, 0) (map (\x -> (x > 8, x)) xs))
                                     xs))
                (rows n m))
  in (weigh fs, weigh sums, weigh xs)

-- The scanned row is read again in the same iteration.
-- ==
-- entry: searched
-- input { 50i64 90i64 }
-- output { 379242i64 258653i64 }
entry searched (n: i64) (m: i64) : (i64, i64) =
  let (lasts, highs) =
    unzip (map (\xs -> let sums = scan (+) 0 xs
                       let highest = i64.maximum sums
                       in (sums[m - 1] + sums[m / 2], highest))
               (rows n m))
  in (weigh [lasts], weigh [highs])

-- Indices are checked within the scan.
-- ==
-- entry: gathered
-- input { [[1i64, 0i64, 2i64], [2i64, 2i64, 0i64]] }
-- output { [[10i64, 21i64, 33i64], [10i64, 20i64, 32i64]] }
-- input { [[1i64, 0i64, 2i64], [2i64, 3i64, 0i64]] }
-- error: Index \[3\] out of bounds for array of shape \[3\]
entry gathered [n][m] (iss: [n][m]i64) : [n][m]i64 =
  map (\is -> scan (+) 0 (map (\i -> 10 + is[i]) is)) iss

-- Sizes by type, and two scans.
-- ==
-- entry: known
-- input { 6i64 }
-- output { 579933i64 649333i64 }
entry known (n: i64) : (i64, i64) =
  let xss = rows n 48
  in (weigh (map (scan (+) 0) xss), weigh (map (\xs -> scan i64.max (-100) (scan (+) 0 xs)) xss))

-- In place, in a loop.
-- ==
-- entry: again
-- input { 3i64 50i64 4i32 }
-- output { 3017817i64 }
entry again (n: i64) (m: i64) (k: i32) : i64 =
  weigh (map (\xs -> loop ys = copy xs for _i < k do map (% 1009) (scan (+) 0 ys)) (rows n m))

-- Scans of floats, in the order of the blocks.
-- ==
-- entry: halves
-- input { 3i64 200i64 }
-- output { 329.5f64 0.0f64 }
entry halves (n: i64) (m: i64) : (f64, f64) =
  let xss = map (map (\x -> f64.i64 x * 0.5)) (rows n m)
  let last (xss: [n][m]f64) = f64.sum (map (\xs -> xs[m - 1] - xs[m / 3]) xss)
  in (last (map (scan (+) 0) xss), last (map (scan f64.min f64.inf) xss))
