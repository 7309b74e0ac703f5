-- Sizes that are negative or do not match.

-- ==
-- entry: make
-- input { -1i64 }
-- error: [Nn]egative|[Rr]ange
-- input { 0i64 }
-- output { empty([0]i64) }
entry make (n: i64) : [n]i64 = iota n

-- ==
-- entry: add
-- input { [1, 2] [1, 2, 3] }
-- error: shape
-- input { [1, 2] [3, 4] }
-- output { [4i32, 6i32] }
entry add [n] [m] (xs: [n]i32) (ys: [m]i32) : [n]i32 =
  map2 (+) xs (ys :> [n]i32)

-- The size of one argument determines that of the other.
-- ==
-- entry: dot
-- input { [1, 2] [1, 2, 3] }
-- error: size|shape
-- input { [1, 2] [3, 4] }
-- output { 11i32 }
entry dot [n] (xs: [n]i32) (ys: [n]i32) : i32 = i32.sum (map2 (*) xs ys)

-- ==
-- entry: fold
-- input { 2i64 2i64 [1, 2, 3] }
-- error: shape
-- input { 1i64 3i64 [1, 2, 3] }
-- output { [[1i32, 2i32, 3i32]] }
entry fold (n: i64) (m: i64) (xs: []i32) : [n][m]i32 =
  unflatten (xs :> [n * m]i32)

-- Filters with results of different sizes.
-- ==
-- entry: filters
-- input { [1, -2, 3] }
-- error: shape
-- input { [1, -2] }
-- output { [-2i32] }
entry filters (xs: []i32) : []i32 =
  let up = filter (> 0) xs
  let down = filter (< 0) xs
  let n = length up
  in map2 (*) (sized n up) (sized n down)

-- ==
-- entry: range
-- input { 1i64 2i64 0i64 }
-- error: [Rr]ange
-- input { 1i64 1i64 4i64 }
-- error: [Rr]ange
-- input { 1i64 3i64 6i64 }
-- output { [1i64, 3i64, 5i64] }
entry range (a: i64) (b: i64) (c: i64) : []i64 = a..b...c

-- Rows of different lengths, computed in a map.
-- ==
-- entry: irregular
-- input { [1i64, 2i64] }
-- error: [Ii]rregular|shape
-- input { [2i64, 2i64] }
-- output { [[0i64, 1i64], [0i64, 1i64]] }
entry irregular [n] (sizes: [n]i64) : [n][]i64 =
  let m = if n == 0 then 0 else sizes[0]
  in map (\k -> iota k :> [m]i64) sizes

-- ==
-- entry: taken
-- input { [1, 2, 3] 4i64 }
-- error: out of bounds
-- input { [1, 2, 3] 2i64 }
-- output { [1i32, 2i32] }
entry taken (xs: []i32) (k: i64) : []i32 = take k xs

-- Unused arguments must have their sizes too.
-- ==
-- entry: unused
-- input { 2i64 [1, 2, 3] }
-- output { 2i64 }
-- input { 2i64 [1, 2] }
-- error: [Ii]nvalid size
entry unused (k: i64) (_: [k + 1]i32) : i64 = k

-- ==
-- entry: unused_pair
-- input { [5] [1, 2] [2, 3] }
-- output { [5i32] }
-- input { [5] [1, 2, 3] [2, 3] }
-- error: [Ii]nvalid size
entry unused_pair [n] (xs: []i32) (_: [n]i32) (_: [n]i32) : []i32 = xs

-- Constants that are invalid sizes.
-- ==
-- entry: negative_range
-- input { 0i64 }
-- error: Range 0..1..<-2 is invalid
entry negative_range (i: i64) : i64 = (iota (-2))[i]

-- ==
-- entry: negative_copies
-- input { 0i64 }
-- error: -3
entry negative_copies (i: i64) : i64 = (replicate (-3) i)[i]

-- ==
-- entry: negative_coercion
-- input { [1i64] }
-- error: shape \[1\]
-- input { empty([0]i64) }
-- error: shape \[0\]
entry negative_coercion [n] (xs: [n]i64) : i64 =
  let k = -1 in i64.sum (map (+ k) (xs :> [k]i64))

-- ==
-- entry: negative_inside
-- input { 0i64 }
-- output { empty([0]i64) }
-- input { 3i64 }
-- error: is invalid
entry negative_inside (n: i64) : [n]i64 = map (\i -> (0...-5)[i]) (iota n)

def total [n] (xs: [n]i64) = n + i64.sum xs

-- ==
-- entry: negative_argument
-- input { 1i64 }
-- error: -5
entry negative_argument (x: i64) : i64 = total (replicate (-5) x)

-- The bounds of an empty slice are checked.
-- ==
-- entry: negative_slice
-- input { [1i64, 2i64] -7i64 }
-- error: -2:-7
-- input { [1i64, 2i64] 0i64 }
-- error: 5:0
entry negative_slice [n] (xs: [n]i64) (k: i64) : i64 =
  i64.sum (map (\x -> x + i64.sum (replicate n 12)[5 + k:k]) xs)
