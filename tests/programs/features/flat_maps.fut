-- Maps whose function returns arrays of different sizes.

-- All five results.
-- ==
-- entry: replicas
-- input { [2i64, 0i64, 3i64, 1i64] [7i32, 8i32, 9i32, -1i32] }
-- output { [2i64, 0i64, 3i64, 1i64] [true, false, true, false, false, true] [0i64, 2i64, 2i64, 5i64] [7i32, 7i32, 9i32, 9i32, 9i32, -1i32] [14i32, 16i32, 18i32, -2i32] }
-- input { [0i64, 0i64] [7i32, 8i32] }
-- output { [0i64, 0i64] empty([0]bool) [0i64, 0i64] empty([0]i32) [14i32, 16i32] }
-- input { [5i64] [3i32] }
-- output { [5i64] [true, false, false, false, false] [0i64] [3i32, 3i32, 3i32, 3i32, 3i32] [6i32] }
-- input { empty([0]i64) empty([0]i32) }
-- output { empty([0]i64) empty([0]bool) empty([0]i64) empty([0]i32) empty([0]i32) }
entry replicas [n] (ks: [n]i64) (xs: [n]i32) =
  flatmap (\(k, x) -> (replicate k x, x * 2)) (zip ks xs)

-- Computed elements, among them pairs; other results are computed from them.
-- ==
-- entry: ranges
-- input { [3i64, 0i64, 4i64, 1i64] [10i64, 20i64, 30i64, 40i64] }
-- output { [10i64, 11i64, 14i64, 30i64, 31i64, 34i64, 39i64, 40i64] [5.0f64, 5.5f64, 7.0f64, 15.0f64, 15.5f64, 17.0f64, 19.5f64, 20.0f64] [35i64, 0i64, 134i64, 40i64] [3i64, 0i64, 4i64, 1i64] }
-- input { [0i64] [10i64] }
-- output { empty([0]i64) empty([0]f64) [0i64] [0i64] }
entry ranges [n] (ks: [n]i64) (xs: [n]i64) : ([]i64, []f64, [n]i64, [n]i64) =
  let f (k, x) =
    let ys = map (\i -> x + i * i) (iota k)
    in (zip ys (map (\y -> f64.i64 y / 2) ys), (i64.sum ys, k))
  let (_, _, _, yzs, sums) = flatmap f (zip ks xs)
  let (ys, zs) = unzip yzs
  let (sums, sizes) = unzip sums
  in (ys, zs, sums, sizes)

-- Rows, columns, and slices of existing arrays.
-- ==
-- entry: views
-- input { [[1i32, 2i32, 3i32], [4i32, 5i32, 6i32]] [0i64, 2i64, 1i64] }
-- output { [[1i32, 2i32, 3i32], [4i32, 5i32, 6i32], [1i32, 2i32, 3i32]] [[1i32, 4i32], [2i32, 5i32], [1i32, 4i32]] [3i32, 2i32, 1i32, 3i32, 2i32, 1i32, 6i32, 5i32, 4i32] [1i32, 4i32, 3i32, 6i32, 2i32, 5i32] }
-- input { [[1i32], [4i32]] [1i64, 0i64, 0i64] }
-- output { [[1i32]] [[1i32, 4i32]] [4i32, 1i32, 1i32] [1i32, 4i32, 1i32, 4i32, 1i32, 4i32] }
entry views [n] [m] (xss: [n][m]i32) (cuts: [3]i64) : ([][m]i32, [][n]i32, []i32, []i32) =
  let rows = (flatmap' (\c -> xss[:c % (n + 1)]) cuts).3
  let columns = (flatmap' (\c -> (transpose xss)[:c % (m + 1)]) cuts).3
  let backwards = (flatmap' (\c -> xss[c % n, ::-1]) cuts).3
  let down = (flatmap' (\c -> xss[:, c % m]) cuts).3
  in (rows, columns, backwards, down)

-- The size is known, or only the predicate.
-- ==
-- entry: kept
-- input { [4i64, 7i64, 10i64] }
-- output { [4i64, -4i64, 7i64, -7i64, 10i64, -10i64] [1i64, 2i64, 4i64, 1i64, 7i64, 1i64, 2i64, 5i64, 10i64] empty([0]i64) }
-- input { [1i64] }
-- output { [1i64, -1i64] [1i64] empty([0]i64) }
entry kept (xs: []i64) : ([]i64, []i64, []i64) =
  let pairs = (flatmap' (\x -> [x, -x]) xs).3
  let divisors = (flatmap' (\x -> filter (\d -> x % d == 0) (1...x)) xs).3
  let nothing = (flatmap' (\x -> filter (> x) (iota x)) xs).3
  in (pairs, divisors, nothing)

-- A flat map in a map, and one in another flat map.
-- ==
-- entry: nested
-- input { [[2i64, 3i64], [1i64, 4i64], [0i64, 0i64]] }
-- output { [16i64, 29i64, 0i64] [2i64, 1i64, 0i64] [-5i64, -6i64, -2i64] [0i64, 1i64, 2i64, 0i64, 1i64, 2i64, 3i64, 0i64, 1i64, 0i64, 1i64, 2i64, 3i64, 4i64, 0i64, 0i64] }
entry nested [n] [m] (kss: [n][m]i64) : ([n]i64, [n]i64, [n]i64, []i64) =
  let one ks =
    let (sizes, flags, offsets, all, ends) =
      flatmap (\k -> (map (\i -> i * k) (iota k), k + 1)) ks
    in ( i64.sum all + i64.sum sizes
       , i64.sum (map2 (*) (map i64.bool flags) (indices flags))
       , i64.sum offsets - i64.sum ends
       )
  let (a, b, c) = unzip3 (map one kss)
  let inner ks = (flatmap' (\k -> iota (k + 1)) ks).3
  in (a, b, c, (flatmap' inner kss).3)

-- Repeated in a loop: the leaves of a tree, from the root.
-- ==
-- entry: leaves
-- input { 6i64 }
-- output { [121i64, 205i64, 77i64, 152i64, 228i64, 146i64, 290i64, 435i64, 121i64, 205i64, 77i64, 152i64, 228i64, 146i64, 290i64, 435i64] }
-- input { 0i64 }
-- output { [1i64] }
entry leaves (n: i64) : []i64 =
  let grow x = if x % 3 == 0 then [x * 2 + 1] else if x % 3 == 1 then [x + 1, x * 2, x * 3] else []
  in loop xs = [1] for i < n do (flatmap' (\x -> grow (x + i)) xs).3

-- The concatenated array is updated in place; the array that an iteration returns is used
-- outside, and stays unchanged.
-- ==
-- entry: updated
-- input { 3i64 [5i64, 6i64, 7i64] }
-- output { [100i64, 6i64, 7i64, 5i64, 6i64, 7i64, 5i64, 6i64, 7i64] [5i64, 6i64, 7i64] }
-- input { 1i64 [5i64, 6i64] }
-- output { [100i64, 6i64] [5i64, 6i64] }
entry updated [n] (k: i64) (xs: [n]i64) : ([]i64, [n]i64) =
  let all = (flatmap' (\_ -> xs) (iota k)).3
  in (copy all with [0] = 100, xs)

-- Recursive functions.
-- ==
-- entry: by_parts
-- input { [3i32, -1i32, 4i32, 1i32, -5i32, 9i32, 2i32, 6i32, 5i32, 3i32, 5i32] }
-- output { [-5i32, -1i32, 1i32, 2i32, 3i32, 3i32, 4i32, 5i32, 5i32, 6i32, 9i32] }
-- input { empty([0]i32) }
-- output { empty([0]i32) }
def quicksort [n] (xs: [n]i32) : []i32 =
  if n < 2
  then xs
  else let (less, equal, more) = partition2 (< xs[n / 2]) (== xs[n / 2]) xs
       let part p = if p == 0 then quicksort less else if p == 1 then equal else quicksort more
       in (flatmap' part [0, 1, 2]).3

entry by_parts (xs: []i32) : []i32 = quicksort xs

-- Several chunks of iterations, with very different sizes.
-- ==
-- entry: many
-- input { 20000i64 }
-- output { 99960i64 180970559500i64 8058834i64 3087317885i64 30161861300i64 }
-- input { 777i64 }
-- output { 4549i64 143082072i64 261874i64 8740344i64 23818071i64 }
entry many (n: i64) : (i64, i64, i64, i64, i64) =
  let size i = if i % 1000 == 7 then 3000 else i % 5
  let (sizes, flags, offsets, all, sums) =
    flatmap (\i -> let ys = map (\j -> i * 31 + j) (iota (size i)) in (ys, i64.sum ys)) (iota n)
  in ( length all
     , i64.sum (map2 (\x i -> x * (i % 13)) all (indices all))
     , i64.sum (map2 (\f i -> if f then i % 1009 else 0) flags (indices flags))
     , i64.sum (map2 (*) offsets (map (% 7) (iota n))) + i64.sum sizes
     , i64.sum sums
     )

-- Iterations with empty arrays still have sizes.
-- ==
-- entry: empty_elements
-- input { [2i64, 0i64, 3i64] }
-- output { [2i64, 0i64, 3i64] [true, false, true, false, false] [0i64, 2i64, 2i64] 5i64 5i64 }
entry empty_elements (ks: []i64) : ([]i64, []bool, []i64, i64, i64) =
  let (sizes, flags, offsets, units, _) = flatmap (\k -> (replicate k (), ())) ks
  let (_, _, _, rows, _) = flatmap (\k -> (replicate k (replicate 0 k), ())) ks
  in (sizes, flags, offsets, length units, length rows)

-- Sequentially, under an attribute.
-- ==
-- entry: in_order
-- input { [3i64, 0i64, 2i64, 5i64] }
-- output { [0i64, 3i64, 6i64, 0i64, 2i64, 0i64, 5i64, 10i64, 15i64, 20i64] [9i64, 0i64, 4i64, 25i64] [3i64, 4i64, 5i64, 2i64, 3i64, 5i64, 6i64, 7i64, 8i64, 9i64] }
-- input { empty([0]i64) }
-- output { empty([0]i64) empty([0]i64) empty([0]i64) }
entry in_order [n] (ks: [n]i64) : ([]i64, [n]i64, []i64) =
  let (_, _, _, xs, ys) = #[sequential] flatmap (\k -> (map (* k) (iota k), k * k)) ks
  let (_, _, _, zs, _) = #[sequential_inner] flatmap (\k -> (map (+ k) (iota k), k)) ks
  in (xs, ys, zs)
