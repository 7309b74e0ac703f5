-- Cases beyond the simple ones. Expected values were
-- computed by the reference compiler (`futhark c`, 0.25.32), except for
-- `recursive` (Python), which that version does not accept.

-- Closures that capture and are applied partially, in tuples and records.
def compose2 '^a '^b '^c (p: {f: a -> b, g: b -> c}) (x: a) : c = p.g (p.f x)

-- ==
-- entry: closures
-- input { 3 [1, 2, 3] }
-- output { [10, 13, 16] 22 }
entry closures (k: i32) (xs: []i32) : ([]i32, i32) =
  let add a b = a + b
  let scale = (* k)
  let fs = (add 7, scale)
  let both = compose2 {f = fs.1, g = fs.0}
  in (map both xs, both (k + 2))

-- One polymorphic function at several types.
def swap 'a 'b (x: a, y: b) : (b, a) = (y, x)
#[noinline]
def pairwise 'a [n] (op: a -> a -> a) (xs: [n]a) : [n]a =
  map2 op xs (rotate 1 xs)
-- ==
-- entry: polymorphic
-- input { [1, 2, 3] [1.5, 2.5] }
-- output { [3, 5, 4] [3.75, 3.75] 2.5 [3, 2, 1] }
entry polymorphic (xs: []i32) (ys: []f64) =
  let (a, b) = swap (reverse xs, ys[1])
  in (pairwise (+) xs, pairwise (*) ys, a, b)

-- An update of zipped arrays does not change the original arrays.
-- ==
-- entry: zipped
-- input { [1, 2, 3] [4, 5, 6] }
-- output { [9, 2, 3] [8, 5, 6] 6 }
entry zipped [n] (xs: [n]i32) (ys: [n]i32) =
  let xs' = copy xs
  let zs = zip xs' ys
  let zs' = copy zs with [0] = (9, 8)
  let (as, bs) = unzip zs'
  in (as, bs, xs'[0] + ys[0] + 1)

-- Two arrays that are swapped in each iteration.
-- ==
-- entry: swapping
-- input { 3 [1, 2, 3] }
-- output { [1, 102, 3] [101, 2, 3] }
-- input { 0 [1, 2, 3] }
-- output { [1, 2, 3] [1, 2, 3] }
entry swapping [n] (k: i32) (xs: [n]i32) : ([n]i32, [n]i32) =
  loop (a: *[n]i32, b: *[n]i32) = (copy xs, copy xs) for i < k do
    let a[i64.i32 i % n] = xs[i64.i32 i % n] + 100 * (1 - i % 2) * (1 - i / 2) + 100 * (i % 2)
    in (b, a)

-- Chains of updates.
type body = {pos: (f32, f32), mass: f32}
-- ==
-- entry: chains
-- input { [[[1, 2], [3, 4]], [[5, 6], [7, 8]]] 1i64 }
-- output { [[[1, 2], [3, 4]], [[5, 6], [40, 8]]] [0.0f32, 2.5f32] }
entry chains (xss: [][][]i32) (i: i64) =
  let a = copy xss
  let a[i][1][0] = 40
  let bs: [2]body = replicate 2 {pos = (0, 0), mass = 1}
  let bs[i].pos.1 = 2.5
  in (a, map (.pos.1) bs)

-- Sums whose payloads differ in size.
type~ shape = #dots []i32 | #line i64 i64 | #empty
def grow (s: shape) : shape =
  match s
  case #dots xs -> if length xs > 2 then #line (length xs) 1 else #dots (xs ++ xs)
  case #line n m -> #line (n + m) (m * 2)
  case #empty -> #dots [7]
def some: shape = #dots (filter (> 0) [0, 7])
def measure (s: shape) : i64 =
  match s
  case #dots xs -> i64.i32 (i32.sum xs)
  case #line n m -> 100 * n + m
  case #empty -> -1
-- ==
-- entry: sums
-- input { 0 } output { 7i64 }
-- input { 1 } output { 14i64 }
-- input { 2 } output { 28i64 }
-- input { 3 } output { 401i64 }
-- input { 4 } output { 502i64 }
entry sums (k: i32) : i64 =
  let s = loop s = some for _i < k do grow s
  in measure s

-- Recursion, with a result size that only the recursion determines.
def collatz (n: i64) (k: i64) : i64 =
  if n <= 1 then k else collatz (if n % 2 == 0 then n / 2 else 3 * n + 1) (k + 1)
def evens [m] (n: i64) (xs: [m]i64) : []i64 =
  if n <= 0 then xs else evens (n - 1) (if n % 2 == 0 then [n] ++ xs else xs)
-- ==
-- entry: recursive
-- input { 27i64 }
-- output { 111i64 [2i64, 4i64, 6i64] }
entry recursive (n: i64) = (collatz n 0, evens 7 [])

-- Constants: computed once, of sizes that their values determine.
def primes: []i64 = filter (\n -> all (\d -> n % d != 0) (2..<n)) (2..<30)
def table = map (\i -> (i, primes[i % length primes])) (iota 3)
def scale = 3i64
-- ==
-- entry: constants
-- input { 2i64 }
-- output { 10i64 [2i64, 3i64, 5i64] 15i64 }
entry constants (i: i64) = (length primes, map (.1) table, primes[i] * scale)

-- Empty arrays of tuples, arrays of units, and equality of structures.
-- ==
-- entry: odd
-- input { 3i64 }
-- output { 0i64 3i64 true false }
entry odd (n: i64) =
  let none: [](i32, [2]bool) = []
  let units = replicate n ()
  in ( length none
     , length units
     , (iota n, 1i32) == (0..<n, 1)
     , (iota n, 1i32) == (iota (n + 1) |> take n |> map (+ 1), 1)
     )
