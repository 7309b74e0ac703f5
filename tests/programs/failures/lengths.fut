-- A size that is used is valid only if its array exists: the computation of the array fails.

-- ==
-- entry: ranges
-- input { -5i64 5i64 } output { 10i64 }
-- input { 5i64 -5i64 }
-- error: Range 5..<-5
entry ranges (a: i64) (b: i64) : i64 = length (a..<b)

-- ==
-- entry: mapped
-- input { 2i64 5i64 } output { 4i64 }
-- input { 5i64 2i64 }
-- error: Range 5..<2
entry mapped (a: i64) (b: i64) : i64 = let r = map (* 2) (a..<b) in length r + 1

-- ==
-- entry: down
-- input { 5i64 2i64 } output { 3i64 }
-- input { 2i64 5i64 }
-- error: Range 2..>5
entry down (a: i64) (b: i64) : i64 = length (a..>b)

-- ==
-- entry: narrow
-- input { 2i8 5i8 } output { 3i64 }
-- input { 5i8 2i8 }
-- error: Range 5..<2
entry narrow (a: i8) (b: i8) : i64 = length (a..<b)

-- ==
-- entry: sliced
-- input { [1i32, 2i32, 3i32] 1i64 3i64 } output { 2i64 }
-- input { [1i32, 2i32, 3i32] 3i64 1i64 }
-- error: Index
entry sliced (xs: []i32) (i: i64) (j: i64) : i64 = length xs[i:j]

-- ==
-- entry: counted
-- input { 3i64 } output { 3i64 3i64 }
-- input { -3i64 }
-- error: -3
entry counted (n: i64) : (i64, i64) = (length (iota n), length (replicate n 1i32))
