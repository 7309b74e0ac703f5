-- Packed elements: filters, partitions and scatters to consecutive indices, to others, and to
-- mixtures. Sums weight each element by its index.

def weighed [n] (xs: [n]i64) : i64 = i64.sum (map2 (*) (map (+ 1) (indices xs)) xs)

def of (k: i64) (i: i64) : bool = if k == 0 then false else if k > 4 then i % 512 < 300 else i * i % 7 % 5 < k

-- ==
-- entry: kept_i8
-- input { 0i64 2i64 }
-- output { 0i64 0i64 }
-- input { 7i64 2i64 }
-- output { 3i64 20i64 }
-- input { 1000i64 0i64 }
-- output { 0i64 0i64 }
-- input { 1000i64 2i64 }
-- output { 428i64 4695704i64 }
-- input { 5000i64 3i64 }
-- output { 3572i64 318030134i64 }
-- input { 5000i64 5i64 }
-- output { 3000i64 223140000i64 }
entry kept_i8 (n: i64) (k: i64) : (i64, i64) =
  let xs = filter (\(i, _) -> of k i) (zip (iota n) (map (\i -> i8.i64 (i % 100)) (iota n)))
  in (length xs, weighed (map (\(_, x) -> i64.i8 x) xs))

-- ==
-- entry: kept_u16
-- input { 0i64 2i64 }
-- output { 0i64 0i64 }
-- input { 7i64 2i64 }
-- output { 3i64 20i64 }
-- input { 1000i64 0i64 }
-- output { 0i64 0i64 }
-- input { 1000i64 2i64 }
-- output { 428i64 4695704i64 }
-- input { 5000i64 3i64 }
-- output { 3572i64 318030134i64 }
-- input { 5000i64 5i64 }
-- output { 3000i64 223140000i64 }
entry kept_u16 (n: i64) (k: i64) : (i64, i64) =
  let xs = filter (\(i, _) -> of k i) (zip (iota n) (map (\i -> u16.i64 (i % 100)) (iota n)))
  in (length xs, weighed (map (\(_, x) -> i64.u16 x) xs))

-- ==
-- entry: kept_i32
-- input { 0i64 2i64 }
-- output { 0i64 0i64 }
-- input { 7i64 2i64 }
-- output { 3i64 20i64 }
-- input { 1000i64 0i64 }
-- output { 0i64 0i64 }
-- input { 1000i64 2i64 }
-- output { 428i64 4695704i64 }
-- input { 5000i64 3i64 }
-- output { 3572i64 318030134i64 }
-- input { 5000i64 5i64 }
-- output { 3000i64 223140000i64 }
entry kept_i32 (n: i64) (k: i64) : (i64, i64) =
  let xs = filter (\(i, _) -> of k i) (zip (iota n) (map (\i -> i32.i64 (i % 100)) (iota n)))
  in (length xs, weighed (map (\(_, x) -> i64.i32 x) xs))

-- ==
-- entry: kept_i64
-- input { 0i64 2i64 }
-- output { 0i64 0i64 }
-- input { 7i64 2i64 }
-- output { 3i64 20i64 }
-- input { 1000i64 0i64 }
-- output { 0i64 0i64 }
-- input { 1000i64 2i64 }
-- output { 428i64 4695704i64 }
-- input { 5000i64 3i64 }
-- output { 3572i64 318030134i64 }
-- input { 5000i64 5i64 }
-- output { 3000i64 223140000i64 }
entry kept_i64 (n: i64) (k: i64) : (i64, i64) =
  let xs = filter (\(i, _) -> of k i) (zip (iota n) (map (\i -> i64.i64 (i % 100)) (iota n)))
  in (length xs, weighed (map (\(_, x) -> i64.i64 x) xs))

-- ==
-- entry: kept_f16
-- input { 0i64 2i64 }
-- output { 0i64 0i64 }
-- input { 7i64 2i64 }
-- output { 3i64 20i64 }
-- input { 1000i64 0i64 }
-- output { 0i64 0i64 }
-- input { 1000i64 2i64 }
-- output { 428i64 4695704i64 }
-- input { 5000i64 3i64 }
-- output { 3572i64 318030134i64 }
-- input { 5000i64 5i64 }
-- output { 3000i64 223140000i64 }
entry kept_f16 (n: i64) (k: i64) : (i64, i64) =
  let xs = filter (\(i, _) -> of k i) (zip (iota n) (map (\i -> f16.i64 (i % 100)) (iota n)))
  in (length xs, weighed (map (\(_, x) -> i64.f16 x) xs))

-- ==
-- entry: kept_f32
-- input { 0i64 2i64 }
-- output { 0i64 0i64 }
-- input { 7i64 2i64 }
-- output { 3i64 20i64 }
-- input { 1000i64 0i64 }
-- output { 0i64 0i64 }
-- input { 1000i64 2i64 }
-- output { 428i64 4695704i64 }
-- input { 5000i64 3i64 }
-- output { 3572i64 318030134i64 }
-- input { 5000i64 5i64 }
-- output { 3000i64 223140000i64 }
entry kept_f32 (n: i64) (k: i64) : (i64, i64) =
  let xs = filter (\(i, _) -> of k i) (zip (iota n) (map (\i -> f32.i64 (i % 100)) (iota n)))
  in (length xs, weighed (map (\(_, x) -> i64.f32 x) xs))

-- ==
-- entry: kept_f64
-- input { 0i64 2i64 }
-- output { 0i64 0i64 }
-- input { 7i64 2i64 }
-- output { 3i64 20i64 }
-- input { 1000i64 0i64 }
-- output { 0i64 0i64 }
-- input { 1000i64 2i64 }
-- output { 428i64 4695704i64 }
-- input { 5000i64 3i64 }
-- output { 3572i64 318030134i64 }
-- input { 5000i64 5i64 }
-- output { 3000i64 223140000i64 }
entry kept_f64 (n: i64) (k: i64) : (i64, i64) =
  let xs = filter (\(i, _) -> of k i) (zip (iota n) (map (\i -> f64.i64 (i % 100)) (iota n)))
  in (length xs, weighed (map (\(_, x) -> i64.f64 x) xs))

-- ==
-- entry: kept_bool
-- input { 0i64 2i64 }
-- output { 0i64 0i64 }
-- input { 7i64 2i64 }
-- output { 3i64 2i64 }
-- input { 1000i64 0i64 }
-- output { 0i64 0i64 }
-- input { 1000i64 2i64 }
-- output { 428i64 30603i64 }
-- input { 5000i64 3i64 }
-- output { 3572i64 2125937i64 }
-- input { 5000i64 5i64 }
-- output { 3000i64 1500500i64 }
entry kept_bool (n: i64) (k: i64) : (i64, i64) =
  let xs = filter (\(i, _) -> of k i) (zip (iota n) (map (\i -> i % 3 == 1) (iota n)))
  in (length xs, weighed (map (\(_, x) -> i64.bool x) xs))

-- ==
-- entry: parted_u8
-- input { 0i64 2i64 }
-- output { 0i64 0i64 0i64 }
-- input { 9i64 1i64 }
-- output { 2i64 14i64 147i64 }
-- input { 1000i64 0i64 }
-- output { 0i64 0i64 25608000i64 }
-- input { 4999i64 2i64 }
-- output { 2199i64 121994600i64 193426100i64 }
-- input { 5000i64 3i64 }
-- output { 3600i64 324286300i64 48373850i64 }
-- input { 5000i64 5i64 }
-- output { 5000i64 623040000i64 0i64 }
entry parted_u8 (n: i64) (k: i64) : (i64, i64, i64) =
  let (xs, ys) = partition (\x -> of k (i64.u8 x)) (map (\i -> u8.i64 (i % 100)) (iota n))
  in (length xs, weighed (map i64.u8 xs), weighed (map i64.u8 ys))

-- ==
-- entry: parted_i32
-- input { 0i64 2i64 }
-- output { 0i64 0i64 0i64 }
-- input { 9i64 1i64 }
-- output { 2i64 14i64 147i64 }
-- input { 1000i64 0i64 }
-- output { 0i64 0i64 25608000i64 }
-- input { 4999i64 2i64 }
-- output { 2199i64 121994600i64 193426100i64 }
-- input { 5000i64 3i64 }
-- output { 3600i64 324286300i64 48373850i64 }
-- input { 5000i64 5i64 }
-- output { 5000i64 623040000i64 0i64 }
entry parted_i32 (n: i64) (k: i64) : (i64, i64, i64) =
  let (xs, ys) = partition (\x -> of k (i64.i32 x)) (map (\i -> i32.i64 (i % 100)) (iota n))
  in (length xs, weighed (map i64.i32 xs), weighed (map i64.i32 ys))

-- ==
-- entry: parted_f64
-- input { 0i64 2i64 }
-- output { 0i64 0i64 0i64 }
-- input { 9i64 1i64 }
-- output { 2i64 14i64 147i64 }
-- input { 1000i64 0i64 }
-- output { 0i64 0i64 25608000i64 }
-- input { 4999i64 2i64 }
-- output { 2199i64 121994600i64 193426100i64 }
-- input { 5000i64 3i64 }
-- output { 3600i64 324286300i64 48373850i64 }
-- input { 5000i64 5i64 }
-- output { 5000i64 623040000i64 0i64 }
entry parted_f64 (n: i64) (k: i64) : (i64, i64, i64) =
  let (xs, ys) = partition (\x -> of k (i64.f64 x)) (map (\i -> f64.i64 (i % 100)) (iota n))
  in (length xs, weighed (map i64.f64 xs), weighed (map i64.f64 ys))

-- Several arrays with the same packed indices.
-- ==
-- entry: kept_pairs
-- input { 0i64 2i64 }
-- output { 0i64 0i64 0i64 }
-- input { 3000i64 2i64 }
-- output { 1654161366i64 41476666i64 1654161366i64 }
-- input { 3000i64 5i64 }
-- output { 3136976400i64 80222400i64 3136976400i64 }
entry kept_pairs (n: i64) (k: i64) : (i64, i64, i64) =
  let (xs, ys, zs) = unzip3 (filter (\(i, _, _) -> of k i) (map (\i -> (i, u8.i64 (i % 100), f32.i64 i)) (iota n)))
  in (weighed xs, weighed (map i64.u8 ys), weighed (map i64.f32 zs))

-- Decreasing indices, indices that jump after runs, indices out of bounds on both sides.
-- ==
-- entry: placed
-- input { 0i64 0i64 }
-- output { 0i64 }
-- input { 20i64 0i64 }
-- output { 3290i64 }
-- input { 3000i64 0i64 }
-- output { 9013503500i64 }
-- input { 3000i64 1i64 }
-- output { 4513504000i64 }
-- input { 3000i64 2i64 }
-- output { 2308050900i64 }
-- input { 3000i64 3i64 }
-- output { 8990981030i64 }
-- input { 3000i64 4i64 }
-- output { 7084290500i64 }
entry placed (n: i64) (k: i64) : i64 =
  let place i = if k == 0 then i else if k == 1 then n - 1 - i else if k == 2 then i + 700 * (i / 700) else if k == 3 then i - 5 else i * 7 % n
  in weighed (scatter (replicate n 1i64) (map place (iota n)) (map (+ 3) (iota n)))

-- Counts as indices; the result has fewer elements than needed, or some are skipped.
def counted (n: i64) (k: i64) : [n]i64 = scan (+) 0 (map (\i -> i64.bool (of k i)) (iota n))

-- ==
-- entry: early
-- input { 0i64 2i64 0i64 }
-- output { 0i64 }
-- input { 15i64 2i64 40i64 }
-- output { 958i64 }
-- input { 1000i64 2i64 1000i64 }
-- output { 61021113i64 }
-- input { 3000i64 5i64 700i64 }
-- output { 172609328i64 }
-- input { 3001i64 5i64 1799i64 }
-- output { 3134107207i64 }
entry early (n: i64) (k: i64) (room: i64) : i64 =
  weighed (scatter (replicate room 1) (map2 (\i o -> if of k i then o - 4 else -1) (iota n) (counted n k))
                   (map (+ 3) (iota n)))

-- ==
-- entry: late
-- input { 0i64 2i64 0i64 }
-- output { 0i64 }
-- input { 15i64 2i64 40i64 }
-- output { 1182i64 }
-- input { 1000i64 2i64 1000i64 }
-- output { 62026256i64 }
-- input { 3000i64 5i64 700i64 }
-- output { 106011122i64 }
-- input { 3001i64 5i64 1799i64 }
-- output { 792216556i64 }
entry late (n: i64) (k: i64) (room: i64) : i64 =
  weighed (map i64.i16 (scatter (replicate room 1) (map2 (\i o -> if of k i then o + 2 else -7) (iota n) (counted n k))
                                (map (\i -> i16.i64 (i % 1000)) (iota n))))

-- ==
-- entry: moved
-- input { 0i64 2i64 0i64 }
-- output { 0i64 }
-- input { 15i64 2i64 40i64 }
-- output { 1329i64 }
-- input { 1000i64 2i64 1000i64 }
-- output { 62305526i64 }
-- input { 3000i64 5i64 700i64 }
-- output { 168676360i64 }
-- input { 3001i64 5i64 1799i64 }
-- output { 3121226654i64 }
entry moved (n: i64) (k: i64) (room: i64) : i64 =
  weighed (scatter (replicate room 1) (map2 (\i o -> if of k i then o + k else -1) (iota n) (counted n k))
                   (map (+ 3) (iota n)))

-- Sums of other values than flags: indices with gaps between them.
-- ==
-- entry: gaps
-- input { 0i64 10i64 }
-- output { 55i64 55i64 }
-- input { 100i64 140i64 }
-- output { 409478i64 466031i64 }
-- input { 3000i64 4000i64 }
-- output { 9204552790i64 12018503500i64 }
entry gaps (n: i64) (room: i64) : (i64, i64) =
  let at = map (\s -> s - 3) (scan (+) 0 (map (\i -> 1 + i64.bool (i % 700 < 13)) (iota n)))
  let wide = scan (+) 0i32 (map (\i -> i32.i64 (i % 3 / 2)) (iota n))
  in ( weighed (scatter (replicate room 1) at (map (+ 3) (iota n)))
     , weighed (scatter (replicate room 1) (map2 (\i w -> i + i64.i32 w) (iota n) wide) (map (+ 3) (iota n))))

-- A step of a radix sort by two bits: four counts at once, whose last elements are also read.
-- ==
-- entry: digits
-- input { 0i64 0i64 }
-- output { 0i64 0i64 }
-- input { 9i64 0i64 }
-- output { 1230i64 35i64 }
-- input { 5000i64 2i64 }
-- output { 6318240158i64 18680i64 }
entry digits (n: i64) (shift: i64) : (i64, i64) =
  let xs = map (\i -> i32.i64 (i * i % 1009)) (iota n)
  let digit x = (x >> i32.i64 shift) & 3
  let add (a, b, c, d) (e, f, g, h) : (i64, i64, i64, i64) = (a + e, b + f, c + g, d + h)
  let counts = scan add (0, 0, 0, 0)
                    (map (\x -> let k = digit x
                                in (i64.bool (k == 0), i64.bool (k == 1), i64.bool (k == 2), i64.bool (k == 3)))
                         xs)
  let (na, nb, nc, _) = if n == 0 then (0, 0, 0, 0) else last counts
  let place x (a, b, c, d) =
    let k = digit x
    in if k == 0 then a - 1 else if k == 1 then na + b - 1
       else if k == 2 then na + nb + c - 1 else na + nb + nc + d - 1
  let ys = scatter (replicate n 0) (map2 place xs counts) xs
  in (weighed (map i64.i32 ys), na * 3 + nb * 5 + nc * 7)

-- The last element of a scan next to its other elements.
-- ==
-- entry: shares
-- input { [3i64, 0i64, 2i64] }
-- output { [1i64, 1i64, 1i64, 3i64, 3i64] 5i64 }
-- input { empty([0]i64) }
-- output { empty([0]i64) 0i64 }
entry shares [n] (ks: [n]i64) : ([]i64, i64) =
  let ends = scan (+) 0 ks
  let m = if n == 0 then 0 else ends[n - 1]
  let starts = map2 (-) ends ks
  let marks = scatter (replicate m 0) (map2 (\k s -> if k > 0 then s else -1) ks starts) (map (+ 1) (iota n))
  in (scan i64.max 0 marks, m)

-- Indices so large that the sum wraps around.
-- ==
-- entry: far
-- input { 100i64 3i64 }
-- output { 5050i64 }
entry far (n: i64) (k: i64) : i64 =
  weighed (scatter (replicate n 1) (map2 (\i o -> if of k i then o + i64.lowest else -1) (iota n) (counted n k))
                   (map (+ 3) (iota n)))
