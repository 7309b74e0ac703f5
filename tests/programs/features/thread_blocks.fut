-- Nests whose inner parallelism a thread block can share, so that values of an iteration stay
-- within the block.

-- A reduction whose result a scan and a map use.
-- ==
-- entry: shifted
-- input { [[3, -1, 4], [1, -5, 9]] }
-- output { [[9, 9, 10], [6, 6, 14]] }
-- input { empty([0][3]i32) }
-- output { empty([0][3]i32) }
entry shifted [n][m] (xss: [n][m]i32) : [n][m]i32 =
  map (\xs -> let s = i32.sum xs
              let ys = scan i32.max 0 xs
              in map (\y -> if s > 5 then y + s else y + 5) ys) xss

-- Scans in a loop whose trip count varies between outer iterations.
-- ==
-- entry: loops
-- input { [0, 1, 2, 3] [[1, 2, 3], [1, 2, 3], [1, 2, 3], [1, 2, 3]] }
-- output { [[1, 2, 3], [1, 3, 6], [1, 4, 10], [1, 5, 15]] }
entry loops [n][m] (ks: [n]i32) (xss: [n][m]i32) : [n][m]i32 =
  map2 (\k xs -> loop ys = copy xs for i < k do
                   let zs = scan (+) 0 ys
                   let top = i32.maximum zs
                   in map (\z -> if top > 1000 then z % 1000 + i else z) zs) ks xss

-- A loop that ends when its reduction is small.
-- ==
-- entry: until
-- input { [[64, 3], [5, 5], [1, 0]] }
-- output { [[8, 0], [5, 5], [1, 0]] }
entry until [n][m] (xss: [n][m]i32) : [n][m]i32 =
  map (\xs -> loop ys = copy xs while i32.sum ys > 10 do
                let most = i32.maximum ys
                in map (\y -> if y == most || most < 4 then y / 2 else y / 2) ys) xss

-- Histograms of rows, with operators that are atomic on devices and with others.
-- ==
-- entry: bins
-- input { [[0i64, 1i64, 0i64, 3i64], [2i64, 2i64, 2i64, 7i64]] [[1, 2, 3, 4], [5, 6, 7, 8]] }
-- output { [[4, 2, 0, 4], [0, 0, 18, 0]] [[3, 2, 1, 4], [1, 1, 210, 1]] [10, 26] }
entry bins [n][m] (iss: [n][m]i64) (xss: [n][m]i32) : ([n][4]i32, [n][4]i32, [n]i32) =
  unzip3 (map2 (\is xs -> (hist (+) 0 4 is xs, hist (*) 1 4 is xs, i32.sum xs)) iss xss)

-- Pairs, with an operator that does not commute; more iterations than a block has threads.
-- ==
-- entry: composed
-- input { 2i64 601i64 }
-- output { [[1i32, 191i32], [1i32, 192i32]] [601i32, 1202i32] }
entry composed (n: i64) (m: i64) : ([n][2]i32, [n]i32) =
  unzip (map (\i -> let xs = map (\j -> i32.i64 ((i + j) % 5)) (iota m)
                    let op (a: i32, b: i32) (c: i32, d: i32) = (a * c, (b * c + d) % 1009)
                    let (a, b) = reduce op (1, 0) (map (\x -> (1, x)) xs)
                    let ones = scan (+) 0 (map (\x -> (x - x + 1) * (1 + i32.i64 i)) xs)
                    in ([a, b], last ones)) (iota n))

-- Rows of rows: a matrix product per outer iteration, and a reduction of it.
-- ==
-- entry: products
-- input { [[[1, 2], [3, 4]], [[0, 1], [1, 0]]] }
-- output { [[[7, 10], [15, 22]], [[1, 0], [0, 1]]] [54, 2] }
entry products [n][m] (xsss: [n][m][m]i32) : ([n][m][m]i32, [n]i32) =
  unzip (map (\xss -> let yss = map (\xs -> map (\ys -> i32.sum (map2 (*) xs ys)) (transpose xss)) xss
                      in (yss, i32.sum (map i32.sum yss))) xsss)

-- A check that fails in an iteration of a loop, between shared operations.
-- ==
-- entry: within
-- input { [3, 2] [[1, 2, 3], [1, 2, 3]] }
-- output { [[1, 5, 15], [1, 4, 10]] }
-- input { [3, 30] [[1, 2, 3], [1, 2, 3]] }
-- error: Assertion is false
entry within [n][m] (ks: [n]i32) (xss: [n][m]i32) : [n][m]i32 =
  map2 (\k xs -> loop ys = copy xs for _i < k do
                   let zs = scan (+) 0 ys
                   let s = i32.sum zs
                   in map (\z -> assert (s < 100) z) zs) ks xss
