-- Results of entry points that are tuples: the components are printed one by one, also those of
-- nested and of named tuples.

type pair = (i32, f32)
type~ sized = (i64, []i64)

-- ==
-- entry: nested
-- input { 3 } output { 3 true [0i64, 1i64, 2i64] }
-- input { 0 } output { 0 false empty([0]i64) }
entry nested (x: i32) : (i32, (bool, []i64)) = (x, (x > 0, iota (i64.i32 x)))

-- ==
-- entry: named
-- input { 3 } output { 3 1.5f32 }
entry named (x: i32) : pair = (x, f32.i32 x / 2)

-- ==
-- entry: inferred
-- input { 2 } output { 2 [3, 4] 5 6 }
entry inferred (x: i32) = ((x, [x + 1, x + 2]), (x + 3, x + 4))

-- ==
-- entry: sizes
-- input { [5i64, 6i64] } output { 2i64 [6i64, 5i64] }
entry sizes (xs: []i64) : sized = (length xs, reverse xs)

-- A component that is declared unique.
-- ==
-- entry: twice
-- input { [1, 2] } output { [1, 2] [1, 2] }
entry twice (xs: []i32) : ([]i32, *[]i32) = (xs, copy xs)
