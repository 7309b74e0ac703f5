-- Reductions and scans of many rows, with operators on rows.

def rows (n: i64) (m: i64) : [n][m]i64 =
  opaque (tabulate_2d n m (\i j -> (i * 31 + j * j * 7 + i * j) % 23 - 9))

def weigh [m] (xs: [m]i64) : i64 = i64.sum (map2 (\j x -> (j + 3) % 101 * x) (iota m) xs)

def weigh_all [n][m] (xss: [n][m]i64) : i64 = weigh (map weigh xss)

-- Column sums, and the maximum with its first index.
-- ==
-- entry: totals
-- input { 0i64 3i64 }
-- output { 0i64 -1200i64 -12i64 }
-- input { 1i64 4i64 }
-- output { -7i64 -7i64 0i64 }
-- input { 511i64 3i64 }
-- output { 12210i64 156i64 148i64 }
-- input { 512i64 1i64 }
-- output { 3027i64 39i64 60i64 }
-- input { 513i64 5i64 }
-- output { 25707i64 325i64 254i64 }
-- input { 4097i64 17i64 }
-- output { 1532751i64 2233i64 2000i64 }
-- input { 600i64 0i64 }
-- output { 0i64 0i64 0i64 }
entry totals (n: i64) (m: i64) : (i64, i64, i64) =
  let xss = rows n m
  let sums = reduce (map2 (+)) (replicate m 0) xss
  let later (x, i) (y, j) : (i64, i64) = if y > x then (y, j) else (x, i)
  let pick (xs, is) (ys, js) = unzip (map2 later (zip xs is) (zip ys js))
  let (most, positions) =
    reduce pick (replicate m (-100), replicate m (-1)) (zip xss (map (replicate m) (iota n)))
  in (weigh sums, weigh most, weigh positions)

-- Prefix sums of columns, all of them and with a stride.
-- ==
-- entry: running
-- input { 0i64 3i64 }
-- output { 0i64 0i64 }
-- input { 17i64 2i64 }
-- output { 9744i64 645335i64 }
-- input { 512i64 1i64 }
-- output { 39374439i64 38226564i64 }
-- input { 529i64 3i64 }
-- output { 163629192i64 154877835i64 }
-- input { 5003i64 9i64 }
-- output { 78610935641i64 7889594371i64 }
entry running (n: i64) (m: i64) : (i64, i64) =
  let sums = scan (map2 (+)) (replicate m 0) (rows n m)
  let twice = scan (map2 (+)) (replicate m 0) (map (map (* 2)) sums) |> map (map (% 1009))
  in (weigh_all sums, weigh_all twice)

-- Products of matrices modulo a prime: an operator that is not a map.
-- ==
-- entry: matrices
-- input { 3i64 }
-- output { 504i64 3115i64 }
-- input { 700i64 }
-- output { 357899i64 8442081323i64 }
entry matrices (n: i64) : (i64, i64) =
  let times (a: [2][2]i64) (b: [2][2]i64) : [2][2]i64 =
    map (\xs -> map (\ys -> i64.sum (map2 (*) xs ys) % 9973) (transpose b)) a
  let ms = opaque (tabulate n (\i -> [[i % 7 + 1, i % 5], [i % 3, 2]]))
  let one = [[1, 0], [0, 1]]
  in (weigh_all (reduce times one ms), weigh (map weigh_all (scan times one ms)))

-- An operator that reads an element at another index: if the first row's head is nonzero, it
-- replaces all elements of the second row.
-- ==
-- entry: heads
-- input { 40i64 3i64 }
-- output { 84i64 588i64 }
entry heads (n: i64) (m: i64) : (i64, i64) =
  let first (a: [m]i64) (b: [m]i64) = map (\x -> if a[0] == 0 then x else a[0]) b
  let xss = map (\xs -> map (\x -> if x > 6 then x else 0) xs) (rows n m)
  in ( weigh (reduce first (replicate m 0) xss)
     , weigh_all (map (\k -> reduce first (replicate m 0) xss[k:]) (iota 2))
     )
