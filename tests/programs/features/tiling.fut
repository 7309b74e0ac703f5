-- Iterations that share the elements read in their loops, in one and two dimensions: sizes that
-- are not multiples of a tile, small sizes, operators of all kinds.

def along (n: i64) (m: i64) (a: i64) (b: i64) (c: i64) : [n][m]i32 =
  opaque (tabulate_2d n m (\i j -> i32.i64 ((i * a + j * b) % c) - 3))

def weigh [n][m] (xs: [n][m]i32) : i64 =
  i64.sum (tabulate (n * m) (\p -> i64.i32 xs[p / m, p % m] * ((p / m * 31 + p % m * 17) % 101 + 1)))

def product_with 't [n][m][l] (plus: t -> t -> t) (times: t -> t -> t) (zero: t) (a: [n][l]t) (b: [l][m]t) : [n][m]t =
  map (\r -> map (\c -> reduce plus zero (map2 times r c)) (transpose b)) a

-- ==
-- entry: matrices
-- input { 200i64 180i64 21i64 }
-- output { 231346801i64 }
-- input { 260i64 130i64 4i64 }
-- output { 41284254i64 }
-- input { 30000i64 2i64 5i64 }
-- output { 85683601i64 }
-- input { 5i64 6i64 7i64 }
-- output { 73307i64 }
entry matrices (n: i64) (m: i64) (l: i64) : i64 =
  weigh (product_with (+) (*) 0 (along n l 7 3 11) (along l m 5 2 13))

-- Both operands are contiguous along the loop.
-- ==
-- entry: rows
-- input { 190i64 185i64 18i64 }
-- output { 193548713i64 }
entry rows (n: i64) (m: i64) (l: i64) : i64 =
  let (a, b) = (along n l 7 3 11, along m l 5 2 13)
  in weigh (map (\r -> map (\c -> i32.sum (map2 (*) r c)) b) a)

-- Shortest paths of two steps.
-- ==
-- entry: shortest
-- input { 185i64 20i64 }
-- output { 44585338i64 }
entry shortest (n: i64) (m: i64) : i64 =
  weigh (product_with i32.min (+) i32.highest (along n m 7 3 101) (along m n 7 3 101))

-- Enough blocks for several iterations per thread; an operator that does not commute, and a
-- coefficient common to all iterations.
-- ==
-- entry: batch
-- input { 16i64 65i64 67i64 17i64 }
-- output { 183305853647907i64 }
-- input { 2i64 3i64 4i64 5i64 }
-- output { 9327850i64 }
entry batch (q: i64) (n: i64) (m: i64) (l: i64) : i64 =
  let a = opaque (tabulate_3d q n l (\h i k -> i32.i64 ((h * 3 + i * 7 + k * 5) % 17)))
  let b = opaque (tabulate_3d q l m (\h k j -> i32.i64 ((h * 2 + k * 3 + j * 11) % 19)))
  let w = opaque (tabulate l (\k -> i32.i64 (k % 5)))
  let c =
    tabulate_3d q n m (\h i j ->
                         let s = loop s = a[h, i, 0] for k < l do s * 3 + a[h, i, k] * b[h, k, j] - w[k]
                         in s ^ b[h, l - 1, j])
  in weigh (flatten c)

-- Sums of floats, sequentially.
-- ==
-- entry: floats
-- input { 210i64 170i64 33i64 }
-- output { [0.000886548f32, 0.0005387852f32, 0.00038468084f32, 0.00028989787f32, 0.00022683713f32, 0.0001825753f32, 0.00015023962f32, 0.00012586325f32, 0.000107014035f32, 9.212855e-05f32, 8.0162536e-05f32, 7.0395974e-05f32] }
entry floats (n: i64) (m: i64) (l: i64) : []f32 =
  let a = opaque (tabulate_2d n l (\i k -> 1 / f32.i64 (i + 2 * k + 1)))
  let b = opaque (tabulate_2d l m (\k j -> 1 / f32.i64 (3 * k + j + 2)))
  let c = opaque (tabulate_2d n m (\i j -> loop s = 0 for k < l do s * 0.75 + a[i, k] * b[k, j]))
  in tabulate 12 (\p -> c[p * 17, p * 13])

-- Two loop-carried values, two loops, and private elements next to shared ones.
-- ==
-- entry: bodies
-- input { 700i64 300i64 }
-- output { 14109575i64 }
-- input { 20i64 9i64 }
-- output { 855225i64 }
entry bodies (n: i64) (m: i64) : i64 =
  let own = opaque (tabulate n (\i -> i32.i64 (i * 13 % 29)))
  let xs = opaque (tabulate m (\k -> i32.i64 (k * 7 % 31)))
  let ys = opaque (tabulate m (\k -> i32.i64 (k * 5 % 37)))
  let far (x: i32) =
    loop (s, t) = (0, x) for k < m do (s + (xs[k] - t) * (ys[k] + x), t ^ xs[k])
  let near (s: i32, t: i32) (x: i32) = loop s for k < m do i32.max (s - t) (x * ys[k])
  let rs = opaque (map (\x -> near (far x) x) own)
  in i64.sum (tabulate n (\p -> i64.i32 rs[p] * (p * 31 % 101 + 1)))

-- A check in the loop: the index of a read.
-- ==
-- entry: checked
-- input { 40i64 30i64 20i64 100i64 }
-- output { 18935962i64 }
-- input { 300i64 130i64 20i64 100i64 }
-- output { 616696076i64 }
-- input { 300i64 130i64 20i64 19i64 }
-- error: out of bounds
entry checked (n: i64) (m: i64) (l: i64) (bound: i64) : i64 =
  let a = along n l 7 3 11
  let at = opaque (tabulate l (\k -> (k * 3) % l))
  let table = opaque (tabulate bound (\k -> i32.i64 k))
  let b = along l m 5 2 13
  in weigh (tabulate_2d n m (\i j -> loop s = 0 for k < l do s + a[i, k] * b[k, j] + table[at[k]]))

-- A check before the loop: the block ends at its next barrier.
-- ==
-- entry: picked
-- input { 600i64 300i64 600i64 }
-- output { 135521871349i64 }
-- input { 600i64 300i64 599i64 }
-- error: out of bounds
entry picked (n: i64) (m: i64) (bound: i64) : i64 =
  let own = opaque (tabulate n (\i -> i * 7 % n))
  let table = opaque (tabulate bound (\i -> i32.i64 i))
  let xs = opaque (tabulate m (\k -> i32.i64 (k * 7 % 31)))
  let rs = opaque (map (\i -> loop s = table[i] for k < m do s * 3 + xs[k]) own)
  in i64.sum (tabulate n (\p -> i64.i32 rs[p] * (p * 31 % 101 + 1)))

-- One row per one-dimensional tile: values of an outer dimension are equal along it.
-- ==
-- entry: stripes
-- input { 5i64 700i64 90i64 }
-- output { -951184069260i64 }
-- input { 3i64 4i64 5i64 }
-- output { -155597i64 }
entry stripes (n: i64) (m: i64) (l: i64) : i64 =
  let a = along n l 7 3 11
  let c = opaque (tabulate_2d n m (\i j -> loop s = i32.i64 j for k < l do s * 3 ^ a[i, l - 1 - k]))
  in weigh c
