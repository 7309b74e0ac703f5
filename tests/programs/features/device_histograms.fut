-- Histograms whose sizes determine where a device accumulates the bins: in shared memory owned by
-- threads, in ranges of them, in copies, directly in the result.

-- Recurring bins, some of them below 0 and some after the last one.
def spread (k: i64) (i: i64) : i64 = (i * 7919 + i / 13) % (k + 4) - 2

-- A checksum that depends on every bin and its index.
def digest [k] (xs: [k]i64) : i64 = i64.sum (map2 (\x i -> x * (i % 101 + 1)) xs (iota k))

-- Counts, and the greatest iteration of each bin.
-- ==
-- entry: counted
-- input { 0i64 5i64 }
-- output { 0i64 -15i64 }
-- input { 300i64 0i64 }
-- output { 0i64 0i64 }
-- input { 300i64 1i64 }
-- output { 59i64 295i64 }
-- input { 300i64 3i64 }
-- output { 255i64 1764i64 }
-- input { 500i64 40i64 }
-- output { 9542i64 393728i64 }
-- input { 60i64 200i64 }
-- output { 3030i64 86176i64 }
-- input { 20000i64 700i64 }
-- output { 1004675i64 693181600i64 }
-- input { 25000i64 3100i64 }
-- output { 1264472i64 3464968447i64 }
entry counted (n: i64) (k: i64) : (i64, i64) =
  let is = map (spread k) (iota n)
  let counts = hist (+) 0i32 k is (replicate n 1)
  let greatest = hist i64.max (-1) k is (iota n)
  in (digest (map i64.i32 counts), digest greatest)

-- The first iteration of each bin, and the maximum by two values: the iterations of a bin have to
-- be combined sequentially.
-- ==
-- entry: chosen
-- input { 0i64 5i64 }
-- output { -15i64 -15i64 }
-- input { 300i64 1i64 }
-- output { 3i64 57i64 }
-- input { 300i64 3i64 }
-- output { 17i64 819i64 }
-- input { 500i64 40i64 }
-- output { 13777i64 182112i64 }
-- input { 9i64 200i64 }
-- output { -8082i64 -8082i64 }
-- input { 20000i64 30i64 }
-- output { 7799i64 53992i64 }
-- input { 500i64 3000i64 }
-- output { 6163887i64 6163887i64 }
entry chosen (n: i64) (k: i64) : (i64, i64) =
  let is = map (spread k) (iota n)
  let first = hist (\a b -> if a < 0 then b else a) (-1) k is (iota n)
  let most = hist (\(a, i) (b, j) -> if b > a then (b, j) else (a, i)) (-1, -1) k is
                  (map (\i -> (i * 31 % 17, i)) (iota n))
  in (digest first, digest (map (.1) most))

-- Sums of halves, which are exact in any order.
-- ==
-- entry: halves
-- input { 300i64 3i64 }
-- output { 1892i64 }
-- input { 500i64 40i64 }
-- output { 75967i64 }
-- input { 400i64 6000i64 }
-- output { 157044i64 }
entry halves (n: i64) (k: i64) : i64 =
  let sums = hist (+) 0f32 k (map (spread k) (iota n)) (map (\i -> f32.i64 (i % 17) / 2) (iota n))
  in digest (map (\x -> i64.f32 (x * 2)) sums)

-- The same for each of several rows, short or long.
-- ==
-- entry: rows
-- input { 0i64 7i64 3i64 }
-- output { 0i64 0i64 0i64 }
-- input { 3i64 0i64 2i64 }
-- output { 0i64 -21i64 0i64 }
-- input { 40i64 5i64 3i64 }
-- output { 93824i64 4485i64 93824i64 }
-- input { 3i64 400i64 4i64 }
-- output { 786129i64 261i64 21156i64 }
-- input { 5i64 300i64 30i64 }
-- output { 8567021i64 114233i64 347348i64 }
-- input { 2i64 5000i64 20i64 }
-- output { 414554216i64 8234i64 786875i64 }
entry rows (s: i64) (n: i64) (k: i64) : (i64, i64, i64) =
  let points r = map (\i -> spread k (i + r * 5)) (iota n)
  let counts = map (\r -> hist (+) 0 k (points r) (map (+ r) (iota n))) (iota s)
  let first = map (\r -> hist (\a b -> if a < 0 then b else a) (-1) k (points r) (iota n)) (iota s)
  let sums = map (\r -> hist (+) 0f32 k (points r) (map (\i -> f32.i64 (i % 9 + r)) (iota n))) (iota s)
  in (digest (flatten counts), digest (flatten first), digest (map i64.f32 (flatten sums)))

-- Two fused histograms of the same iterations, of which one has many more bins; with initial
-- values, in two dimensions.
-- ==
-- entry: onto
-- input { 400i64 2i64 3i64 }
-- output { 414i64 7531i64 }
-- input { 400i64 9i64 11i64 }
-- output { 53364i64 1401764i64 }
-- input { 12000i64 3i64 5i64 }
-- output { 46992i64 119356i64 }
entry onto (n: i64) (h: i64) (w: i64) : (i64, i64) =
  let there = tabulate_2d h w (\y x -> (f32.i64 (y + 1), x))
  let positions = map (\i -> (spread h i, spread w (i / 2))) (iota n)
  let bins = reduce_by_index_2d there (\(a, b) (c, d) -> (a + c, i64.max b d)) (0, i64.lowest) positions
                                (map (\i -> (f32.i64 (i % 5), i % 1000)) (iota n))
  in (digest (map (\b -> i64.f32 b.0) (flatten bins)), digest (map (.1) (flatten bins)))

-- An iteration with an invalid value: the message of its check.
-- ==
-- entry: checked
-- input { 300i64 [0i64, 1i64, 2i64] }
-- output { 600i64 }
-- input { 300i64 [0i64, 7i64, 2i64] }
-- error: out of bounds
entry checked [m] (n: i64) (at: [m]i64) : i64 =
  let values = map (\i -> f32.i64 i) (iota m)
  in digest (map i64.f32 (hist (+) 0f32 4 (map (\i -> i % 5) (iota n))
                               (map (\i -> values[at[i % m]]) (iota n))))
