-- Records made of rows: elements are read from the rows, or from columns.

type point = { x: i64, y: i64, tag: i64 }

def point (row: [3]i64) : point = { x = row[0], y = row[1], tag = row[2] }

-- Distances along a path of indices.
-- ==
-- entry: way
-- input { [[0i64, 0i64, 1i64], [3i64, 4i64, 2i64], [6i64, 8i64, 3i64]] [0i64, 1i64, 2i64, 0i64] }
-- output { [0i64, 7i64, 7i64, 14i64] 7i64 }
-- input { [[1i64, 1i64, 5i64]] [0i64, 0i64] }
-- output { [0i64, 0i64] 10i64 }
-- input { [[1i64, 1i64, 5i64]] [0i64, 1i64] }
-- error: Index \[1\] out of bounds for array of shape \[1\]
-- input { empty([0][3]i64) empty([0]i64) }
-- output { empty([0]i64) 0i64 }
entry way [n] [m] (rows: [n][3]i64) (positions: [m]i64) : ([m]i64, i64) =
  let points = map point rows
  let step k =
    if k == 0 then 0
    else let (p, q) = (points[positions[k - 1]], points[positions[k]])
         in i64.abs (p.x - q.x) + i64.abs (p.y - q.y)
  in (map step (iota m), i64.sum (map (\i -> points[i].tag) positions))

-- The rows are updated after the map.
-- ==
-- entry: changed
-- input { [[0i64, 2i64, 1i64], [3i64, 4i64, 2i64]] [1i64, 0i64] }
-- output { [7i64, 2i64] [[0i64, 2i64, 1i64], [9i64, 4i64, 2i64]] }
entry changed [n] [m] (rows: *[n][3]i64) (positions: [m]i64) : ([m]i64, [n][3]i64) =
  let points = map point rows
  let rows = rows with [n - 1, 0] = 9
  in (map (\i -> points[i].x + points[i].y) positions, rows)

-- Along the first of two indices, with data-dependent second indices; a search by one element.
-- ==
-- entry: searched
-- input { [[[1i64, 10i64], [4i64, 40i64], [9i64, 90i64]], [[2i64, 20i64], [3i64, 30i64], [5i64, 50i64]]]
--   [4i64, 9i64, 0i64] }
-- output { [[130i64, 100i64, 50i64], [70i64, 70i64, 50i64]] }
entry searched [g] [n] [m] (tables: [g][n][2]i64) (keys: [m]i64) : [g][m]i64 =
  let tables = map (map (\row -> (row[0], row[1]))) tables
  let find k key =
    loop (low, high) = (0, n - 1) while low < high do
      let middle = (low + high) / 2
      in if tables[k, middle].0 < key then (middle + 1, high) else (low, middle)
  in tabulate_2d g m (\k l ->
       let (at, _) = find k keys[l]
       let next = (at + 1) % n
       in tables[k, at].1 + tables[k, next].1 + 0 * tables[k, at].0)
