-- Lifted functions that update slices of their arguments, whose lengths are nest-variant.

#[noinline]
def filled [m] (k: i64) (x: *[m]i64) : i64 =
  let y = x with [:k] = (filter (< k) (iota (2 * k)) :> [k]i64)
  in i64.sum y

-- ==
-- entry: main
-- input { [1i64, 0i64, 5i64, 3i64] }
-- output { [40i64, 50i64, 10i64, 23i64] }
-- input { empty([0]i64) }
-- output { empty([0]i64) }
entry main [n] (ks: [n]i64) : [n]i64 =
  map (\k -> filled k (copy (replicate 5 10))) ks

-- The rows are arguments of a function, and used afterwards.
-- ==
-- entry: twice
-- input { [1i64, 4i64] [[1i64, 2i64, 3i64, 4i64], [5i64, 6i64, 7i64, 8i64]] }
-- output { [9i64, 6i64] [10i64, 26i64] }
entry twice [n][m] (ks: [n]i64) (xss: [n][m]i64) : ([n]i64, [n]i64) =
  unzip (map2 (\k xs -> (filled k (copy xs), i64.sum xs)) ks xss)
