-- Failed assertions in all positions; assertions whose results are unused may or may not run, so
-- there are none here.

-- ==
-- entry: positive
-- input { 0 }
-- error: [Aa]ssert
-- input { 3 }
-- output { 3i32 }
entry positive (x: i32) : i32 = assert (x > 0) x

-- ==
-- entry: each
-- input { [1, 2, -3, 4] }
-- error: [Aa]ssert
-- input { [1, 2] }
-- output { [2i32, 4i32] }
entry each [n] (xs: [n]i32) : [n]i32 = map (\x -> assert (x > 0) (2 * x)) xs

-- ==
-- entry: nested
-- input { [[1, 2], [3, -4]] }
-- error: [Aa]ssert
-- input { [[1, 2], [3, 4]] }
-- output { [6i32, 14i32] }
entry nested [n] [m] (xss: [n][m]i32) : [n]i32 =
  map (\xs -> reduce (+) 0 (map (\x -> assert (x > 0) (2 * x)) xs)) xss

-- A while loop that would not terminate.
-- ==
-- entry: bounded
-- input { 5 }
-- error: [Aa]ssert
-- input { 4 }
-- output { 6i32 }
entry bounded (x: i32) : i32 =
  (loop (x, n) = (x, 0) while x != 16 do (assert (n < 100) (x + 2), n + 1)).1

-- An assertion in a branch that is not taken does not fail.
-- ==
-- entry: branches
-- input { [1, -1, 5] }
-- output { [1i32, 1i32, 5i32] }
entry branches [n] (xs: [n]i32) : [n]i32 =
  map (\x -> if x < 0 then -x else assert (x >= 0) x) xs

-- An assertion on a function holds where the function's results are used.
-- ==
-- entry: function
-- input { 4 10 }
-- output { 14i32 }
-- input { 3 10 }
-- error: [Aa]ssert
entry function (x: i32) (y: i32) : i32 =
  let f = assert (x % 2 == 0) (\a b -> a + b + x)
  let g = f 0
  in g y

-- ==
-- entry: functions
-- input { 4 10 }
-- output { 18i32 }
-- input { -4 10 }
-- error: [Aa]ssert
entry functions (x: i32) (y: i32) : i32 =
  let fs = assert (x > 0) {add = (+ x), mul = (* 2)}
  in fs.add (fs.mul 2) + y
