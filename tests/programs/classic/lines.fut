-- Line drawing on a grid by flattening: the points of all lines are one array, which one scatter
-- draws.

type point = (i64, i64)

-- The number of points of a line: the larger of its two extents plus one.
def points_in ((x1, y1): point, (x2, y2): point) : i64 =
  1 + i64.max (i64.abs (x2 - x1)) (i64.abs (y2 - y1))

-- The i-th point of a line. The smaller coordinate is rounded half up.
def point_at ((x1, y1): point, (x2, y2): point) (i: i64) : point =
  let steps = i64.max (i64.abs (x2 - x1)) (i64.abs (y2 - y1))
  let along a b = if steps == 0 then a else a + (2 * i * (b - a) + steps) / (2 * steps)
  in (along x1 x2, along y1 y2)

-- All points of all lines, without an irregular nest: `owner` is the line of a point, `place` its
-- index in the line.
def expand [n] (lines: [n](point, point)) : []point =
  let sizes = map points_in lines
  let ends = scan (+) 0 sizes
  let total = if n == 0 then 0 else ends[n - 1]
  let marks = hist (+) 0 total ends (replicate n 1)
  let owner = scan (+) 0 marks
  let place = map2 (\i o -> i - (ends[o] - sizes[o])) (iota total) owner
  in map2 (\o p -> point_at lines[o] p) owner place

-- A picture of height h and width w with the given lines as ones; points outside of it are
-- ignored.
-- ==
-- entry: draw
-- input { 4i64 6i64 [0i64, 5i64] [0i64, 0i64] [5i64, 0i64] [3i64, 3i64] }
-- output { [[1i32, 0i32, 0i32, 0i32, 0i32, 1i32], [0i32, 1i32, 1i32, 1i32, 1i32, 0i32], [0i32, 1i32, 1i32, 1i32, 1i32, 0i32], [1i32, 0i32, 0i32, 0i32, 0i32, 1i32]] }
-- input { 3i64 3i64 empty([0]i64) empty([0]i64) empty([0]i64) empty([0]i64) }
-- output { [[0i32, 0i32, 0i32], [0i32, 0i32, 0i32], [0i32, 0i32, 0i32]] }
-- input { 5i64 7i64 [1i64] [2i64] [1i64] [2i64] }
-- output { [[0i32, 0i32, 0i32, 0i32, 0i32, 0i32, 0i32], [0i32, 0i32, 0i32, 0i32, 0i32, 0i32, 0i32], [0i32, 1i32, 0i32, 0i32, 0i32, 0i32, 0i32], [0i32, 0i32, 0i32, 0i32, 0i32, 0i32, 0i32], [0i32, 0i32, 0i32, 0i32, 0i32, 0i32, 0i32]] }
-- input { 5i64 7i64 [-2i64, 6i64, 3i64] [-1i64, 4i64, 0i64] [8i64, 0i64, 3i64] [6i64, 4i64, 9i64] }
-- output { [[1i32, 0i32, 0i32, 1i32, 0i32, 0i32, 0i32], [0i32, 1i32, 0i32, 1i32, 0i32, 0i32, 0i32], [0i32, 0i32, 1i32, 1i32, 0i32, 0i32, 0i32], [0i32, 0i32, 0i32, 1i32, 1i32, 0i32, 0i32], [1i32, 1i32, 1i32, 1i32, 1i32, 1i32, 1i32]] }
entry draw [n] (h: i64) (w: i64) (x1: [n]i64) (y1: [n]i64) (x2: [n]i64) (y2: [n]i64)
         : [h][w]i32 =
  let points = expand (zip (zip x1 y1) (zip x2 y2))
  let index (x, y) = if 0 <= x && x < w && 0 <= y && y < h then y * w + x else -1
  in unflatten (scatter (replicate (h * w) 0) (map index points) (map (\_ -> 1) points))

-- ==
-- entry: line_points
-- input { [0i64, 7i64, 2i64] [0i64, 1i64, 2i64] [3i64, 7i64, 2i64] [-1i64, 4i64, 2i64] }
-- output { [0i64, 1i64, 2i64, 3i64, 7i64, 7i64, 7i64, 7i64, 2i64] [0i64, 0i64, -1i64, -1i64, 1i64, 2i64, 3i64, 4i64, 2i64] }
entry line_points [n] (x1: [n]i64) (y1: [n]i64) (x2: [n]i64) (y2: [n]i64) : ([]i64, []i64) =
  unzip (expand (zip (zip x1 y1) (zip x2 y2)))
