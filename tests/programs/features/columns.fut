-- Results computed column by column have the dimension order that avoids a transposition.

-- ==
-- entry: running
-- input { [[1, 2, 3], [10, 20, 30]] }
-- output { [[1i32, 2i32, 3i32], [11i32, 22i32, 33i32]] }
-- input { empty([2][0]i32) }
-- output { empty([2][0]i32) }
entry running [n][m] (xs: [n][m]i32) : [n][m]i32 =
  transpose (map (scan (+) 0) (transpose xs))

-- Columns minus their least element; more columns than vector lanes.
-- ==
-- entry: lowered
-- input { 3i64 41i64 }
-- output { 8588i64 5557i64 }
-- input { 1i64 7i64 }
-- output { 0i64 175i64 }
entry lowered (n: i64) (m: i64) : (i64, i64) =
  let xs = tabulate_2d n m (\i j -> (i * 7 + j * 5) % 11)
  let ys = transpose (map (\c -> let least = i64.minimum c in map (\x -> x - least) c)
                          (transpose xs))
  let weigh zs = i64.sum (map2 (\i z -> i64.sum (map2 (\j x -> (i + 1) * (j + 1) * x) (iota m) z))
                               (iota n) zs)
  in (weigh ys % 9973, weigh xs % 9973)

-- Other uses of the array see its values unchanged.
-- ==
-- entry: both
-- input { [[1, 2], [3, 4], [5, 6]] }
-- output { [[1i32, 4i32, 9i32], [2i32, 6i32, 12i32]] [[1i32, 2i32], [4i32, 6i32], [9i32, 12i32]] 12i32 }
entry both [n][m] (xs: [n][m]i32) : ([m][n]i32, [n][m]i32, i32) =
  let ys = map (scan (+) 0) (transpose xs)
  in (ys, transpose ys, if n > 0 && m > 0 then ys[m - 1, n - 1] else 0)

-- Three dimensions, in another order than the computation.
-- ==
-- entry: boxes
-- input { [[[1, 2], [3, 4]], [[5, 6], [7, 8]]] }
-- output { [[[1i32, 2i32], [4i32, 6i32]], [[5i32, 6i32], [12i32, 14i32]]] }
entry boxes [a][b][c] (xs: [a][b][c]i32) : [a][b][c]i32 =
  map (\x -> transpose (map (scan (+) 0) (transpose x))) xs

-- ==
-- entry: turned
-- input { [[[1, 2], [3, 4]], [[5, 6], [7, 8]]] }
-- output { [[[1i32, 3i32], [6i32, 10i32]], [[2i32, 4i32], [8i32, 12i32]]] }
entry turned [a][b][c] (xs: [a][b][c]i32) : [c][a][b]i32 =
  let ys = map (\j -> map (\k -> scan (+) 0 (xs[:, j, k])) (iota c)) (iota b)
  in map (\k -> map (\i -> map (\j -> ys[j, k, i]) (iota b)) (iota a)) (iota c)

-- In a loop, and in both branches of a conditional.
-- ==
-- entry: again
-- input { [[1, 2], [3, 4]] 3 }
-- output { [[1i32, 2i32], [6i32, 10i32]] }
-- input { [[1, 2], [3, 4]] -1 }
-- output { [[1i32, 2i32], [2i32, 2i32]] }
entry again [n][m] (xs: [n][m]i32) (k: i32) : [n][m]i32 =
  if k > 0
  then loop ys = xs for _i < k do transpose (map (scan (+) 0) (transpose ys))
  else transpose (map (\c -> map2 (-) c ([0] ++ c[:n - 1] :> [n]i32)) (transpose xs))
