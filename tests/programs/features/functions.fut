-- Functions as values: higher-order, polymorphic, partially applied, sections,
-- local, composed, closures in branches of an argument.

def twice 'a (f: a -> a) (x: a) : a = f (f x)

def compose3 'a 'b 'c 'd (f: c -> d) (g: b -> c) (h: a -> b) : a -> d = f <-< g <-< h

def apply_pair 'a 'b (f: a -> b) (x: a, y: a) : (b, b) = (f x, f y)

-- A function that returns a function.
def adder (n: i32) : i32 -> i32 = \x -> x + n

def select 't (p: t -> bool) (a: t) (b: t) : t = if p a then a else b

-- ==
-- entry: applications
-- input { 3 4 }
-- output { 14i32 17i32 11i32 17i32 0.75f64 false }
-- input { -7 2 }
-- output { 0i32 1i32 -3i32 53i32 -1.75f64 false }
entry applications (x: i32) (y: i32) : (i32, i32, i32, i32, f64, bool) =
  let add3 a b c = a + 2 * b + 3 * c
  let partial = add3 x
  let partial2 = partial y
  let (p, q) = apply_pair (twice (adder y)) (x, x * x)
  in ( partial2 1
     , partial 1 y
     , p
     , q
     , twice (\v -> v / 2) (f64.i32 x)
     , twice (\c -> !c) (x > y)
     )

def select_positive (x: i32) (y: i32) : bool = x > 0 && x < y

-- Sections of operators, also of projections and indexing.
-- ==
-- entry: sections
-- input { [1, 2, 3, -4] [10, 20, 30, 40] }
-- output { [2i32, 3i32, 4i32, -3i32] [99i32, 98i32, 97i32, 104i32] [9i32, 18i32, 27i32, 44i32] [10i32, 20i32, 30i32, 40i32] [true, false, false, false] [-4i32, 3i32, 2i32, 1i32] }
-- input { empty([0]i32) empty([0]i32) }
-- output { empty([0]i32) empty([0]i32) empty([0]i32) empty([0]i32) empty([0]bool) empty([0]i32) }
entry sections [n] (xs: [n]i32) (ys: [n]i32) : ([n]i32, [n]i32, [n]i32, [n]i32, [n]bool, [n]i32) =
  ( map (+ 1) xs
  , map (100 -) xs
  , map2 (-) ys xs
  , map (.1) (zip xs ys)
  , map (`select_positive` 2) xs
  , map (\i -> xs[n - 1 - i]) (iota n)
  )

-- One polymorphic function at several types.
-- ==
-- entry: polymorphic
-- input { [3, 1, 2] [1.5, -2.5] [true, false, false] }
-- output { 1i32 -2.5f64 false 1i64 7.0f64 }
-- input { [9] [0.25] [true] }
-- output { 9i32 0.25f64 true 0i64 0.25f64 }
entry polymorphic (a: []i32) (b: []f64) (c: []bool) : (i32, f64, bool, i64, f64) =
  let second_or_first 't [n] (xs: [n]t) = if n > 1 then xs[1] else xs[0]
  in ( second_or_first a
     , second_or_first b
     , second_or_first c
     , second_or_first (zip a (indices a)) |> (.1)
     , select (> 0) (second_or_first b) 7
     )

-- Pipelines.
-- ==
-- entry: pipeline
-- input { [1, 2, 3, 4, 5] }
-- output { 50i32 60i32 }
-- input { empty([0]i32) }
-- output { 0i32 0i32 }
entry pipeline (xs: []i32) : (i32, i32) =
  let square x = x * x
  let f = map (square >-> (+ 1)) >-> reduce (+) 0
  in (xs |> filter (> 2) |> map square |> reduce (+) 0, f xs)

-- A user-defined operator, whose precedence follows from its first character.
def (<+>) (a: i32, b: i32) (c: i32, d: i32) : (i32, i32) = (a + c, b * d)

def (+^) (x: i32) (y: i32) : i32 = 10 * x + y

-- ==
-- entry: operators
-- input { 1 2 3 }
-- output { 6i32 6i32 161i32 }
-- input { 0 -2 5 }
-- output { 3i32 0i32 -99i32 }
entry operators (a: i32) (b: i32) (c: i32) : (i32, i32, i32) =
  let (x, y) = (a, b) <+> (b, c) <+> (c, a)
  in (x, y, a +^ b * c +^ 1)

-- Standard functions on functions.
-- ==
-- entry: combinators
-- input { 5 3 }
-- output { -2i32 15i32 2i32 5i32 80i32 17i32 }
entry combinators (x: i32) (y: i32) : (i32, i32, i32, i32, i32, i32) =
  let sub a b = a - b
  in ( flip sub x y
     , curry (\(a, b) -> a * b) x y
     , uncurry sub (x, y)
     , const x y
     , iterate 4 (* 2) (id x)
     , compose3 (+ 1) (* 2) (adder y) x
     )

-- A closure over an array, called in a nested map; recursion by iteration.
-- ==
-- entry: closures
-- input { [1, 2, 3] [0i64, 2i64] }
-- output { [[11i32, 12i32, 13i32], [31i32, 32i32, 33i32]] 127i32 }
-- input { [5] [0i64, 0i64, 0i64] }
-- output { [[55i32], [55i32], [55i32]] 187i32 }
entry closures [n] [m] (table: [n]i32) (is: [m]i64) : ([m][n]i32, i32) =
  let lookup i = table[i]
  let with_base base = map (\t -> t + base) table
  in ( map (\i -> with_base (10 * lookup i)) is
     , iterate_until (> 100) (\x -> 2 * x + lookup 0) 1
     )

-- The library's folds.
-- ==
-- entry: folds
-- input { [1, 2, 3, 4] }
-- output { 1234i32 4321i32 true true }
-- input { empty([0]i32) }
-- output { 0i32 0i32 true false }
entry folds (xs: []i32) : (i32, i32, bool, bool) =
  ( foldl (\acc x -> 10 * acc + x) 0 xs
  , foldr (\x acc -> 10 * acc + x) 0 xs
  , all (> 0) xs
  , any (> 3) xs
  )

def table = map (* 3) (iota 100)

#[noinline]
def below (i: i64) = i64.sum (map (\j -> table[j] * i) (iota (i % 100)))

-- A constant array, read by a function that parallel code calls.
-- ==
-- entry: tabled
-- input { [0i64, 1i64, 2i64, 57i64, 250i64] }
-- output { [0i64, 0i64, 6i64, 272916i64, 918750i64] }
entry tabled (xs: []i64) : []i64 = map below xs
