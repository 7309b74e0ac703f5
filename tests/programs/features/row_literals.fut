-- Reductions of literals of arrays.

def numbers (n: i64) (k: i64) : [n]i32 = opaque (tabulate n (\i -> i32.i64 ((i * 37 + k * 11) % 101 - 50)))

def weigh [n] (xs: [n]i32) : i32 = i32.sum (map2 (\i x -> i32.i64 (i % 13 + 1) * x) (iota n) xs)

-- An operator that is associative, not commutative: compositions of linear functions.
-- ==
-- entry: composed
-- input { 0i64 }
-- output { 0i32 0i32 }
-- input { 1i64 }
-- output { -18564i32 -13078i32 }
-- input { 1000i64 }
-- output { 512418i32 -84808715i32 }
-- input { 100003i64 }
-- output { 88248i32 60459633i32 }
entry composed (n: i64) : (i32, i32) =
  let (a, b, c) = (numbers n 1, numbers n 2, numbers n 3)
  let compose (factors, terms) (factors', terms') =
    unzip (map4 (\f t f' t' -> (f * f', t * f' + t')) factors terms factors' terms')
  let (factors, terms) = reduce compose (replicate n 1, replicate n 0) (zip [a, b, c] [b, c, a])
  in (weigh factors, weigh terms)

-- Neighbours in a grid, with the cell itself.
-- ==
-- entry: smoothed
-- input { 1i64 1i64 }
-- output { -450i32 }
-- input { 4i64 3i64 }
-- output { -2364i32 }
-- input { 130i64 257i64 }
-- output { 2107i32 }
entry smoothed (n: i64) (m: i64) : i32 =
  let grid = tabulate n (numbers m)
  let (up, down) = (rotate 1 grid, rotate (-1) grid)
  let sideways g = [map (rotate 1) g, g, map (rotate (-1)) g]
  let sum rows = reduce (map2 (map2 (+))) (replicate n (replicate m 0)) rows
  in weigh (map weigh (sum (sideways up ++ sideways grid ++ sideways down)))

-- Rows and numbers; the literal has another use.
-- ==
-- entry: pairs
-- input { 0i64 5i32 }
-- output { 0i32 9i32 0i32 }
-- input { 999i64 -7i32 }
-- output { 67844i32 -3i32 -1372i32 }
entry pairs (n: i64) (k: i32) : (i32, i32, i32) =
  let rows = [numbers n 5, numbers n 6]
  let add (xs, i) (ys, j) = (map2 i32.max xs ys, i + j)
  let (most, total) = reduce add (replicate n (-100), 1) (zip rows [k, 3])
  in (weigh most, total, weigh (map weigh (transpose rows)))

-- A row is updated in place after the literal was made.
-- ==
-- entry: updated
-- input { 10i64 }
-- output { 5899i32 -184i32 }
entry updated (n: i64) : (i32, i32) =
  let (a, b) = (numbers n 7, numbers n 8)
  let rows = [a, b]
  let changed = copy a with [n / 2] = 1000
  let sums = reduce (map2 (+)) (replicate n 0) rows
  in (weigh changed, weigh sums)
