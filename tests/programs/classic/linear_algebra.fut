-- Dot product, matrix products, transposed operands, LU decomposition.

def dot [n] 't (add: t -> t -> t) (mul: t -> t -> t) (zero: t) (xs: [n]t) (ys: [n]t) : t =
  reduce add zero (map2 mul xs ys)

-- ==
-- entry: dotprod
-- input { empty([0]i32) empty([0]i32) }
-- output { 0i32 }
-- input { [3] [-7] }
-- output { -21i32 }
-- input { [1, 2, 3, 4, 5] [-6, 7, 8, -9, 2147483647] }
-- output { 2147483639i32 }
entry dotprod [n] (xs: [n]i32) (ys: [n]i32) : i32 =
  dot (+) (*) 0 xs ys

-- ==
-- entry: dotprod_f64
-- input { [1.5, -2.0, 0.25] [2.0, 4.5, -8.0] }
-- output { -8.0f64 }
-- input { empty([0]f64) empty([0]f64) }
-- output { 0.0f64 }
entry dotprod_f64 [n] (xs: [n]f64) (ys: [n]f64) : f64 =
  dot (+) (*) 0 xs ys

-- ==
-- entry: matmul
-- input { [[1, 2, 3], [4, 5, 6]] [[7, 8], [9, 10], [11, 12]] }
-- output { [[58i32, 64i32], [139i32, 154i32]] }
-- input { [[-3]] [[5]] }
-- output { [[-15i32]] }
-- input { [[1, -2, 3, 4, 5]] [[1], [2], [3], [4], [-5]] }
-- output { [[-3i32]] }
-- input { [[1], [2], [3]] [[4, 5]] }
-- output { [[4i32, 5i32], [8i32, 10i32], [12i32, 15i32]] }
-- input { empty([2][0]i32) empty([0][3]i32) }
-- output { [[0i32, 0i32, 0i32], [0i32, 0i32, 0i32]] }
-- input { empty([0][2]i32) [[1, 2, 3], [4, 5, 6]] }
-- output { empty([0][3]i32) }
entry matmul [n] [m] [p] (a: [n][m]i32) (b: [m][p]i32) : [n][p]i32 =
  map (\row -> map (\column -> dot (+) (*) 0 row column) (transpose b)) a

-- The transpose of a, times a.
-- ==
-- entry: gram
-- input { [[1f32, 2f32, -1f32], [0.5f32, 4f32, 3f32], [2f32, 0f32, 0.25f32], [1f32, 1f32, 1f32]] }
-- output { [[6.25f32, 5.0f32, 2.0f32], [5.0f32, 21.0f32, 11.0f32], [2.0f32, 11.0f32, 11.0625f32]] }
-- input { [[-2f32]] }
-- output { [[4.0f32]] }
entry gram [n] [m] (a: [n][m]f32) : [m][m]f32 =
  let columns = transpose a
  in map (\x -> map (\y -> dot (+) (*) 0 x y) columns) columns

-- ==
-- entry: matvec
-- input { [[1.0, 2.0, 3.0], [-4.0, 5.0, 6.0]] [0.5, -1.0, 2.0] }
-- output { [4.5f64, 5.0f64] }
-- input { [[2.5]] [4.0] }
-- output { [10.0f64] }
entry matvec [n] [m] (a: [n][m]f64) (x: [m]f64) : [n]f64 =
  map (\row -> f64.sum (map2 (*) row x)) a

-- Lower and upper triangle in one matrix (the diagonal of the lower is 1), without pivoting: step
-- k subtracts multiples of row k from all rows below it.
-- ==
-- entry: lu
-- input { [[2.0, 1.0, 1.0], [4.0, 3.0, 3.0], [8.0, 7.0, 9.0]] }
-- output { [[2.0f64, 1.0f64, 1.0f64], [2.0f64, 1.0f64, 1.0f64], [4.0f64, 3.0f64, 2.0f64]] }
-- input { [[5.0]] }
-- output { [[5.0f64]] }
-- input { [[4.0, -2.0, 1.0, 3.0], [3.0, 6.0, -4.0, 2.0], [2.0, 1.0, 8.0, -5.0], [1.0, 3.0, -2.0, 7.0]] }
-- output { [[4.0f64, -2.0f64, 1.0f64, 3.0f64], [0.75f64, 7.5f64, -4.75f64, -0.25f64], [0.5f64, 0.26666666666666666f64, 8.766666666666666f64, -6.433333333333334f64], [0.25f64, 0.4666666666666667f64, -0.0038022813688212797f64, 6.342205323193917f64]] }
-- input { empty([0][0]f64) }
-- output { empty([0][0]f64) }
entry lu [n] (a: [n][n]f64) : [n][n]f64 =
  loop a for k < n do
    tabulate_2d n n (\i j ->
      if i <= k then a[i, j]
      else let factor = a[i, k] / a[k, k]
           in if j < k then a[i, j]
              else if j == k then factor
              else a[i, j] - factor * a[k, j])

-- The determinant, by the decomposition.
-- ==
-- entry: determinant
-- input { [[2.0, 1.0, 1.0], [4.0, 3.0, 3.0], [8.0, 7.0, 9.0]] }
-- output { 4.0f64 }
-- input { [[1.0, 2.0], [3.0, 4.0]] }
-- output { -2.0f64 }
entry determinant [n] (a: [n][n]f64) : f64 =
  let upper = lu a
  in f64.product (map (\i -> upper[i, i]) (iota n))
