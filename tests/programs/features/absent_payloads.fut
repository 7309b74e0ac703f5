-- Absent payloads take no memory, and their sizes are not checked: these may be too large or
-- negative.

type~ opt = #some ([]i64) | #none
type vec [n] = #some ([n]i64) | #none

def some (x: []i64): opt = #some x
def none (n: i64): opt = if n < 0 then #some (iota n) else #none
def cube (n: i64): opt = if n < 1000 then #some (iota (n * n * n)) else #none

-- ==
-- entry: branch
-- input { 10i64 } output { 499500i64 }
-- input { 100000i64 } output { -1i64 }
entry branch (n: i64) = match cube n case #some x -> i64.sum x case #none -> -1

-- ==
-- entry: hidden
-- input { 10i64 } output { 499500i64 }
-- input { 100000i64 } output { -1i64 }
entry hidden (n: i64) =
  let o = #[opaque] (cube n)
  in match o case #some x -> i64.sum x case #none -> -1

-- ==
-- entry: negative
-- input { 3i64 } output { 21i64 }
-- input { -5i64 } output { -1i64 }
entry negative (n: i64) =
  let o: opt = if n >= 0 then #some (replicate n 7) else #none
  in match o case #some x -> i64.sum x case #none -> -1

-- ==
-- entry: sized
-- input { 3i64 } output { 3i64 }
-- input { 4000000000000i64 } output { -2i64 }
-- input { -1i64 } output { -2i64 }
def small (n: i64): vec [n] = if n >= 0 && n < 10 then #some (iota n) else #none
entry sized (n: i64) = match small n case #some x -> i64.sum x case #none -> -2

type~ any = #flags ([]bool) | #floats ([]f32) | #ints ([]i64) | #nothing

def pick (k: i64) (n: i64): any =
  if k == 0 then #ints (iota n)
  else if k == 1 then #floats (map f32.i64 (iota (2 * n)))
  else if k == 2 then #flags (map (\i -> i % 2 == 0) (iota (n + 1)))
  else #nothing

def weigh (a: any): f32 =
  match a
  case #ints x -> f32.i64 (i64.sum x)
  case #floats x -> f32.sum x / 2
  case #flags x -> f32.i64 (length (filter id x))
  case #nothing -> -1

-- ==
-- entry: several
-- input { 0i64 5i64 } output { 10f32 }
-- input { 1i64 3i64 } output { 7.5f32 }
-- input { 2i64 4i64 } output { 3f32 }
-- input { 3i64 -7i64 } output { -1f32 }
entry several (k: i64) (n: i64) = weigh (pick k n)

-- ==
-- entry: matched
-- input { 0i64 5i64 } output { 10i64 }
-- input { 1i64 3i64 } output { 6i64 }
-- input { 2i64 3i64 } output { 0i64 }
-- input { 3i64 3i64 } output { 0i64 }
entry matched (k: i64) (n: i64) =
  let o: opt = match pick k n
               case #ints x -> some x
               case #floats x -> some (indices x)
               case #flags _ -> none n
               case #nothing -> none 0
  in match o
     case #some x -> if k == 1 then length x else i64.sum x
     case #none -> 0

-- The same size in two constructors.
type two [n] = #a ([n]i64) | #b ([n]i32) | #c
def size_of [n] (_: two [n]): i64 = n

-- ==
-- entry: either
-- input { 0i64 4i64 } output { 4i64 }
-- input { 1i64 5i64 } output { 5i64 }
-- input { 2i64 6i64 } output { 6i64 }
entry either (k: i64) (n: i64) =
  let t: two [n] = if k == 0 then #a (iota n)
                   else if k == 1 then #b (map i32.i64 (iota n)) else #c
  in size_of t

type~ pair = #pair {xs: []i64, ys: [](i32, f64), k: i64} | #single ([]i64) | #none

def make (k: i64) (n: i64): pair =
  if k == 0 then #pair {xs = iota n, ys = map (\i -> (i32.i64 i, f64.i64 i)) (iota (n + 1)), k = n}
  else if k == 1 then #single (iota (n * n))
  else #none

-- ==
-- entry: records
-- input { 0i64 3i64 } output { 15i64 }
-- input { 1i64 3i64 } output { 36i64 }
-- input { 2i64 -3i64 } output { -1i64 }
entry records (k: i64) (n: i64) =
  match make k n
  case #pair {xs, ys, k} -> i64.sum xs + i64.f64 (f64.sum (map (.1) ys)) + 2 * k
  case #single xs -> i64.sum xs
  case #none -> -1

type~ nest = #inner opt | #outer ([]i64)

def nested (k: i64) (n: i64): nest =
  if k == 0 then #inner (#some (iota n))
  else if k == 1 then #inner #none
  else #outer (iota (2 * n))

-- ==
-- entry: nests
-- input { 0i64 4i64 } output { 6i64 }
-- input { 1i64 -4i64 } output { -1i64 }
-- input { 2i64 2i64 } output { 6i64 }
entry nests (k: i64) (n: i64) =
  match nested k n
  case #inner (#some x) -> i64.sum x
  case #inner #none -> -1
  case #outer x -> i64.sum x

-- ==
-- entry: loops
-- input { 5i64 4i64 } output { 6i64 }
-- input { 0i64 -4i64 } output { -1i64 }
-- input { 2i64 3i64 } output { -1i64 }
entry loops (k: i64) (n: i64) =
  let o: vec [n] = loop (o: vec [n]) = #none for i < k do
                     match o
                     case #none -> if i == 2 then #some (iota n) else #none
                     case #some x -> if i == 3 then #none else #some x
  let o: vec [n] = match o case #none -> if k == 5 then #some (iota n) else #none
                           case #some x -> #some x
  in match o case #some x -> i64.sum x case #none -> -1

-- ==
-- entry: kept
-- input { 3i64 } output { [9i64, 10i64, 11i64] }
-- input { 0i64 } output { empty([0]i64) }
entry kept (n: i64) =
  let o: vec [n] = loop (o: vec [n]) = #none for _i < 10 do
                     match o
                     case #none -> #some (iota n)
                     case #some x -> #some (map (+ 1) x)
  in match o case #some x -> x case #none -> replicate n 0

-- Elements of an array have one shape.
-- ==
-- entry: elements
-- input { 4i64 3i64 } output { [-1i64, 3i64, -1i64, 9i64] }
-- input { 2i64 0i64 } output { [-1i64, 0i64] }
-- input { 0i64 3i64 } output { empty([0]i64) }
entry elements (m: i64) (n: i64) =
  let os: [m](vec [n]) = map (\i -> if i % 2 == 0 then #none else #some (replicate n i)) (iota m)
  in map (\o -> match o case #some x -> i64.sum x case #none -> -1) os

-- ==
-- entry: literals
-- input { true 3i64 } output { [-1i64, 3i64, -1i64] }
-- input { false 2i64 } output { [-1i64, 1i64, 1i64] }
entry literals (b: bool) (n: i64) =
  let last: vec [n] = if b then #none else #some (iota n)
  let os: [](vec [n]) = [#none, #some (iota n), last]
  in map (\o -> match o case #some x -> i64.sum x case #none -> -1) os

-- ==
-- entry: replicated
-- input { true 3i64 } output { [-1i64, -1i64, 3i64] }
-- input { false 3i64 } output { [3i64, 3i64, 3i64] }
entry replicated (b: bool) (n: i64) =
  let o: vec [n] = if b then #none else #some (iota n)
  let os = replicate 2 o ++ [#some (iota n)]
  in map (\o -> match o case #some x -> i64.sum x case #none -> -1) os

-- ==
-- entry: updated
-- input { 1i64 2i64 } output { [1i64, -1i64, 1i64] }
entry updated (i: i64) (n: i64) =
  let os: *[](vec [n]) = replicate 3 (#some (iota n))
  let os = os with [i] = #none
  in map (\o -> match o case #some x -> i64.sum x case #none -> -1) os

-- ==
-- entry: scattered
-- input { 3i64 2i64 } output { [-1i64, 1i64, -1i64] }
entry scattered (m: i64) (n: i64) =
  let os: *[m](vec [n]) = replicate m #none
  let os = scatter os [1, 7] [#some (iota n), #none]
  in map (\o -> match o case #some x -> i64.sum x case #none -> -1) os

-- The first payload that is present.
def first [n] (a: vec [n]) (b: vec [n]): vec [n] =
  match a case #some x -> #some x case #none -> b

-- ==
-- entry: reduced
-- input { 4i64 3i64 } output { 3i64 [-1i64, 3i64, 3i64, 3i64] }
-- input { 1i64 3i64 } output { -1i64 [-1i64] }
entry reduced (m: i64) (n: i64) =
  let os: [m](vec [n]) = map (\i -> if i == 0 then #none else #some (replicate n i)) (iota m)
  let sum (o: vec [n]) = match o case #some x -> i64.sum x case #none -> -1
  in (sum (reduce first #none os), map sum (scan first #none os))

-- ==
-- entry: histogram
-- input { 3i64 2i64 } output { [-1i64, 2i64, -1i64] }
entry histogram (m: i64) (n: i64) =
  let dest: *[m](vec [n]) = replicate m #none
  let os = reduce_by_index dest first #none [1, 1] [#some (replicate n 1), #none]
  in map (\o -> match o case #some x -> i64.sum x case #none -> -1) os

-- Functions that are not inlined.
#[noinline] def keep (k: i64) (o: opt): opt = if k > 0 then o else #none
#[noinline] def total (o: opt): i64 = match o case #some x -> i64.sum x case #none -> -1
#[noinline] def shared [n] (o: vec [n]) (ys: [n]i64): i64 =
  match o case #some x -> i64.sum (map2 (*) x ys) case #none -> n
#[noinline] def alone [n] (o: vec [n]): (i64, vec [n]) = (n, o)

-- ==
-- entry: calls
-- input { 1i64 10i64 } output { 499500i64 }
-- input { 1i64 100000i64 } output { -1i64 }
-- input { 0i64 10i64 } output { -1i64 }
entry calls (k: i64) (n: i64) = total (keep k (cube n))

-- ==
-- entry: agreeing
-- input { true 3i64 } output { 5i64 }
-- input { false 3i64 } output { 3i64 }
entry agreeing (b: bool) (n: i64) =
  shared (if b then #some (iota n) else #none) (iota n)

-- ==
-- entry: reported
-- input { true 3i64 } output { 3i64 3i64 }
-- input { false 3i64 } output { 3i64 -1i64 }
entry reported (b: bool) (n: i64) =
  let o: vec [n] = if b then #some (iota n) else #none
  let (k, o) = alone o
  in (k, match o case #some x -> i64.sum x case #none -> -1)

#[noinline] def found (xs: []i64): opt =
  let ys = filter (> 2) xs in if length ys > 1 then #some ys else #none

-- ==
-- entry: filtered
-- input { [1i64, 2i64, 3i64, 4i64] } output { [3i64, 4i64] }
-- input { [1i64, 2i64, 3i64] } output { empty([0]i64) }
entry filtered (xs: []i64): []i64 = match found xs case #some x -> x case #none -> []

-- A recursive function.
def turn [n] (k: i64) (o: vec [n]) (x: [n]i64): vec [n] =
  if k == 0 then o
  else turn (k - 1) (match o case #none -> #some x case #some _ -> #none) (map (+ 1) x)

-- ==
-- entry: recursive
-- input { 0i64 3i64 } output { -1i64 }
-- input { 1i64 3i64 } output { 3i64 }
-- input { 2i64 3i64 } output { -1i64 }
-- input { 3i64 3i64 } output { 9i64 }
entry recursive (k: i64) (n: i64) =
  match turn k #none (iota n) case #some x -> i64.sum x case #none -> -1

-- ==
-- entry: equal
-- input { 3i64 3i64 } output { [true, false, false, true] }
-- input { 3i64 -1i64 } output { [false, false, true, true] }
entry equal (n: i64) (m: i64) =
  let some (k: i64): vec [k] = if k > 0 then #some (iota k) else #none
  let a = some n
  let b = some m :> vec [n]
  let none: vec [n] = if n > 100 then #some (iota n) else #none
  let nones: [](vec [n]) = [none, a]
  in [a == b, a == none, b == none, nones[0] == none]

-- ==
-- entry: updates
-- input { 3i64 } output { [9i64, 1i64, 2i64] }
-- input { 0i64 } output { empty([0]i64) }
entry updates (n: i64) =
  let o: vec [n] = if n > 0 then #some (iota n) else #none
  in match o
     case #some x -> copy x with [0] = 9
     case #none -> iota n

-- A size that is not the payload's.
-- ==
-- entry: wrong
-- input { 3i64 3i64 } output { 3i64 }
-- input { 3i64 4i64 }
-- error: cannot match shape of type
-- input { -3i64 4i64 } output { -1i64 }
entry wrong (n: i64) (m: i64) =
  let some (k: i64): vec [k] = if k > 0 then #some (iota k) else #none
  in match some n :> vec [m] case #some x -> i64.sum x case #none -> -1

-- Entry points with sums as parameters and results.
entry give (n: i64): opt = cube n
entry take_back (o: opt): i64 = total o
