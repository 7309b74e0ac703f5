-- Reductions whose segments share their elements in two dimensions, with few long segments: on
-- devices they are partitioned into chunks that are reduced from tiles. Sizes are no multiples of
-- tiles and chunks; integers, so that the order does not matter.

def along (n: i64) (m: i64) (a: i64) (b: i64) (c: i64) : [n][m]i32 =
  opaque (tabulate_2d n m (\i j -> i32.i64 ((i * a + j * b) % c) - 3))

def weigh [n][m] (xs: [n][m]i32) : i64 =
  i64.sum (tabulate (n * m) (\p -> i64.i32 xs[p / m, p % m] * ((p / m * 31 + p % m * 17) % 101 + 1)))

-- Sums of floats that are integers.
-- ==
-- entry: products
-- input { 70i64 75i64 130i64 }
-- output { 208844731i64 }
-- input { 33i64 40i64 260i64 }
-- output { 104639524i64 }
-- input { 20i64 17i64 1040i64 }
-- output { 107474081i64 }
-- input { 9i64 10i64 4100i64 }
-- output { 113209664i64 }
-- input { 8i64 8i64 4096i64 }
-- output { 77205425i64 }
-- input { 130i64 129i64 20i64 }
-- output { 102630454i64 }
-- input { 4i64 3i64 100i64 }
-- output { 342737i64 }
-- input { 40i64 40i64 3i64 }
-- output { 1483832i64 }
-- input { 0i64 8i64 40i64 }
-- output { 0i64 }
-- input { 8i64 9i64 0i64 }
-- output { 0i64 }
entry products (n: i64) (m: i64) (l: i64) : i64 =
  let a = map (map f32.i32) (along n l 7 3 11)
  let b = map (map f32.i32) (along l m 5 2 13)
  let c =
    #[incremental_flattening(only_inner)]
    map (\r -> map (\c -> f32.sum (map2 (*) r c)) (transpose b)) a
  in weigh (map (map i32.f32) c)

-- A batch of them, transposed, with a coefficient common to all segments.
-- ==
-- entry: batch
-- input { 3i64 18i64 40i64 200i64 }
-- output { 1542093263i64 }
-- input { 2i64 9i64 5i64 70i64 }
-- output { 22669574i64 }
entry batch (q: i64) (n: i64) (m: i64) (l: i64) : i64 =
  let a = opaque (tabulate_3d q l n (\h k i -> i32.i64 ((h * 3 + i * 7 + k * 5) % 17)))
  let b = opaque (tabulate_3d q m l (\h j k -> i32.i64 ((h * 2 + k * 3 + j * 11) % 19)))
  let w = opaque (tabulate l (\k -> i32.i64 (k % 5)))
  let c =
    #[incremental_flattening(only_inner)]
    map2 (\a b -> map (\r -> map (\c -> i32.sum (map3 (\x y z -> x * y - z) r c w)) b) (transpose a)) a b
  in weigh (flatten c)

-- Composition of maps x -> s * x + t: an operator on two values that does not commute.
-- ==
-- entry: ways
-- input { 35i64 34i64 260i64 }
-- output { -2740823512469i64 }
-- input { 17i64 20i64 1040i64 }
-- output { 669727395472i64 }
-- input { 8i64 9i64 4110i64 }
-- output { 138444763506i64 }
-- input { 3i64 4i64 300i64 }
-- output { 330186664733i64 }
entry ways (n: i64) (m: i64) (l: i64) : i64 =
  let (a, b) = (along n l 7 3 11, along m l 5 2 13)
  let both (s: i32, t: i32) (u: i32, v: i32) = (u * s, u * t + v)
  let c =
    #[incremental_flattening(only_inner)]
    map (\r -> map (\c -> reduce both (1, 0) (map2 (\x y -> (x * 2 + 1, x - y)) r c)) b) a
  in weigh (map (map (\(s, t) -> s ^ t)) c)

-- A sum and a minimum, with one rectangle of one iteration per thread.
-- ==
-- entry: two
-- input { 20i64 10i64 2100i64 }
-- output { -1475399036i64 }
entry two (n: i64) (m: i64) (l: i64) : i64 =
  let (a, b) = (along n l 7 3 11, along l m 5 2 13)
  let c =
    #[incremental_flattening(only_inner)]
    map (\r ->
           map (\c ->
                  let p = map2 (\x y -> loop z = x * y for _i < i64.i32 (x & 3) do z * 3 - y) r c
                  in i32.sum p ^ i32.minimum p)
               (transpose b))
        a
  in weigh c

-- The reduced elements are a result, too.
-- ==
-- entry: kept
-- input { 20i64 18i64 70i64 }
-- output { 15358515i64 }
entry kept (n: i64) (m: i64) (l: i64) : i64 =
  let (a, b) = (along n l 7 3 11, along l m 5 2 13)
  let (c, p) =
    #[incremental_flattening(only_inner)]
    unzip (map (\r -> unzip (map (\c -> let p = map2 (*) r c in (i32.sum p, p)) (transpose b))) a)
  in weigh c + weigh (flatten p)

-- A check in an iteration of the inner loop.
-- ==
-- entry: checked
-- input { 20i64 19i64 1500i64 100i64 }
-- output { 1601153612i64 }
-- input { 9i64 10i64 4100i64 100i64 }
-- output { 1046982614i64 }
-- input { 20i64 19i64 1500i64 99i64 }
-- error: out of bounds
entry checked (n: i64) (m: i64) (l: i64) (bound: i64) : i64 =
  let (a, b) = (along n l 7 3 11, along l m 5 2 13)
  let at = opaque (tabulate l (\k -> (k * 3) % 100))
  let table = opaque (tabulate bound (\k -> i32.i64 k))
  let c =
    #[incremental_flattening(only_inner)]
    map (\r -> map (\c -> i32.sum (map3 (\x y i -> x * y + table[i]) r c at)) (transpose b)) a
  in weigh c
