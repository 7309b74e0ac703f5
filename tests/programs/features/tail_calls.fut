-- Functions that call themselves in tail position run as loops, with any number of calls.

def sum_to (n: i64) (acc: i64): i64 =
  if n == 0 then acc else sum_to (n - 1) (acc + n)

-- ==
-- entry: sums
-- input { 0i64 }
-- output { 0i64 }
-- input { 10i64 }
-- output { 55i64 }
-- input { 9000i64 }
-- output { 40504500i64 }
entry sums (n: i64): i64 = sum_to n 0

-- ==
-- entry: sums_in_parallel
-- input { 5i64 }
-- output { [0i64, 1i64, 3i64, 6i64, 10i64] }
entry sums_in_parallel (n: i64): [n]i64 = map (\i -> sum_to i 0) (iota n)

def steps (n: i64) (count: i64): i64 =
  if n <= 1 then count
  else match n % 2
       case 0 -> steps (n / 2) (count + 1)
       case _ -> let m = 3 * n + 1 in steps m (count + 1)

-- ==
-- entry: collatz
-- input { 27i64 }
-- output { 111i64 }
-- input { 1i64 }
-- output { 0i64 }
entry collatz (n: i64): i64 = steps n 0

def fill [n] (xs: *[n]i64) (i: i64): *[n]i64 =
  if i >= n then xs
  else let xs = xs with [i] = i * i in fill xs (i + 1)

-- ==
-- entry: squares
-- input { 6i64 }
-- output { [0i64, 1i64, 4i64, 9i64, 16i64, 25i64] }
-- input { 0i64 }
-- output { empty([0]i64) }
entry squares (n: i64): [n]i64 = fill (replicate n 0) 0

-- ==
-- entry: many_squares
-- input { 9000i64 }
-- output { 80982001i64 }
entry many_squares (n: i64): i64 = last (fill (replicate n 0) 0)

-- The result's size is known only at the end.
def grow (n: i64) (k: i64) (xs: [n]i64): []i64 =
  if k == 0 then xs
  else if k % 2 == 0 then grow (n + 1) (k - 1) (xs ++ [k])
  else grow (n + 2) (k - 1) (xs ++ [k, -k])

-- ==
-- entry: grown
-- input { 0i64 }
-- output { empty([0]i64) }
-- input { 5i64 }
-- output { [5i64, -5i64, 4i64, 3i64, -3i64, 2i64, 1i64, -1i64] }
entry grown (k: i64): []i64 = grow 0 k []

-- Arguments are swapped.
def turn (k: i64) (a: [2]i64) (b: [2]i64) (c: i64) (d: i64): ([2]i64, [2]i64, i64) =
  if k == 0 then (a, b, c * 1000 + d) else turn (k - 1) b (map (+ k) a) d (c + 1)

-- ==
-- entry: turned
-- input { 0i64 }
-- output { [1i64, 2i64] [3i64, 4i64] 7009i64 }
-- input { 1i64 }
-- output { [3i64, 4i64] [2i64, 3i64] 9008i64 }
-- input { 4i64 }
-- output { [7i64, 8i64] [7i64, 8i64] 9011i64 }
-- input { 3001i64 }
-- output { [2251503i64, 2251504i64] [2253002i64, 2253003i64] 1510508i64 }
entry turned (k: i64): ([2]i64, [2]i64, i64) = turn k [1, 2] [3, 4] 7 9

-- Some calls are in tail position, others are not.
def both (n: i64) (a: i64): i64 =
  if n <= 0 then a
  else if n % 3 == 0 then 1 + both (n - 2) a
  else both (n - 1) (a + n)

-- ==
-- entry: some_last
-- input { 30i64 }
-- output { 155i64 }
-- input { 3i64 }
-- output { 2i64 }
entry some_last (n: i64): i64 = both n 0

def find (xs: []i64) (i: i64) (x: i64): i64 = if xs[i] == x then i else find xs (i + 1) x

-- ==
-- entry: found
-- input { [5i64, 6i64, 7i64] 7i64 }
-- output { 2i64 }
-- input { [5i64, 6i64, 7i64] 8i64 }
-- error: Index \[3\] out of bounds for array of shape \[3\]
entry found (xs: []i64) (x: i64): i64 = find xs 0 x
