-- Existential sizes in positions of lifted types.

-- Two calls of one function, whose results have different sizes.
def twice '^a '^b (f: a -> b) (x: a) (y: a) : (b, b) = (f y, f x)

-- ==
-- entry: both
-- input { 2i64 3i64 }
-- output { [0i64, 1i64, 2i64] [0i64, 1i64] }
-- input { 0i64 1i64 }
-- output { [0i64] empty([0]i64) }
entry both (n: i64) (m: i64) : ([]i64, []i64) = twice iota n m

-- ==
-- entry: pairs
-- input { [3, -1, 4, -1, 5] 0 4 }
-- output { [5i32] [3i32, 4i32, 5i32] }
entry pairs (xs: []i32) (a: i32) (b: i32) : ([]i32, []i32) = twice (\t -> filter (> t) xs) a b

-- An array that grows, as a value of a type that may have any size.
def repeat '~a (n: i32) (f: (() -> a) -> a) (x: () -> a) : a =
  loop x = x () for _i < n do f (\() -> x)

-- ==
-- entry: doubled
-- input { 3 [1, 2] }
-- output { [1i32, 2i32, 1i32, 2i32, 1i32, 2i32, 1i32, 2i32, 1i32, 2i32, 1i32, 2i32, 1i32, 2i32, 1i32, 2i32] }
-- input { 0 [1] }
-- output { [1i32] }
entry doubled (n: i32) (xs: []i32) : []i32 =
  repeat n (\(p: () -> []i32) -> let xs = p () in xs ++ xs) (\() -> xs)

-- The sizes of an argument with computed components.
def parts [n] [m] 't (_: [n + m]t) : (i64, i64) = (n, m)

-- ==
-- entry: sum_of_sizes
-- input { [1, -2, 3] }
-- output { 2i64 3i64 }
-- input { empty([0]i32) }
-- output { 0i64 0i64 }
entry sum_of_sizes [n] (xs: [n]i32) : (i64, i64) =
  parts (let some = filter (> 0) xs in some ++ xs)

-- A function of existential size in a record whose type has one per size.
type^ summary 'a = {total: (k: i64) -> [k]a -> i32, count: (k: i64) -> [k]a -> i64}

def of_nothing 'a : summary a =
  let total _ _ = 0i32
  let count k _ = k
  in {total, count}

-- ==
-- entry: summaries
-- input { [1, 2, 3] [4, 5] }
-- output { 0i32 5i64 }
entry summaries [n] [m] (xs: [n]i32) (ys: [m]i32) : (i32, i64) =
  let s = of_nothing
  in (s.total n xs + s.total m ys, s.count n xs + s.count m ys)
