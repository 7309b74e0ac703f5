-- Sizes at joins of control flow: of abstract types, payloads, records, abbreviations, loop
-- parameters and recursive functions. Every size is read from the value.

module type sized = {
  type t [n]
  type~ box 'a
  type pair 'a [n]
  val mk : (n: i64) -> t [n]
  val len [n] : t [n] -> i64
  val sum [n] : t [n] -> i64
  val cat [n] [m] : t [n] -> t [m] -> t [n + m]
  val none : t [0]
  val wrap 'a : a -> box a
  val unwrap 'a : box a -> a
  val two [n] 'a : a -> [n]i64 -> pair a [n]
  val first [n] 'a : pair a [n] -> a
  val second [n] 'a : pair a [n] -> [n]i64
}

module sized : sized = {
  type t [n] = [n]i64
  type~ box 'a = a
  type pair 'a [n] = (a, [n]i64)
  def mk (n: i64) = map (+ 1) (iota n)
  def len [n] (_: [n]i64) = n
  def sum [n] (xs: [n]i64) = i64.sum xs
  def cat [n] [m] (xs: [n]i64) (ys: [m]i64) : [n + m]i64 = xs ++ ys
  def none : t [0] = []
  def wrap x = x
  def unwrap x = x
  def two [n] 'a (x: a) (ys: [n]i64) : pair a [n] = (x, ys)
  def first (x, _) = x
  def second [n] 'a ((_, ys): pair a [n]) : [n]i64 = ys
}

module again (S: sized) = {
  def pick (b: bool) (n: i64) = S.len (if b then S.mk n else S.mk (n + 2))
  def grow (k: i64) = S.len (loop v = S.none for _i < k do S.cat v (S.mk 2))
}

module other = again sized

-- ==
-- entry: branches
-- input { true 3i64 } output { 3i64 6i64 }
-- input { false 3i64 } output { 5i64 15i64 }
entry branches (b: bool) (n: i64) : (i64, i64) =
  let v = if b then sized.mk n else sized.mk (n + 2)
  in (sized.len v, sized.sum v)

-- ==
-- entry: cases
-- input { 0i64 } output { 0i64 }
-- input { 1i64 } output { 4i64 }
-- input { 7i64 } output { 7i64 }
entry cases (n: i64) : i64 =
  sized.len (match n case 0 -> sized.none case 1 -> sized.cat (sized.mk 1) (sized.mk 3) case k -> sized.mk k)

-- ==
-- entry: in_records
-- input { true } output { 2i64 5i64 }
-- input { false } output { 4i64 1i64 }
entry in_records (b: bool) : (i64, i64) =
  let r = if b then {v = sized.mk 2, w = (sized.mk 5, true)} else {v = sized.mk 4, w = (sized.mk 1, b)}
  in (sized.len r.v, sized.len r.w.0)

-- ==
-- entry: arguments
-- input { true 3i64 } output { 3i64 3i64 2i64 }
-- input { false 3i64 } output { 5i64 10i64 6i64 }
entry arguments (b: bool) (n: i64) : (i64, i64, i64) =
  let v = if b then sized.wrap (iota n) else sized.wrap (iota (n + 2))
  let p = if b then sized.two (iota n) (iota 2) else sized.two (iota 5) (iota 6)
  in (length (sized.unwrap v), i64.sum (sized.first p), length (sized.second p))

-- ==
-- entry: loops
-- input { 0i64 } output { 0i64 1i64 }
-- input { 3i64 } output { 6i64 8i64 }
entry loops (k: i64) : (i64, i64) =
  let v = loop v = sized.none for i < k do sized.cat v (sized.mk (i + 1))
  let w = loop w = sized.wrap [1i64] for _i < k do sized.wrap (sized.unwrap w ++ sized.unwrap w)
  in (sized.len v, length (sized.unwrap w))

-- ==
-- entry: functors
-- input { true 3i64 } output { 3i64 6i64 }
-- input { false 2i64 } output { 4i64 4i64 }
entry functors (b: bool) (n: i64) : (i64, i64) = (other.pick b n, other.grow n)

type~ option 'a = #some a | #none
type~ shape = #box ([]i64) ([]bool) | #line ([]f64) | #pair (option ([]i64)) i64 | #point

def boxed (a: []i64) (b: []bool) : shape = #box a b
def line (a: []f64) : shape = #line a
def paired (a: option ([]i64)) (k: i64) : shape = #pair a k
def none : option ([]i64) = #none
def point : shape = #point

def size_of (s: shape) : (i64, i64) =
  match s
  case #box a b -> (length a, length b)
  case #line a -> (length a, -1)
  case #pair (#some a) k -> (length a, k)
  case #pair #none k -> (-2, k)
  case #point -> (-3, -3)

-- ==
-- entry: payloads
-- input { 0i64 } output { 4i64 2i64 }
-- input { 1i64 } output { 1i64 -1i64 }
-- input { 2i64 } output { 2i64 7i64 }
-- input { 3i64 } output { 3i64 8i64 }
-- input { 4i64 } output { -2i64 9i64 }
-- input { 5i64 } output { -3i64 -3i64 }
entry payloads (n: i64) : (i64, i64) =
  size_of (if n < 2
           then if n == 0 then boxed (iota 4) [true, false] else line [1.5]
           else match n
                case 2 -> paired (#some (filter (> 1) (iota 4))) 7
                case 3 -> paired (#some (iota n)) 8
                case 4 -> paired none 9
                case _ -> point)

-- ==
-- entry: payloads_in_loops
-- input { 0i64 } output { 1i64 }
-- input { 5i64 } output { 6i64 }
entry payloads_in_loops (k: i64) : i64 =
  let o = loop o = (#some [0i64] : option ([]i64)) for i < k do match o case #some xs -> #some (xs ++ [i]) case #none -> #none
  in match o case #some xs -> length xs case #none -> -1

def some_above (k: i64) (n: i64) : option ([]i64) =
  let m = n + 1
  let xs = filter (> k) (iota m)
  in #some xs

-- ==
-- entry: filtered_payload
-- input { 3i64 9i64 } output { 6i64 }
-- input { 9i64 9i64 } output { 0i64 }
entry filtered_payload (k: i64) (n: i64) : i64 =
  match some_above k n case #some xs -> length xs case #none -> -1

type~ cloud = {points: []i64, ids: []i64, label: i64}
type~ twice 'a = ?[k].([k]a, [k]a)

def cloud (n: i64) : cloud =
  let found = filter (\i -> i % 3 != 0) (iota n)
  in {points = map (* 2) found, ids = found, label = length found}

def doubled (n: i64) : twice i64 =
  let found = filter (> 2) (iota n)
  in (found, map (* 2) found)

def either (b: bool) (n: i64) : cloud =
  let c = cloud n
  in if b then c else {points = c.ids, ids = c.points, label = 0}

-- ==
-- entry: abbreviations
-- input { 10i64 } output { 6i64 318i64 7i64 5i64 }
-- input { 0i64 } output { 0i64 0i64 0i64 0i64 }
entry abbreviations (n: i64) : (i64, i64, i64, i64) =
  let c = cloud n
  let e = either (n > 3) n
  let (a, b) = doubled n
  let pairs = zip (zip e.points e.ids) (zip e.ids e.points)
  in (length pairs, i64.sum (map2 (*) c.points c.ids), length (zip a b), length pairs - (if n > 3 then 1 else 0))

def halves [n] (xs: [n]i64) = if n <= 2 then xs else halves (xs[n / 2:])

def until (k: i64) (xs: []i64) = if length xs > k then xs else until k (xs ++ [length xs])

def sums [n] (k: i64) (xs: [n]i64) = if k == 0 then xs else map2 (+) xs (sums (k - 1) xs)

-- ==
-- entry: recursion
-- input { 9i64 } output { [7i64, 8i64] 4i64 [0i64, 4i64, 8i64] }
-- input { 1i64 } output { [0i64] 4i64 [0i64, 4i64, 8i64] }
entry recursion (n: i64) : ([]i64, i64, []i64) =
  (halves (iota n), length (until 3 []), sums 3 (iota 3))

-- ==
-- entry: from_anonymous
-- input { [5i64, 6i64, 7i64, 8i64] 2i64 } output { [0i64, 1i64] [9i64, 9i64] 2i64 }
-- input { [5i64] 3i64 } output { [5i64] [5i64] 3i64 }
entry from_anonymous (xs: []i64) (n: i64) : ([]i64, []i64, i64) =
  let a = loop q = xs while length q > 3 do iota n
  let b = loop q = xs while length q > 2 do replicate (length q - 1) 9
  let c = loop q = xs for _i < 3 do replicate (n + 0 * length q) 1
  in (a, b, length c)

-- ==
-- entry: swapped
-- input { 3i64 2i64 2i64 } output { 3i64 2i64 4i64 6i64 }
-- input { 3i64 2i64 3i64 } output { 2i64 3i64 4i64 6i64 }
entry swapped (n: i64) (m: i64) (k: i64) : (i64, i64, i64, i64) =
  let (a, b) = loop (a, b) = (iota n, iota m) for _i < k do (b, a)
  let (c, d) = loop (c, d) = (iota 3, iota 3) for i < k do if i < 2 then (d, c ++ [i]) else (d, d ++ [i])
  in (length a, length b, length c + k * 0, length d * 0 + 6)

-- Sizes that the module computes from sizes that vary.
module padded : {
  type t [n]
  type grid [n] [m]
  val of [n] : [n]i64 -> t [n]
  val len [n] : t [n] -> i64
  val grid [n] [m] : [n][m]i64 -> grid [n] [m]
  val cols [n] [m] : grid [n] [m] -> i64
  val cells [n] [m] : grid [n] [m] -> i64
} = {
  type t [n] = ([n](), [n + 1]i64)
  type grid [n] [m] = ([n](), [m](), [n * m]i64)
  def of [n] (xs: [n]i64) : t [n] = (replicate n (), xs ++ [1])
  def len [n] ((_, xs): t [n]) = length xs
  def grid [n] [m] (xs: [n][m]i64) : grid [n] [m] = (replicate n (), replicate m (), flatten xs)
  def cols [n] [m] (_: grid [n] [m]) = m
  def cells [n] [m] ((_, _, xs): grid [n] [m]) = length xs
}

-- ==
-- entry: computed_sizes
-- input { [7i64] } output { 3i64 1i64 2i64 }
-- input { empty([0]i64) } output { 4i64 2i64 4i64 }
entry computed_sizes (a: []i64) : (i64, i64, i64) =
  let x = loop x = padded.of [0, 0, 0] for v in a do padded.of [v, 0]
  let g = loop g = padded.grid (replicate 2 [0, 0]) for _v in a do padded.grid (replicate 2 [0])
  in (padded.len x, padded.cols g, padded.cells g)

def absent (n: i64) : (#some ([]i64) | #none i64) = #none n

-- ==
-- entry: never_there
-- input { 3i64 } output { 3i64 }
entry never_there (n: i64) : i64 = match absent n case #some x -> length x case #none k -> k

-- The vectors of `tagged` have a size that no type names.
module type vectors = {
  type~ t [n]
  val of [n] : [n]i64 -> t [n]
  val to [n] : t [n] -> [n]i64
  val above [n] : i64 -> t [n] -> ?[l].t [l]
}
module tagged : vectors = {
  type~ t [n] = ([n](), #even ([n]i64) | #odd ([]i64))
  def of [n] (xs: [n]i64) : t [n] =
    (replicate n (), if n % 2 == 0 then #even xs else #odd (reverse xs))
  def to [n] (x: t [n]) : [n]i64 =
    match x.1
    case #even xs -> xs
    case #odd xs -> reverse xs :> [n]i64
  def above [n] (k: i64) (x: t [n]) : ?[l].t [l] = of (filter (> k) (to x))
}
module use_vectors (v: vectors) = {
  def numbers (k: i64) : v.t [] = v.of (iota (length (v.to (v.above k (v.of [1, 5, 9])))))
}
module used = use_vectors tagged
def numbers (k: i64) : tagged.t [] =
  tagged.of (iota (length (tagged.to (tagged.above k (tagged.of [3, 1, 2])))))
def counted (k: i64) =
  iota (length (tagged.to (tagged.above k (tagged.of [3, 1, 2]))))

-- ==
-- entry: hidden_sizes
-- input { 0i64 } output { [0i64, 1i64, 2i64] [0i64, 1i64, 2i64] [0i64, 1i64] }
-- input { 2i64 } output { [0i64] [0i64, 1i64] empty([0]i64) }
entry hidden_sizes (k: i64) : ([]i64, []i64, []i64) =
  (tagged.to (numbers k), tagged.to (used.numbers k), counted (k + 1))
