-- Transposing copies: matrices of all shapes, batches of them, other permutations.
-- ==
-- entry: matrix
-- input { 100i64 70i64 } output { 0i64 }
-- input { 64i64 32i64 } output { 0i64 }
-- input { 3i64 200i64 } output { 0i64 }
-- input { 200i64 3i64 } output { 0i64 }
-- input { 17i64 16i64 } output { 0i64 }
-- ==
-- entry: batch
-- input { 3i64 50i64 37i64 } output { 0i64 }
-- input { 5i64 2i64 300i64 } output { 0i64 }
-- input { 1i64 33i64 33i64 } output { 0i64 }
-- ==
-- entry: outward
-- input { 4i64 35i64 40i64 } output { 0i64 }
-- ==
-- entry: inward
-- input { 40i64 35i64 4i64 } output { 0i64 }
-- ==
-- entry: bytes
-- input { 70i64 33i64 } output { 0i64 }

def wrong2 [n][m] 't (equal: t -> t -> bool) (a: [n][m]t) (b: [m][n]t) : i64 =
  i64.sum (tabulate (n * m) (\p -> let i = p / m
                                   let j = p % m
                                   in if equal a[i, j] b[j, i] then 0 else 1))

entry matrix (n: i64) (m: i64) : i64 =
  let a = opaque (tabulate_2d n m (\i j -> f64.i64 (i * 1000 + j)))
  let b = opaque (copy (transpose a) with [0, 0] = a[0, 0])
  in wrong2 (==) a b

entry bytes (n: i64) (m: i64) : i64 =
  let a = opaque (tabulate_2d n m (\i j -> u8.i64 (i * 7 + j)))
  let b = opaque (copy (transpose a) with [0, 0] = a[0, 0])
  in wrong2 (==) a b

def wrong3 [k][n][m] (at: i64 -> i64 -> i64 -> i32) (a: [k][n][m]i32) : i64 =
  i64.sum (tabulate (k * n * m) (\p -> let h = p / (n * m)
                                       let i = p / m % n
                                       let j = p % m
                                       in if a[h, i, j] == at h i j then 0 else 1))

entry batch (k: i64) (n: i64) (m: i64) : i64 =
  let a = opaque (tabulate_3d k n m (\h i j -> i32.i64 (h * 10000 + i * 100 + j)))
  let b = opaque (copy (map transpose a) with [0, 0, 0] = 0)
  in wrong3 (\h i j -> i32.i64 (h * 10000 + j * 100 + i)) b

entry outward (k: i64) (n: i64) (m: i64) : i64 =
  let a = opaque (tabulate_3d k n m (\h i j -> i32.i64 (h * 10000 + i * 100 + j)))
  let b = opaque (copy (transpose (map transpose a)) with [0, 0, 0] = 0)
  in wrong3 (\h i j -> i32.i64 (i * 10000 + j * 100 + h)) b

entry inward (k: i64) (n: i64) (m: i64) : i64 =
  let a = opaque (tabulate_3d k n m (\h i j -> i32.i64 (h * 10000 + i * 100 + j)))
  let b = opaque (copy (map transpose (transpose a)) with [0, 0, 0] = 0)
  in wrong3 (\h i j -> i32.i64 (j * 10000 + h * 100 + i)) b
