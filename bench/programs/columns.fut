-- A matrix with few long rows: its columns are reduced and the results are mapped. Fused
-- (`--fuse on`), each row is a stream that is read once, without intermediate arrays.
-- ==
-- entry: four
-- input { [[1, 2], [3, 4], [-1, 0], [0, 7]] [5, 6] } output { [26, 87] }
-- notest random input { [4][2000000]i32 [2000000]i32 }
-- entry: sixteen
-- notest random input { [16][500000]i32 [500000]i32 }

def weighted [n] [m] (xss: [n][m]i32) (ys: [m]i32) : [m]i32 =
  let squares = map (map (\x -> x * x)) xss
  let sums = reduce (map2 (+)) (replicate m 0) squares
  in map2 (\s y -> s + 3 * y) sums ys

entry four [m] (xss: [4][m]i32) ys = weighted xss ys
entry sixteen [m] (xss: [16][m]i32) ys = weighted xss ys
