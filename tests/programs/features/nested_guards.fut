-- Sums over six nested spaces: the versions of the outer map need guards of their own. The indices are in bounds for
-- one iteration of each outer map.
-- ==
-- entry: sums
-- input { 1i64 1i64 [[[[1, 2, 3, 4], [5, 6, 7, 8]], [[9, 1, 2, 3], [4, 5, 6, 7]], [[8, 9, 1, 2], [3, 4, 5, 6]]]] }
-- output { [111] }
-- input { 2i64 1i64 [[[[1, 2]], [[3, 4]], [[5, 6]]]] }
-- error: Index
entry sums [a][b][c] (n: i64) (m: i64) (xs: [a][3][b][c]i32) : []i32 =
  let inner i j =
    i32.sum (map (\k -> i32.sum (map (\l -> i32.sum (map (\o -> i32.sum (map (\p -> xs[k, l, o, p + i + j]) (iota c)))
                                                         (iota b)))
                                     (iota 3)))
                 (iota a))
  in map (\i -> i32.sum (map (inner i) (iota m))) (iota n)
