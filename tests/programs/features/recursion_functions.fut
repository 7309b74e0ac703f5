-- Recursive functions with functions as parameters, and absent functions.

def repeat 'a (n: i64) (f: a -> a) (x: a) : a =
  if n == 0 then x else repeat (n - 1) f (f x)

-- The same function with other arguments, which capture scalars, arrays and functions.
-- ==
-- entry: several
-- input { 4i64 2i64 [1i64, 2i64, 3i64] }
-- output { [6i64, 62i64, 10i64, 2i64, 2i64, 1i64, 26i64] [9i64, 10i64, 11i64] 10i64 }
-- input { 0i64 2i64 [5i64] }
-- output { [2i64, 2i64, 2i64, 2i64, 2i64, 2i64, 2i64] [5i64] 2i64 }
entry several [k] (n: i64) (x: i64) (xs: [k]i64) : ([]i64, [k]i64, i64) =
  let step y = xs[y % k]
  let twice f y = f (f y)
  in ( [ repeat n (\y -> y + 1) x
       , repeat n (\y -> y * 2 + x) x
       , repeat n (+ x) x
       , repeat n (x -) x
       , repeat n i64.neg x
       , repeat n (twice step) x
       , repeat n (\y -> y + i64.sum xs) x
       ]
     , repeat n (map (+ x)) xs
     , (repeat n (\(a, b) -> (b, a + b)) (0, x)).1
     )

-- The recursive call is in a local function, which captures the function.
-- ==
-- entry: within
-- input { 10i64 3i64 }
-- output { 175i64 }
-- input { 0i64 3i64 }
-- output { 0i64 }
def down (g: i64 -> i64) (n: i64) : i64 =
  let h (x: i64) = g x + down g (n - 1)
  in if n == 0 then 0 else h n

entry within (n: i64) (k: i64) : i64 = down (\x -> x * k + 1) n

-- Functions in records.
-- ==
-- entry: record
-- input { 7i64 3i64 }
-- output { 18767i64 }
-- input { 8i64 3i64 }
-- output { 57071i64 }
def walk (n: i64) (fs: {first: i64 -> i64, step: i64, others: (i64 -> i64, i64 -> i64 -> i64)}) (x: i64) : i64 =
  if n == 0
  then x
  else walk (n - fs.step) fs (fs.others.1 (fs.first x) (fs.others.0 x))

entry record (n: i64) (k: i64) : i64 =
  walk (2 * n) {first = \x -> x % 1000 + k, step = 2, others = ((* 3), \a b -> a + b)} 1

-- In parallel, and with parallelism inside; sizes that vary.
-- ==
-- entry: trees
-- input { 4i64 [1i64, 5i64, 2i64, 8i64, 7i64, 3i64] }
-- output { [0i64, 1i64, 9i64, 51i64] 14i64 3i64 [1i64, 13i64, 6i64, 24i64, 19i64, 7i64] }
def sums (g: i64 -> i64) (n: i64) : i64 =
  if n == 0
  then 0
  else i64.sum (map (\x -> g x + sums g (n - 1)) (iota n))

def sieve [m] (p: i64 -> i64 -> bool) (xs: [m]i64) : i64 =
  if m == 0 then 0 else xs[0] + sieve p (filter (p xs[0]) xs[1:])

entry trees [m] (n: i64) (xs: [m]i64) : ([n]i64, i64, i64, [m]i64) =
  ( map (\k -> sums (\x -> x + k) k) (iota n)
  , sieve (\a b -> a < b + n - 4) xs
  , sieve (\a b -> (a + b + length xs) % 2 == 1) xs
  , map (\x -> repeat x (\y -> y + xs[y % m]) 0) xs
  )

-- In place: the array is passed through the calls.
-- ==
-- entry: fill
-- input { 6i64 }
-- output { [0i64, 1i64, 4i64, 9i64, 16i64, 25i64] [25i64, 16i64, 9i64, 4i64, 1i64, 0i64] }
def filled [n] (i: i64) (f: i64 -> i64) (xs: *[n]i64) : *[n]i64 =
  if i == n then xs else filled (i + 1) f (xs with [i] = f i)

entry fill (n: i64) : ([n]i64, [n]i64) =
  let squares = filled 0 (\i -> i * i) (replicate n 0)
  in (squares, filled 0 (\i -> squares[n - 1 - i]) (replicate n 0))

-- A function in a sum type.
-- ==
-- entry: perhaps
-- input { 5i64 }
-- output { 95i64 125i64 }
type^ perhaps = #none | #some (i64 -> i64)

def apply (n: i64) (f: perhaps) (x: i64) : i64 =
  if n == 0
  then x
  else match f
       case #none -> apply (n - 1) f (x - 1)
       case #some g -> apply (n - 1) f (g x)

entry perhaps (n: i64) : (i64, i64) =
  (apply n #none 100, apply n (#some (\x -> x + n)) 100)

-- A function whose use is checked, in and around the recursion.
-- ==
-- entry: checked
-- input { 3i64 2i64 }
-- output { 6i64 5i64 }
-- input { 3i64 0i64 }
-- error: Assertion is false: \(k > 0\)
entry checked (n: i64) (k: i64) : (i64, i64) =
  let f = assert (k > 0) (\x -> x + k)
  let v: perhaps = assert (k > 0) (#some f)
  in ( repeat n f 0
     , match v
       case #none -> 0
       case #some g -> g n
     )

-- Absent functions.
-- ==
-- entry: missing
-- input { true 3i64 }
-- output { 3i64 }
-- input { false 3i64 }
-- error: hole
entry missing (c: bool) (n: i64) : i64 = if c then n else ??? (+ 1) n

-- ==
-- entry: missing_array
-- input { 3i64 }
-- error: hole
entry missing_array (n: i64) : [n]i64 =
  let (f, m): ((k: i64) -> [k]i64, i64) = ???
  in map (+ m) (f n)

-- ==
-- entry: missing_step
-- input { 2i64 }
-- error: hole
entry missing_step (n: i64) : i64 = repeat n ??? n

-- A function as a type argument.
-- ==
-- entry: generic
-- input { 3i64 4i64 }
-- output { 90i64 }
def after '^a (n: i64) (x: a) (use: i64 -> a -> i64) : i64 =
  if n == 0 then 0 else use n x + after (n - 1) x use

entry generic (n: i64) (k: i64) : i64 =
  after n (+ k) (\i f -> f i) + after n {f = (* k), y = k} (\i r -> r.f (i + r.y))
