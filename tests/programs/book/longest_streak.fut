-- The longest run of increasing neighbours, in two ways: with an operator on runs (a reduction),
-- and with a segmented scan over the steps.

-- A summary of a run of elements: its first and last element, its length, its longest streak of
-- steps, and the streaks at both ends.
type run = {first: i32, last: i32, len: i32, best: i32, left: i32, right: i32}

def neutral : run = {first = 0, last = 0, len = 0, best = 0, left = 0, right = 0}

def single (x: i32) : run = neutral with first = x with last = x with len = 1

def join (a: run) (b: run) : run =
  if a.len == 0 then b
  else if b.len == 0 then a
  else let up = a.last < b.first
       let middle = if up then a.right + 1 + b.left else 0
       in { first = a.first
          , last = b.last
          , len = a.len + b.len
          , best = i32.max middle (i32.max a.best b.best)
          , left = if up && a.left == a.len - 1 then middle else a.left
          , right = if up && b.right == b.len - 1 then middle else b.right
          }

-- Number of steps in the longest streak.
-- ==
-- entry: by_reduction by_scan
-- input { [1, 5, 3, 4, 2, 6, 7, 8] }
-- output { 3i32 }
-- input { empty([0]i32) }
-- output { 0i32 }
-- input { [4] }
-- output { 0i32 }
-- input { [1, 2, 3, 4, 5, 6, 7] }
-- output { 6i32 }
-- input { [7, 6, 5, 5, 5, 4] }
-- output { 0i32 }
-- input { [0, 1, 2, 0, 1, 2, 3, 4, 4, 5, 6] }
-- output { 4i32 }
entry by_reduction (xs: []i32) : i32 =
  (reduce join neutral (map single xs)).best

def segmented_sum [n] (flags: [n]bool) (as: [n]i32) : [n]i32 =
  let step (x, xf) (y, yf) = (if yf then y else x + y, xf || yf)
  in (unzip (scan step (0, false) (zip as flags))).0

entry by_scan [n] (xs: [n]i32) : i32 =
  let next = rotate 1 xs
  let up = map3 (\i x y -> i < n - 1 && x < y) (iota n) xs next
  let lengths = segmented_sum (map (\u -> !u) up) (map (\u -> if u then 1 else 0) up)
  in reduce i32.max 0 lengths
