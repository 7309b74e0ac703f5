-- Sizes of payloads of sums: of the present one, and 0 for an absent payload whose size nothing
-- else determines.

type~ opt = #some ([]i64) | #none
type vec [n] = #some ([n]i64) | #none
type two [n] = #a ([n]i64) | #b ([n]i32) | #c
def cube (n: i64): opt = if n < 1000 then #some (iota (n * n * n)) else #none
def len_of [n] (_: vec [n]) = n
#[noinline] def len_own [n] (_: vec [n]) = n
#[noinline] def found (xs: []i64): opt =
  let ys = filter (> 2) xs in if length ys > 1 then #some ys else #none
-- ==
-- entry: lens
-- input { [3i64, 4i64] } output { 2i64 2i64 }
-- input { [1i64, 3i64] } output { 0i64 0i64 }
entry lens (xs: []i64) = (len_of (found xs), len_own (found xs))

-- ==
-- entry: lets
-- input { [3i64, 4i64] } output { 2i64 }
-- input { [1i64, 3i64] } output { 0i64 }
entry lets (xs: []i64) = let [k] (_: vec [k]) = found xs in k

-- ==
-- entry: known
-- input { 3i64 } output { 3i64 }
-- input { -3i64 } output { -3i64 }
entry known (n: i64) =
  let o: vec [n] = if n > 0 then #some (iota n) else #none
  let [k] (_: vec [k]) = o in k

#[noinline] def mk (k: i64) (n: i64): ?[m].two [m] =
  let ys = filter (>= 0) (iota (n + 1))
  in if k == 0 then #a ys else if k == 1 then #b (map i32.i64 ys) else #c
def size_of [n] (_: two [n]): i64 = n
#[noinline] def size_own [n] (_: two [n]): i64 = n
-- ==
-- entry: twos
-- input { 0i64 4i64 } output { 5i64 5i64 }
-- input { 1i64 4i64 } output { 5i64 5i64 }
-- input { 2i64 4i64 } output { 0i64 0i64 }
entry twos (k: i64) (n: i64) = (size_of (mk k n), size_own (mk k n))

-- ==
-- entry: with_array
-- input { 3i64 } output { 27i64 [27i64] }
-- input { 2000i64 } output { 4i64 [4i64] }
#[noinline] def pair (n: i64): ?[k].(vec [k], [k]i64) =
  let m = if n < 1000 then n * n * n else 4
  let o: vec [m] = if n < 1000 then #some (iota m) else #none
  in (o, iota m)
entry with_array (n: i64) = let [k] (o: vec [k], _: [k]i64) = pair n in (k, [len_of o])

-- ==
-- entry: iterated
-- input { 3i64 4i64 } output { 18i64 }
-- input { 3i64 -4i64 } output { -1i64 }
entry iterated (k: i64) (n: i64) =
  let o: vec [n] = if n > 0 then #some (iota n) else #none
  let f (o: vec [n]): vec [n] = match o case #some x -> #some (map (+ 1) x) case #none -> #none
  in match iterate (i32.i64 k) f o case #some x -> i64.sum x case #none -> -1

-- ==
-- entry: poly
-- input { 3i64 } output { [3i64, -1i64] }
-- input { 0i64 } output { [-1i64, -1i64] }
#[noinline] def twice 'a (x: a) (y: a): [2]a = [x, y]
entry poly (n: i64) =
  let o: vec [n] = if n > 0 then #some (iota n) else #none
  in map (\o -> match o case #some x -> i64.sum x case #none -> -1) (twice o #none)

-- ==
-- entry: polyp
-- input { 3i64 } output { [3i64, -1i64] [1i32, 2i32] }
#[noinline] def twicep 'a 'b (x: (a, b)) (y: (a, b)): [2](a, b) = [x, y]
entry polyp (n: i64) =
  let o: vec [n] = if n > 0 then #some (iota n) else #none
  in unzip (map (\(o, i) -> (match o case #some x -> i64.sum x case #none -> -1, i)) (twicep (o, 1i32) (#none, 2)))

type vecs [n][m] = #all ([n](vec [m])) | #nobody
-- ==
-- entry: arrays
-- input { 2i64 3i64 } output { [3i64, -1i64] }
-- input { 0i64 3i64 } output { empty([0]i64) }
-- input { -1i64 3i64 } output { empty([0]i64) }
entry arrays (n: i64) (m: i64) =
  let o: vecs [n][m] = if n >= 0 then #all (map (\i -> if i == 0 then #some (iota m) else #none) (iota n)) else #nobody
  in match o
     case #all os -> map (\o -> match o case #some x -> i64.sum x case #none -> -1) os
     case #nobody -> []

def const_opt: opt = if length [1,2] > 3 then #some (iota 1000000000000000000) else #none
-- ==
-- entry: constant
-- input { 1i64 } output { -1i64 }
entry constant (_: i64) = match const_opt case #some x -> i64.sum x case #none -> -1

module boxes: {
  type~ box '~a
  val mk '~a : a -> box a
  val get '~a : box a -> a
} = {
  type~ box '~a = {x: a}
  def mk '~a (x: a) : box a = {x}
  def get '~a (x: box a) : a = x.x
}
def down (n: i64) (b: boxes.box opt) (acc: []i64): i64 =
  if n <= 0
  then match boxes.get b case #none -> length acc case #some xs -> i64.sum xs + length acc
  else down (n - 1) b (acc ++ [n])
-- ==
-- entry: boxed_payload
-- input { 3i64 2i64 } output { 10i64 }
-- input { 5i64 0i64 } output { 1i64 }
entry boxed_payload (k: i64) (n: i64): i64 =
  let xs: [k % 5]i64 = tabulate (k % 5) (\i -> if i < 1 then 7 else 0)
  in down n (boxes.mk (#some xs: opt)) [0]
