-- Consumption of arrays that may alias one of several others.

-- `x` aliases one of the first two; its update leaves the third unchanged, which aliases `y`
-- only.
-- ==
-- entry: one_of_two
-- input { true true [1, 2] [3, 4, 5] [6] }
-- output { [100i32, 2i32] 3i64 [6i32] }
-- input { false false [1, 2] [3, 4, 5] [6] }
-- output { [100i32, 4i32, 5i32] 1i64 [6i32] }
-- input { true false [1] [2] [3] }
-- output { [100i32] 1i64 [3i32] }
entry one_of_two (p: bool) (q: bool) (as: *[]i32) (bs: *[]i32) (cs: *[]i32) : ([]i32, i64, []i32) =
  let x = if p then as else bs
  let y = if q then bs else cs
  let size = length y
  let x[0] = 100
  in (x, size, cs)

-- Both branches return their arguments, one of them updated.
-- ==
-- entry: in_branches
-- input { true [1, 2] [3, 4] }
-- output { [3i32, 4i32] [7i32, 2i32] }
-- input { false [1, 2] [3, 4] }
-- output { [1i32, 2i32] [3i32, 9i32] }
entry in_branches [n] (p: bool) (as: *[n]i32) (bs: *[n]i32) : ([n]i32, [n]i32) =
  if p
  then let as[0] = 7
       in (bs, as)
  else let bs[n - 1] = 9
       in (as, bs)

-- Arrays swapped in a loop, each updated when it is first.
-- ==
-- entry: alternating
-- input { 5i64 [0i64, 0i64, 0i64] [10i64, 10i64, 10i64] }
-- output { [14i64, 12i64, 10i64] [1i64, 5i64, 3i64] }
-- input { 0i64 [1i64] [2i64] }
-- output { [1i64] [2i64] }
entry alternating [n] (k: i64) (as: *[n]i64) (bs: *[n]i64) : ([n]i64, [n]i64) =
  loop (as: *[n]i64, bs: *[n]i64) = (as, bs) for i < k do
    let as[i % n] = as[i % n] + i + 1
    in (bs, as)

-- An operator on rows that returns one of its arguments.
-- ==
-- entry: smallest_row
-- input { [[3, 1, 1, 1], [2, 5, 6, 7], [9, 9, 9, 9], [2, 0, 0, 0]] }
-- output { [2i32, 5i32, 6i32, 7i32] }
-- input { empty([0][4]i32) }
-- output { [2147483647i32, 0i32, 0i32, 0i32] }
entry smallest_row [n] (rows: [n][4]i32) : [4]i32 =
  let smaller (a: [4]i32) (b: [4]i32) = if b[0] < a[0] then b else a
  in reduce smaller [i32.highest, 0, 0, 0] rows

-- The same as a scan, and for each matrix of several.
-- ==
-- entry: smallest_rows
-- input { [[[3, 1], [2, 5], [4, 6]], [[-1, 0], [0, -1], [-2, 8]]] }
-- output { [[2i32, 5i32], [-2i32, 8i32]] [[[3i32, 1i32], [2i32, 5i32], [2i32, 5i32]], [[-1i32, 0i32], [-1i32, 0i32], [-2i32, 8i32]]] }
-- input { empty([1][0][2]i32) }
-- output { [[2147483647i32, 0i32]] empty([1][0][2]i32) }
entry smallest_rows [n] [m] (matrices: [n][m][2]i32) : ([n][2]i32, [n][m][2]i32) =
  let smaller (a: [2]i32) (b: [2]i32) = if b[0] < a[0] then b else a
  in ( map (reduce smaller [i32.highest, 0]) matrices
     , map (scan smaller [i32.highest, 0]) matrices
     )

-- A copy of the chosen row is updated: the matrix stays unchanged.
-- ==
-- entry: changed_copy
-- input { 1i64 [[1, 2], [3, 4]] }
-- output { [-1i32, 4i32] [[1i32, 2i32], [3i32, 4i32]] }
entry changed_copy [n] [m] (i: i64) (rows: [n][m]i32) : ([m]i32, [n][m]i32) =
  let row = copy rows[i]
  let row[0] = -1
  in (row, rows)
