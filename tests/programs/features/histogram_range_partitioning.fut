-- Histograms with too many bins for private copies per chunk, and cheap iterations: each worker
-- updates a range of the bins.

-- Scattered bins, some of them below 0 and some after the last one.
def spread (k: i64) (i: i64) : i64 = (i * 7919 + i / 13) % (k + 20) - 10

-- A checksum that depends on every bin and its index.
def digest [k] (xs: [k]i64) : i64 = i64.sum (map2 (\x i -> x * (i % 101 + 1)) xs (iota k))

-- The first and the last iteration of a bin, and the maximum by two values.
-- ==
-- entry: chosen
-- input { 21000i64 21000i64 }
-- output { 7315244855i64 10553772357i64 7478175i64 8610957735i64 }
-- input { 25600i64 30000i64 }
-- output { 5900626699i64 10298549950i64 6221031i64 8262551554i64 }
-- input { 25700i64 100000i64 }
-- output { 16829380190i64 16829380190i64 6697063i64 16829380190i64 }
-- input { 100001i64 60000i64 }
-- output { 99005184990i64 206966607010i64 31286027i64 143215771207i64 }
-- input { 30000i64 29000i64 }
-- output { 12811660784i64 20414507120i64 8883682i64 19964678768i64 }
entry chosen (n: i64) (k: i64) : (i64, i64, i64, i64) =
  let is = iota n
  let bins = map (spread k) is
  let first = hist (\a b -> if a < 0 then b else a) (-1) k bins is
  let last = hist (\a b -> if b < 0 then a else b) (-1) k bins is
  let most = hist (\a b -> if b.0 > a.0 then b else a) (-1, -1) k bins
                  (map (\i -> (i * 31 % 17, i)) is)
  in (digest first, digest last, digest (map (.0) most), digest (map (.1) most))

-- Counts up to a bound; the indices are read from memory, as `i32`.
-- ==
-- entry: counted
-- input { 40000i64 30000i64 2i32 }
-- output { 1091455i64 }
-- input { 70000i64 36000i64 3i32 }
-- output { 3495653i64 }
entry counted (n: i64) (k: i64) (bound: i32) : i64 =
  let positions = map (\i -> i32.i64 (spread k (i / 3 * 2))) (iota n)
  let counts = hist (\a b -> i32.min (a + b) bound) 0 k (map i64.i32 positions) (replicate n 1)
  in digest (map i64.i32 counts)

-- Sums whose last bits depend on the order, which is that of the iterations.
-- ==
-- entry: sums
-- input { 64000i64 40000i64 3i64 }
-- output { [-408.48987f32, -584.87885f32, -157.68066f32] [20.069218f32, 169.42818f32, -269.66162f32] }
-- input { 90000i64 50000i64 4i64 }
-- output { [-507.24353f32, -130.5514f32, 415.8542f32, 298.32617f32] [110.29678f32, 204.4059f32, 477.36298f32, 438.8473f32] }
entry sums (n: i64) (k: i64) (last: i64) : ([]f32, []f32) =
  let value (i: i64) = f32.i64 (i % 1009 - 500) / f32.i64 (i % 89 + 1)
  let bins = reduce_by_index (map value (iota k)) (+) 0 (map (spread (k / 50)) (iota n)) (map value (iota n))
  in (bins[:last], bins[k / 50 - last:k / 50])

-- Bins in two dimensions, of which the outer one is short or long.
-- ==
-- entry: grid
-- input { 30000i64 2i64 20000i64 }
-- output { 11469137910i64 }
-- input { 30000i64 20000i64 3i64 }
-- output { 11468524313i64 }
-- input { 30000i64 1i64 40000i64 }
-- output { 7658505557i64 }
-- input { 30000i64 0i64 5i64 }
-- output { 0i64 }
-- input { 30000i64 40000i64 0i64 }
-- output { 0i64 }
entry grid (n: i64) (h: i64) (w: i64) : i64 =
  let positions = map (\i -> (i * 31 % (h + 2) - 1, i * 7919 % (w + 3) - 1)) (iota n)
  let bins = reduce_by_index_2d (replicate h (replicate w 1)) (+) 0 positions (iota n)
  in digest (flatten bins)
