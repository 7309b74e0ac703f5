-- Attributes that change results, or how they are computed: opaque values, unrolled
-- loops.

-- Unused checks do not fail.
-- ==
-- entry: padded
-- input { empty([0]i64) 2i64 }
-- output { [0i64, 0i64] }
-- input { [3i64, 5i64] 3i64 }
-- output { [3i64, 5i64, 3i64] }
entry padded [n] (xs: [n]i64) (m: i64) : []i64 =
  let filler = #[blank] xs[0]
  in tabulate m (\i -> if i < n then xs[i] else if n == 0 then filler * 0 else xs[0])

def sorted_by_place 'a [n] (xs: [n]a) (is: [n]i64) : [n]a =
  scatter (#[scratch] replicate n xs[n - 1]) is xs

-- ==
-- entry: reordered
-- input { empty([0]i32) }
-- output { empty([0]i32) empty([0]f32) }
-- input { [1, 2, 3] }
-- output { [3i32, 2i32, 1i32] [1.5f32, 1f32, 0.5f32] }
entry reordered [n] (xs: [n]i32) : ([n]i32, [n]f32) =
  let is = tabulate n (\i -> n - 1 - i)
  in unzip (sorted_by_place (zip xs (map (\x -> f32.i32 x / 2) xs)) is)

-- A scratch array is written before it is read.
-- ==
-- entry: rows
-- input { 2i64 3i64 }
-- output { [[0i64, 1i64, 2i64], [10i64, 11i64, 12i64]] }
entry rows (n: i64) (m: i64) : [n][m]i64 =
  loop out = #[scratch] replicate n (replicate m 0i64) for i < n do
    out with [i] = tabulate m (\j -> 10 * i + j)

-- ==
-- entry: horner
-- input { [1, 2, 3, 4] 10 }
-- output { 1234i32 }
-- input { [0, 1, 0, 7] 2 }
-- output { 11i32 }
entry horner (xs: [4]i32) (x: i32) : i32 =
  #[unroll]
  loop y = 0 for c in xs do y * x + c

-- Growing sizes are constants in each copy; the counter of the outer loop is the inner one's
-- bound.
-- ==
-- entry: grown
-- input { 2i64 }
-- output { [0i64, 1i64, 0i64, 1i64, 1i64, 2i64, 1i64, 2i64] 16i64 }
-- input { 0i64 }
-- output { empty([0]i64) 14i64 }
entry grown (n: i64) : ([]i64, i64) =
  let xs = #[unroll] loop xs = iota n for i < 2 do xs ++ map (+ i) xs
  let sum = #[unroll] loop a = n for i < 4 do #[unroll] loop b = a for j < i do b + i * j + (if j == 0 then 1 else 0)
  in (xs, sum)

-- An index out of bounds fails in its iteration.
-- ==
-- entry: checked
-- input { [1, 2, 3] }
-- output { 6i32 }
-- input { [1, 2] }
-- error: Index \[2\] out of bounds for array of shape \[2\]
entry checked (xs: []i32) : i32 =
  #[unroll] loop y = 0 for i < 3 do y + xs[i]

-- Sequential or not, manifest or not: the values are the same.
-- ==
-- entry: in_order
-- input { [[1, 2, 3], [4, 5, 6]] }
-- output { [6, 15] [6, 15] [6, 15] [6, 15] 21i32 }
-- input { empty([0][2]i32) }
-- output { empty([0]i32) empty([0]i32) empty([0]i32) empty([0]i32) 0i32 }
entry in_order [n][m] (xss: [n][m]i32) : ([n]i32, [n]i32, [n]i32, [n]i32, i32) =
  let a = #[sequential] map (\xs -> i32.sum xs) xss
  let b = #[sequential_outer] map (\xs -> i32.sum xs) xss
  let c = #[sequential_inner] map (\xs -> i32.sum xs) xss
  let d = map (\xs -> #[sequential] i32.sum xs) xss
  in (a, b, c, d, #[sequential] i32.sum a)

def counted [n] (is: [n]i64) : [3]i64 = hist (+) 0 3 is (map (+ 1) is)

-- ==
-- entry: placed
-- input { [2i64, 0i64, 2i64, 5i64] }
-- output { [1i64, 0i64, 6i64] [1i64, 0i64, 6i64] [7i64, 0i64, 7i64] [0i64, 2i64, 4i64, 6i64] }
entry placed [n] (is: [n]i64) : ([3]i64, [3]i64, [3]i64, [n]i64) =
  let a = #[sequential] counted is
  let b = #[sequential] #[noinline] counted is
  let c = #[sequential] scatter (replicate 3 0) is (map (const 7) is)
  in (a, b, c, #[sequential_outer] scan (+) 0 (map (\i -> if i == 0 then 2 else i64.min i 2) is) |> map (\x -> x - 2))

def product (xs: []i32) (i: i64) (j: i64) : i32 =
  let a = xs[i] * xs[j]
  let b = a * a + 3 * a
  in (b * b - a) * (xs[i] - xs[j])

-- Unchecked indices, whose checks are removed from the function's body.
-- ==
-- entry: unchecked
-- input { [1, 2, 3] }
-- output { -98i32 }
entry unchecked (xs: [3]i32) : i32 =
  #[unsafe] #[inline] product xs 0 1
