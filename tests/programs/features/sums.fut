-- Sums with arrays: consumed, in loops, in arrays of pairs, in polymorphic functions.

type~ opt = #some ([]i64) | #none
type vec [n] = #some ([n]i64) | #none

#[noinline] def set [n] (o: *vec [n]) (v: i64): *vec [n] =
  match o case #some x -> #some (x with [0] = v) case #none -> #none
-- ==
-- entry: consumed
-- input { 3i64 } output { [9i64, 1i64, 2i64] }
-- input { 0i64 } output { [7i64] }
entry consumed (n: i64): []i64 =
  let o: *vec [n] = if n > 0 then #some (iota n) else #none
  let o = set o 9
  in match o case #some x -> x case #none -> [7]

-- ==
-- entry: looped
-- input { 4i64 } output { [0i64, 1i64, 2i64, 3i64] }
-- input { 0i64 } output { empty([0]i64) }
entry looped (n: i64): [n]i64 =
  let o: *vec [n] = loop (o: *vec [n]) = #some (replicate n 0) for i < n do
    match o case #some x -> #some (x with [i] = i) case #none -> #none
  in match o case #some x -> x case #none -> replicate n 5

-- ==
-- entry: whiled
-- input { 3i64 } output { 3i64 }
-- input { 0i64 } output { 0i64 }
entry whiled (n: i64) =
  let (o, k) = loop (o: vec [n], k) = (#some (iota n), 0) while k < 100 && (match o case #some x -> k < n && x[k] < 50 case #none -> false) do
     (if k > 1 then #none else o, k + 1)
  in match o case #none -> k case #some _ -> k + 0

-- ==
-- entry: fori
-- input { [1i64, -2i64, 3i64] } output { 7i64 }
-- input { [1i64, 3i64] } output { 8i64 }
entry fori (xs: []i64) =
  let n = 2
  let o: vec [n] = loop (o: vec [n]) = #none for x in xs do
     if x < 0 then #none else (match o case #none -> #some (replicate n x) case #some y -> #some (map (+ x) y))
  in match o case #none -> -1 case #some y -> i64.sum y + length xs - 2

type three = #some ([3]f32) | #none
-- ==
-- entry: constants
-- input { [1f32, -1f32] } output { [3f32, -1f32] }
entry constants (xs: []f32) =
  let os: []three = map (\x -> if x > 0 then #some (replicate 3 x) else #none) xs
  in map (\o -> match o case #some x -> f32.sum x case #none -> -1) os
type large = #some ([1000000000000]f32) | #none
-- ==
-- entry: big
-- input { 1f32 } output { -1f32 }
entry big (x: f32) =
  let o: large = if x > 10 then #some (replicate 1000000000000 x) else #none
  in match o case #some x -> f32.sum x case #none -> -1

-- ==
-- entry: both
-- input { 1i64 2i64 } output { 2i64 }
-- input { 1i64 -2i64 } output { 101i64 }
-- input { -1i64 2i64 } output { 202i64 }
-- input { -1i64 -2i64 } output { 300i64 }
entry both (a: i64) (b: i64) =
  let mk (k: i64): vec [k] = if k < 0 then #none else #some (iota (k + 0) :> [k]i64)
  in match (mk a, mk b)
     case (#some x, #some y) -> length x * length y + i64.sum x
     case (#some x, #none) -> 100 + length x
     case (#none, #some y) -> 200 + length y
     case (#none, #none) -> 300

-- ==
-- entry: zipped
-- input { 3i64 2i64 } output { [1i64, -1i64, 1i64] [0i64, 1i64, 2i64] }
entry zipped (m: i64) (n: i64) =
  let xs: [m](vec [n], i64) = map (\i -> (if i == 1 then #none else #some (iota n), i)) (iota m)
  let (os, is) = unzip xs
  in (map (\o -> match o case #some x -> i64.sum x case #none -> -1) os, is)

-- ==
-- entry: scanned
-- input { 3i64 2i64 } output { [1i64, 1i64, 1i64] [0i64, 1i64, 3i64] }
entry scanned (m: i64) (n: i64) =
  let xs: [m](vec [n], i64) = map (\i -> (if i == 1 then #none else #some (iota n), i)) (iota m)
  let op (a: vec [n], i: i64) (b: vec [n], j: i64): (vec [n], i64) = ((match b case #none -> a case #some x -> #some x), i + j)
  let (os, is) = unzip (scan op (#none, 0) xs)
  in (map (\o -> match o case #some x -> i64.sum x case #none -> -1) os, is)

#[noinline] def pick 'a (b: bool) (x: a) (y: a): a = if b then x else y
-- ==
-- entry: polymorphic
-- input { true 3i64 } output { 3i64 }
-- input { false 3i64 } output { -1i64 }
-- input { true -3i64 } output { -1i64 }
entry polymorphic (b: bool) (n: i64) =
  let o: vec [n] = if n > 0 then #some (iota n) else #none
  in match pick b o #none case #some x -> i64.sum x case #none -> -1

-- ==
-- entry: inside
-- input { 4i64 3i64 } output { [0i64, 0i64, 3i64, 0i64] }
entry inside (m: i64) (n: i64) =
  map (\i -> let o: vec [n] = if i % 2 == 0 then #some (map (* i) (iota n)) else #none
             let p: vec [n] = match o case #some x -> #some (map (\y -> y - (i - 1) * (y / i64.max i 1)) x) case #none -> #none
             in match p case #some x -> i64.sum x case #none -> 0) (iota m)

-- ==
-- entry: filters
-- input { 5i64 } output { [0i64, 0i64, 0i64, 1i64, 3i64] }
def big_ones (xs: []i64): opt = let ys = filter (> 1) xs in if length ys > 1 then #some ys else #none
entry filters (n: i64) =
  map (\i -> match big_ones (iota (i + 1)) case #some x -> i64.sum x - 4 - (if length x > 2 then 2 else 0) case #none -> 0) (iota n)

-- ==
-- entry: records
-- input { true 3i64 } output { 3i64 6i64 }
-- input { false 3i64 } output { -1i64 6i64 }
entry records (b: bool) (n: i64) =
  let r: {o: vec [n], xs: [n]i64} = {o = if b then #some (iota n) else #none, xs = iota n}
  let r = r with xs = map (+ 1) r.xs
  in (match r.o case #some x -> i64.sum x case #none -> -1, i64.sum r.xs)
entry taken [n] (o: vec [n]) (ys: [n]i64): i64 = match o case #some x -> i64.sum (map2 (*) x ys) case #none -> n
entry given (n: i64): (vec [n], i64) = (if n > 3 then #some (iota n) else #none, n)
