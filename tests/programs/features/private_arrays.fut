-- Arrays private to an iteration, with an index that decreases as the iteration's index increases.
-- ==
-- entry: main
-- input { [5i64, 6i64, 7i64, 8i64, 9i64, 1i64, 2i64, 3i64] }
-- output { [30i64, 20i64, 10i64, 8i64, 9i64, 1i64, 2i64, 3i64] }
-- input { empty([0]i64) }
-- output { empty([0]i64) }
entry main [n] (xs: [n]i64) : [n]i64 =
  map2 (\i x ->
          let k = 2 - i
          in if k >= 0 && k < 3 then [10, 20, x + 25][k] else x)
       (iota n) xs
