-- Scans of segments of all lengths, with an operator that does not commute: segments begin and
-- end anywhere within a block's tile.

type matrix = (i32, i32, i32, i32)

def product (a: matrix) (b: matrix) : matrix =
  ( a.0 * b.0 + a.1 * b.2
  , a.0 * b.1 + a.1 * b.3
  , a.2 * b.0 + a.3 * b.2
  , a.2 * b.1 + a.3 * b.3
  )

def value (i: i64) : i32 = i32.i64 (((i * 7919 + 13) ^ (i >> 3)) % 1009) - 500

def matrix (i: i64) : matrix =
  let x = value i
  in (x, 1, x ^ 3, x + 2)

def weigh [n] (xs: [n]i32) : i32 =
  i32.sum (map2 (\i x -> x * (i32.i64 i * 2 + 1)) (iota n) xs)

-- ==
-- entry: matrices
-- input { 12001i64 1i64 }
-- output { 780646738i32 144024001i32 779948297i32 1068694740i32 }
-- input { 1200i64 10i64 }
-- output { -721339892i32 1101391396i32 1539428591i32 1982255364i32 }
-- input { 12i64 1000i64 }
-- output { 1875731118i32 1432021656i32 -1052598857i32 -707135967i32 }
-- input { 2i64 3841i64 }
-- output { -1871142375i32 -26692023i32 690034819i32 307147885i32 }
-- input { 3i64 1280i64 }
-- output { -2108041639i32 775832294i32 1181124569i32 -944047939i32 }
-- input { 1i64 12001i64 }
-- output { -237974743i32 1050918772i32 1957173307i32 -836011330i32 }
-- input { 0i64 7i64 }
-- output { 0i32 0i32 0i32 0i32 }
-- input { 7i64 0i64 }
-- output { 0i32 0i32 0i32 0i32 }
entry matrices (m: i64) (n: i64) : (i32, i32, i32, i32) =
  let rows = tabulate m (\i -> unzip4 (scan product (1, 0, 0, 1) (tabulate n (\j -> matrix (i * n + j)))))
  let (as, bs, cs, ds) = unzip4 rows
  in (weigh (flatten as), weigh (flatten bs), weigh (flatten cs), weigh (flatten ds))

-- Mapped values next to the scan are inputs of its `post` lambda.
-- ==
-- entry: post_lambdas
-- input { 1200i64 10i64 }
-- output { 252453227i32 -1153384678i32 }
-- input { 4i64 3001i64 }
-- output { -1983044151i32 -799907793i32 }
-- input { 1i64 12001i64 }
-- output { 1339709531i32 -633759054i32 }
entry post_lambdas (m: i64) (n: i64) : (i32, i32) =
  let xss = tabulate m (\i -> tabulate n (\j -> value (i * n + j)))
  let yss = map (\xs -> map2 (\s x -> s * 3 ^ x) (scan (+) 0 xs) xs) xss
  let zss = map (\xs -> map2 (\s x -> s - x) (scan i32.max i32.lowest xs) xs) xss
  in (weigh (flatten yss), weigh (flatten zss))

-- Values of three types, and indices that follow from a scan.
-- ==
-- entry: kinds
-- input { 12001i64 }
-- output { -254969326i32 -1495410419i32 146887684i32 }
-- input { 0i64 }
-- output { 0i32 0i32 0i32 }
entry kinds (n: i64) : (i32, i32, i32) =
  let (as, bs) = partition (\x -> x % 3 == 0) (map value (iota n))
  let sums = scan (\(a, b) (c, d) -> (a + c, i32.max b d)) (0, i32.lowest) (map (\i -> (value i, value i)) (iota n))
  let (ss, ms) = unzip sums
  in (weigh as - weigh bs, weigh ss, weigh ms)

-- Values of eight bytes, with operators that are atomic on devices; one, and several at once.
-- ==
-- entry: wide
-- input { 1i64 12001i64 }
-- output { -228717193917890560i64 -6018090984518808i64 -3743406465398865920i64 }
-- input { 3i64 2816i64 }
-- output { 6382159856475832320i64 -452767963040656i64 -3089659608608800768i64 }
-- input { 700i64 13i64 }
-- output { 19366577744904192i64 7722936934056224i64 7363700594508300288i64 }
-- input { 0i64 3i64 }
-- output { 0i64 0i64 0i64 }
entry wide (m: i64) (n: i64) : (i64, i64, i64) =
  let far (i: i64) = i64.i32 (value i) << 23
  let heavy [k] (xs: [k]i64) = i64.sum (map2 (\i x -> x * (i * 2 + 1)) (iota k) xs)
  let xss = tabulate m (\i -> tabulate n (\j -> far (i * n + j)))
  let sums = map (scan (+) 0) xss
  let tops = map (\xs -> map2 (\a b -> a ^ i64.i32 b) (scan i64.max i64.lowest xs)
                                                       (scan (^) 0 (map (\x -> i32.i64 (x >> 20)) xs))) xss
  let least = map (\xs -> scan i64.min i64.highest (map (\x -> x * x - (x << 3)) xs)) xss
  in (heavy (flatten sums), heavy (flatten tops), heavy (flatten least))

-- The operator fails in some tile, while others wait for its aggregate.
-- ==
-- entry: checked
-- input { 12001i64 20000i32 }
-- output { 1212782672i32 }
-- input { 12001i64 11000i32 }
-- error: Assertion is false
-- input { 12001i64 2i32 }
-- error: Assertion is false
entry checked (n: i64) (limit: i32) : i32 =
  let below (x: i32) = assert (x < limit) x
  in weigh (scan (\a b -> below (a + b)) 0 (map (\i -> i32.i64 (i % 3)) (iota n)))
