-- Sums over loops of very different lengths: the numbers of steps of the Collatz
-- sequence until 1.

-- Half of an even number, or three times an odd number plus one, until 1 is reached.
def steps (start: i64) : i32 =
  let (_, count) =
    loop (x, count) = (start, 0) while x > 1 do
      (if x % 2 == 0 then x / 2 else 3 * x + 1, count + 1)
  in count

-- For each of k numbers p the sum of the steps of p + 1, ..., p + n.
-- ==
-- input { 1i64 10i64 }
-- output { [67] }
-- input { 3i64 6i64 }
-- output { [23, 39, 41] }
-- input { 0i64 5i64 }
-- output { empty([0]i32) }
entry main (k: i64) (n: i64) : [k]i32 =
  map (\p -> i32.sum (map (\i -> steps (p + i + 1)) (iota n))) (iota k)
