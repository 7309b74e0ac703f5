-- Maps over scanned elements, and copies whose rows are results.

-- Rows chosen by a scanned element.
-- ==
-- entry: rows
-- input { [1i64, 2i64, 3i64] [true, false] }
-- output { [[1i64, 1i64], [3i64, 3i64], [9i64, 9i64]] }
-- input { empty([0]i64) [true] }
-- output { empty([0][1]i64) }
entry rows [n] [m] (xs: [n]i64) (ys: [m]bool) : [n][m]i64 =
  map (\x -> if ys[x % m] then replicate m 9 else replicate m x) (scan (+) 0 xs)

-- A condition that is equal for all elements.
-- ==
-- entry: all_or_none
-- input { [1u8, 2u8, 3u8, 4u8, 5u8, 6u8, 7u8, 8u8, 9u8, 10u8, 11u8] 2u8 }
-- output { [3u8, 4u8, 5u8, 6u8, 7u8, 8u8, 9u8, 10u8, 11u8, 12u8, 13u8] }
-- input { [1u8, 2u8, 3u8] 1u8 }
-- output { empty([0]u8) }
entry all_or_none (xs: []u8) (k: u8) : []u8 = filter (\_ -> k > 1) (map (+ k) xs)

-- The condition has another use after the scan.
-- ==
-- entry: twice
-- input { [1u8, 2u8, 3u8, 4u8, 5u8, 6u8, 7u8, 8u8, 9u8, 10u8, 11u8] 2u8 }
-- output { [1u8, 2u8, 3u8, 4u8, 5u8, 6u8, 7u8, 8u8, 9u8, 10u8, 11u8] 12u8 }
-- input { [1u8, 2u8, 3u8] 1u8 }
-- output { empty([0]u8) 7u8 }
entry twice (xs: []u8) (k: u8) : ([]u8, u8) =
  let c = k > 1
  let ys = filter (\_ -> c) xs
  in (ys, if c then u8.i64 (length ys) + 1 else 7)

-- ==
-- entry: row
-- input { [4i64, 5i64] 3i64 }
-- output { [4i64, 5i64] }
-- input { empty([0]i64) 3i64 }
-- output { empty([0]i64) }
entry row [n] (xs: [n]i64) (k: i64) : [n]i64 =
  if n == 0 then iota n else (replicate n xs)[k % n]

-- Scans of rows without elements: nothing is scanned, and the `post` lambda is a map.
-- ==
-- entry: of_nothing
-- input { 3i64 }
-- output { empty([3][0]f64) 0i64 }
-- input { 0i64 }
-- output { empty([0][0]f64) 0i64 }
entry of_nothing (n: i64) : ([n][0]f64, i64) =
  let rows = scan (map2 (+)) (replicate 0 0) (replicate n (replicate 0 0))
  in (map (map (+ 1)) rows, length rows[:0])
