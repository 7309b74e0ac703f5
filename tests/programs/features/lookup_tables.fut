-- Combinators in a map that depend on their own index only: if the map is empty, their size need
-- not be valid.

def coefficient (i: i64) : f64 = 1 / f64.i64 (1 << i) / 4

-- ==
-- entry: once
-- input { [1.0, 2.0] 5i64 }
-- output { [0.484375, 0.96875] }
-- input { empty([0]f64) -5i64 }
-- output { empty([0]f64) }
-- input { empty([0]f64) 1000000000000000i64 }
-- output { empty([0]f64) }
-- input { [1.0] -5i64 }
-- error: Range 0..1..<-5 is invalid
entry once [n] (xs: [n]f64) (m: i64) : [n]f64 =
  map (\x -> f64.sum (map (\i -> x * coefficient i) (iota m))) xs

-- ==
-- entry: twice
-- input { [1.0, 2.0] 2i64 5i64 }
-- output { [[0.484375, 0.96875], [0.96875, 1.453125]] }
-- input { [1.0, 2.0] 0i64 -5i64 }
-- output { empty([2][0]f64) }
-- input { [1.0, 2.0] 1i64 -5i64 }
-- error: Range 0..1..<-5 is invalid
entry twice [n] (xs: [n]f64) (k: i64) (m: i64) : [n][k]f64 =
  map (\x -> map (\j -> f64.sum (map (\i -> (x + f64.i64 j) * coefficient i) (iota m))) (iota k)) xs

-- ==
-- entry: in_loop
-- input { [1.0, 2.0] 3i32 5i64 }
-- output { [3.4306564331054688, 3.544300079345703] }
-- input { [1.0, 2.0] 0i32 -5i64 }
-- output { [1.0, 2.0] }
-- input { [1.0, 2.0] 1i32 -5i64 }
-- error: Range 0..1..<-5 is invalid
entry in_loop [n] (xs: [n]f64) (k: i32) (m: i64) : [n]f64 =
  map (\x -> loop s = x for t < k do f64.i32 t + f64.sum (map (\i -> (s + 1) * coefficient i) (iota m))) xs

-- Elements of an array that is equal in all iterations.
-- ==
-- entry: elements
-- input { [1.0, 2.0] [0i64, 1i64, 2i64] }
-- output { [0.4375, 0.875] }
entry elements [n][m] (xs: [n]f64) (is: [m]i64) : [n]f64 =
  map (\x -> f64.sum (map (\i -> x * coefficient i) is)) xs

-- Whole arrays that are equal in all iterations.
-- ==
-- entry: whole
-- input { [1.0, 2.0] 5i64 }
-- output { [2.21875, 3.9375] }
-- input { empty([0]f64) -5i64 }
-- output { empty([0]f64) }
-- input { empty([0]f64) 1000000000000000i64 }
-- output { empty([0]f64) }
-- input { [1.0] 0i64 }
-- output { [1.25] }
-- input { [1.0] -5i64 }
-- error: Range 0..1..<-5 is invalid
entry whole [n] (xs: [n]f64) (m: i64) : [n]f64 =
  map (\x -> let cs = map coefficient (iota m)
             let all = [0.5, 0.25] ++ cs
             in x * f64.sum all + f64.maximum all + f64.sum (map (* x) cs))
      xs

-- ==
-- entry: matrices
-- input { [1.0, 2.0] 2i64 3i64 4i64 }
-- output { [[0.8203125, 1.2890625], [1.640625, 2.109375]] }
-- input { empty([0]f64) 0i64 -3i64 4i64 }
-- output { empty([0][0]f64) }
-- input { [1.0, 2.0] 0i64 -3i64 -4i64 }
-- output { empty([2][0]f64) }
-- input { [1.0] 1i64 2i64 -4i64 }
-- error: Range 0..1..<-4 is invalid
entry matrices [n] (xs: [n]f64) (k: i64) (a: i64) (b: i64) : [n][k]f64 =
  map (\x -> map (\j -> let css = map (\p -> map (\q -> coefficient (p + q)) (iota b)) (iota a)
                        let sums = map f64.sum css
                        let sums' = map f64.sum (transpose css)
                        in x * f64.sum sums + f64.i64 j * f64.maximum (sums ++ sums'))
                 (iota k))
      xs

-- Each iteration updates a private array.
-- ==
-- entry: updated
-- input { [1.0, 2.0] 3i64 }
-- output { [2.1875, 4.1875] }
-- input { empty([0]f64) 3i64 }
-- output { empty([0]f64) }
entry updated [n] (xs: [n]f64) (m: i64) : [n]f64 =
  map (\x -> let cs = map coefficient (iota m)
             let ds = (copy cs) with [0] = x
             in f64.sum ds + f64.maximum ds)
      xs
