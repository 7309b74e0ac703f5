-- Values written into other arrays: the compiler may build them at their destination, but only if
-- that is unobserved.

-- The old elements are read while the new ones are computed.
-- ==
-- entry: overlap
-- input { true [1i64, 2i64, 3i64, 4i64, 5i64] }
-- output { [1i64, 10i64, 20i64, 30i64, 5i64] }
-- input { false [1i64, 2i64, 3i64, 4i64, 5i64] }
-- output { [1i64, 2i64, 3i64, 4i64, 5i64] }
entry overlap (c: bool) (dst: *[5]i64) : *[5]i64 =
  let old = dst[0:3]
  in if c then dst with [1:4] = map (* 10) old else dst

-- The value's size is wrong, or the slice is.
-- ==
-- entry: place
-- input { 5000i64 [1i64] }
-- error: out of bounds|shape
-- input { 5000i64 [1i64, 2i64, 3i64, 4i64] }
-- error: shape
-- input { 3i64 [1i64, 2i64, 3i64, 4i64] }
-- output { [1i64, 0i64, 1i64, 2i64] }
entry place [n] (k: i64) (dst: *[n]i64) : *[n]i64 =
  let src = iota k
  in dst with [1:4] = src

-- Rows with more elements than the result's rows.
-- ==
-- entry: rows
-- input { 2i64 3i64 100000i64 }
-- error: shape
-- input { 2i64 3i64 3i64 }
-- output { [[0i64, 1i64, 2i64], [1i64, 2i64, 3i64]] }
entry rows (n: i64) (m: i64) (k: i64) : [n][m]i64 =
  map (\i -> map (+ i) (iota k) :> [m]i64) (iota n)

-- An index that is computed next to the value.
-- ==
-- entry: between
-- input { 2i64 [9i64, 9i64, 9i64, 9i64, 9i64] }
-- output { [[9i64, 9i64, 9i64, 9i64, 9i64], [9i64, 9i64, 1i64, 2i64, 9i64], [9i64, 9i64, 2i64, 2i64, 9i64]] }
-- input { 4i64 [9i64, 9i64, 9i64, 9i64, 9i64] }
-- error: out of bounds
entry between [n] (k: i64) (xs: [n]i64) : [3][n]i64 =
  let rows = replicate 3 (copy xs)
  in loop rows for i < 2 do
       let at = if i == 0 then 2 else k + i - 1
       let row = map (+ 1) (iota 2)
       let row = if i == 0 then row else map (\x -> i64.min 2 (x + i)) row
       let old = copy rows[i]
       in rows with [i + 1] = (old with [at:at + 2] = row)
