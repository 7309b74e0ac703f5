-- Scans and reductions of one value, equal in all iterations.

-- ==
-- entry: sums
-- input { 0i64 7i64 }
-- output { empty([0]i64) empty([0]i64) empty([0]i64) }
-- input { 4i64 100i64 }
-- output { [100i64, -56i64, 44i64, -112i64] [100i64, 200i64, 300i64, 400i64] [100i64, 200i64, 300i64, 400i64] }
-- input { 3i64 3000000000i64 }
-- output { [0i64, 0i64, 0i64] [-1294967296i64, 1705032704i64, 410065408i64] [3000000000i64, 6000000000i64, 9000000000i64] }
entry sums (n: i64) (x: i64) : ([n]i64, [n]i64, [n]i64) =
  ( map i64.i8 (scan (+) 0 (replicate n (i8.i64 x)))
  , map i64.i32 (scan (+) 0 (replicate n (i32.i64 x)))
  , scan (+) 0 (replicate n x)
  )

-- ==
-- entry: once
-- input { 0i64 7i64 }
-- output { empty([0]i64) empty([0]i64) 9223372036854775807i64 }
-- input { 3i64 -6i64 }
-- output { [-6i64, -6i64, -6i64] [-6i64, -6i64, -6i64] -6i64 }
entry once (n: i64) (x: i64) : ([n]i64, [n]i64, i64) =
  ( scan i64.max i64.lowest (replicate n x)
  , scan (&) (-1) (replicate n x)
  , reduce i64.min i64.highest (replicate n x)
  )

-- One of the sums is over values that vary.
-- ==
-- entry: totals
-- input { 0i64 7i64 }
-- output { 0i64 0i64 0i64 }
-- input { 1000i64 777i64 }
-- output { 777000i64 -9432i64 499500i64 }
entry totals (n: i64) (x: i64) : (i64, i64, i64) =
  let (a, b, c) =
    reduce (\(a, b, c) (d, e, f) -> (a + d, b + e, c + f)) (0, 0, 0)
           (map (\i -> (x, i16.i64 x, i)) (iota n))
  in (a, i64.i16 b, c)

-- ==
-- entry: rows
-- input { 2i64 0i64 }
-- output { empty([2][0]i64) }
-- input { 3i64 4i64 }
-- output { [[-3i64, -6i64, -9i64, -12i64], [-2i64, -4i64, -6i64, -8i64], [1i64, 2i64, 3i64, 4i64]] }
entry rows (n: i64) (m: i64) : [n][m]i64 =
  map (\i -> scan (+) 0 (replicate m (i * i - 3))) (iota n)
