-- Sums of what loops of very different lengths give: the steps that numbers take
-- to 1 by the rule of Collatz.

-- Half of an even number, three times an odd one and one more, until 1 is reached.
def steps (start: i64) : i32 =
  let (_, count) =
    loop (x, count) = (start, 0) while x > 1 do
      (if x % 2 == 0 then x / 2 else 3 * x + 1, count + 1)
  in count

-- For each of k numbers p the steps of p + 1, ..., p + n together.
-- ==
-- input { 1i64 10i64 }
-- output { [67i32] }
-- input { 3i64 6i64 }
-- output { [23i32, 39i32, 41i32] }
-- input { 0i64 5i64 }
-- output { empty([0]i32) }
entry main (k: i64) (n: i64) : [k]i32 =
  map (\p -> i32.sum (map (\i -> steps (p + i + 1)) (iota n))) (iota k)
