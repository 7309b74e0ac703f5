-- The determinant of an 8 by 8 matrix by expansion by minors (`det_by_minor` of cmpad, in GradBench), and its gradient.

-- The minors of the first rows of matrices, and the factors before them.
def expand [p][m] (factors: [p]f64) (matrices: [p][m][m]f64) : ([p * m]f64, [p * m][m - 1][m - 1]f64) =
  let minor (a: [m][m]f64) (j: i64) =
    tabulate_2d (m - 1) (m - 1) (\row column -> a[row + 1, if column < j then column else column + 1])
  let entries factor (a: [m][m]f64) =
    tabulate m (\j -> ((if j % 2 == 0 then factor else -factor) * a[0, j], minor a j))
  in unzip (flatten (map2 entries factors matrices))

def determinant (a: [8][8]f64) : f64 =
  let (factors, minors) = expand [1] [a]
  let (factors, minors) = expand factors minors
  let (factors, minors) = expand factors minors
  let (factors, minors) = expand factors minors
  let (factors, minors) = expand factors minors
  let (factors, minors) = expand factors minors
  let (factors, minors) = expand factors minors
  in f64.sum (map2 (\factor minor -> factor * minor[0, 0]) factors minors)

entry primal (a: [8][8]f64) : f64 = determinant a

entry derivative (a: [8][8]f64) : [8][8]f64 = vjp determinant a 1
