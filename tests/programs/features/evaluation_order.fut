-- Arguments are evaluated from last to first, then the function; the left operand of an infix
-- operator comes first. Of several failures the first is reported.

def second (_: i64) (y: i64): i64 = y
#[noinline] def both (x: i64) (y: i64): i64 = x + y
#[noinline] def at (xs: []i64) (i: i64): i64 = xs[i]

-- ==
-- entry: arguments
-- input { [1i64, 2i64] 1i64 } output { 12i64 }
-- input { [1i64, 2i64] 0i64 }
-- error: out of bounds
-- input { [1i64, 2i64, 3i64, 4i64, 5i64, 6i64] 0i64 }
-- error: division by zero
entry arguments (xs: []i64) (n: i64): i64 =
  both (10 / n) xs[5 - 4 * n]

-- ==
-- entry: in_place
-- input { [1i64, 2i64] 0i64 }
-- error: out of bounds
entry in_place (xs: []i64) (n: i64): i64 =
  let f (x: i64) (y: i64): i64 = x * y + 1 in f (10 / n) xs[n + 5]

-- ==
-- entry: operands
-- input { [1i64, 2i64] 1i64 } output { [10i64, 2i64] }
-- input { [1i64, 2i64] 0i64 }
-- error: division by zero
entry operands (xs: []i64) (n: i64): []i64 = [10 / n] ++ [xs[5 * (1 - n) + 1]]

-- ==
-- entry: numbers
-- input { [1i64, 2i64] 0i64 }
-- error: division by zero
entry numbers (xs: []i64) (n: i64): i64 = (10 / n) + at xs (n + 5)

-- ==
-- entry: functions
-- input { [1i64, 2i64] 0i64 }
-- error: out of bounds
-- input { [1i64, 2i64] 1i64 } output { 12i64 }
entry functions (xs: []i64) (n: i64): i64 =
  (let k = 10 / n in \x -> x + k) xs[5 - 4 * n]

-- The values are those before and after nonetheless.
-- ==
-- entry: nested
-- input { 3i64 } output { 5i64 }
entry nested (n: i64): i64 = both (second n 2) (both (second 0 1) (second 1 2))
