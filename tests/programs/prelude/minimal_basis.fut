-- A minimal basis: with map, iota and scatter (and loops) as the only parallel primitives, the
-- other array functions are library code. The result of each entry `x_ours` is that of
-- `x_builtin`.

def my_zip [n] 'a 'b (as: [n]a) (bs: [n]b) : [n](a, b) =
  map (\i -> (as[i], bs[i])) (iota n)

def my_replicate 'a (n: i64) (x: a) : *[n]a =
  map (\_ -> x) (iota n)

def my_concat [n] [m] 't (xs: [n]t) (ys: [m]t) : [n + m]t =
  map (\i -> if i < n then xs[i] else ys[i - n]) (iota (n + m))

def my_rotate [n] 't (r: i64) (xs: [n]t) : [n]t =
  map (\i -> xs[(i + r) % n]) (iota n)

def my_transpose [n] [m] 't (xss: [n][m]t) : [m][n]t =
  map (\j -> map (\i -> xss[i, j]) (iota n)) (iota m)

def div_rounding_up (x: i64) (y: i64) : i64 = (x + y - 1) / y

-- Neighbours are combined in pairs until one remains.
def reduce_tree [n] 'a (op: a -> a -> a) (ne: a) (as: [n]a) : a =
  let done =
    loop (as: []a) = as
    while length as > 1 do
      let k = length as
      in map (\i -> let x = as[2 * i]
                    let y = if 2 * i + 1 < k then as[2 * i + 1] else ne
                    in op x y)
             (iota (div_rounding_up k 2))
  in if length done == 0 then ne else done[0]

-- A fixed number of workers each reduce every `workers`-th element; the operator must
-- commute.
def reduce_strided [n] 'a (workers: i64) (op: a -> a -> a) (ne: a) (as: [n]a) : a =
  let rounds = div_rounding_up n workers
  let partial =
    map (\t -> loop x = ne for i < rounds do
                 let j = t + i * workers
                 in if j < n then op x as[j] else x)
        (iota workers)
  in reduce_tree op ne partial

-- The same with one contiguous chunk per worker: any associative operator.
def reduce_chunked [n] 'a (workers: i64) (op: a -> a -> a) (ne: a) (as: [n]a) : a =
  let size = div_rounding_up n workers
  let partial =
    map (\t -> loop x = ne for j in (t * size..<i64.max (t * size) (i64.min n ((t + 1) * size))) do
                 op x as[j])
        (iota workers)
  in reduce_tree op ne partial

-- Hillis and Steele: n log n operations, log n steps.
def scan_hillis_steele [n] 'a (op: a -> a -> a) (as: [n]a) : [n]a =
  let (_, result) =
    loop (d, as) = (1, as) while d < n do
      (2 * d, map (\j -> if j < d then as[j] else op as[j - d] as[j]) (iota n))
  in result

-- The index of an element is the number of kept ones before it.
def my_filter [n] 'a (p: a -> bool) (as: [n]a) : []a =
  let keep = map (\a -> if p a then 1 else 0) as
  let offsets = scan_hillis_steele (+) keep
  let kept = reduce_tree (+) 0 keep
  in if kept == 0
     then []
     else scatter (my_replicate kept as[0])
                  (map (\(i, k) -> if k == 1 then i - 1 else -1) (my_zip offsets keep))
                  as

-- Chunks of one element; the compiler may choose larger ones.
def stream_map [n] 'a 'b (f: (c: i64) -> [c]a -> [c]b) (as: [n]a) : []b =
  flatten (map (\a -> f 1 [a]) as)

def stream_red [n] 'a 'b (op: b -> b -> b) (f: (c: i64) -> [c]a -> b) (as: [n]a) : b =
  reduce op (f 0 []) (map (\a -> f 1 [a]) as)

-- A product of small matrices, which does not commute, to distinguish orders.
def affine (a: i32, b: i32) (c: i32, d: i32) : (i32, i32) = (a * c, b * c + d)

-- ==
-- entry: sum_tree sum_strided sum_chunked sum_builtin
-- input { empty([0]i32) }
-- output { 0i32 }
-- input { [3] }
-- output { 3i32 }
-- input { [1, -2, 3, -4, 5, -6, 7] }
-- output { 4i32 }
-- input { [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5] }
-- output { 95i32 }
entry sum_tree (xs: []i32) : i32 = reduce_tree (+) 0 xs

entry sum_strided (xs: []i32) : i32 = reduce_strided 4 (+) 0 xs

entry sum_chunked (xs: []i32) : i32 = reduce_chunked 4 (+) 0 xs

entry sum_builtin (xs: []i32) : i32 = reduce (+) 0 xs

-- ==
-- entry: affine_tree affine_chunked affine_builtin
-- input { empty([0]i32) empty([0]i32) }
-- output { 1i32 0i32 }
-- input { [3, 2, -5, 7, 1] [1, 1, 2, 3, 5] }
-- output { -210i32 -83i32 }
-- input { [3, 2, -5, 7, 1, -1, 2, 11, 13, 17, 1] [1, 1, 2, 3, 5, 6, 7, 8, 9, 10, -4] }
-- output { 1021020i32 451662i32 }
entry affine_tree [n] (as: [n]i32) (bs: [n]i32) : (i32, i32) =
  reduce_tree affine (1, 0) (zip as bs)

entry affine_chunked [n] (as: [n]i32) (bs: [n]i32) : (i32, i32) =
  reduce_chunked 3 affine (1, 0) (zip as bs)

entry affine_builtin [n] (as: [n]i32) (bs: [n]i32) : (i32, i32) =
  reduce affine (1, 0) (zip as bs)

-- ==
-- entry: scan_ours scan_builtin
-- input { empty([0]i32) empty([0]i32) }
-- output { empty([0]i32) empty([0]i32) }
-- input { [4] [9] }
-- output { [4i32] [9i32] }
-- input { [3, 2, -5, 7, 1, -1, 2] [1, 1, 2, 3, 5, 6, 7] }
-- output { [3i32, 6i32, -30i32, -210i32, -210i32, 210i32, 420i32] [1i32, 3i32, -13i32, -88i32, -83i32, 89i32, 185i32] }
entry scan_ours [n] (as: [n]i32) (bs: [n]i32) : ([n]i32, [n]i32) =
  unzip (scan_hillis_steele affine (zip as bs))

entry scan_builtin [n] (as: [n]i32) (bs: [n]i32) : ([n]i32, [n]i32) =
  unzip (scan affine (1, 0) (zip as bs))

-- ==
-- entry: filter_ours filter_builtin
-- input { empty([0]i32) }
-- output { empty([0]i32) }
-- input { [1, 3, 5] }
-- output { empty([0]i32) }
-- input { [2] }
-- output { [2i32] }
-- input { [1, 2, -4, 3, 0, 7, 10] }
-- output { [2i32, -4i32, 0i32, 10i32] }
entry filter_ours (xs: []i32) : []i32 = my_filter (\x -> x % 2 == 0) xs

entry filter_builtin (xs: []i32) : []i32 = filter (\x -> x % 2 == 0) xs

-- ==
-- entry: stream_map_ours stream_map_builtin
-- input { empty([0]i32) }
-- output { empty([0]i32) }
-- input { [1, 2, -3, 4, 5] }
-- output { [2i32, 5i32, 10i32, 17i32, 26i32] }
entry stream_map_ours (xs: []i32) : []i32 =
  stream_map (\c (chunk: [c]i32) -> map (\x -> x * x + 1) chunk) xs

entry stream_map_builtin (xs: []i32) : []i32 = map (\x -> x * x + 1) xs

-- ==
-- entry: stream_red_ours stream_red_builtin
-- input { empty([0]i32) }
-- output { 0i32 }
-- input { [1, 2, -3, 4, 5] }
-- output { 55i32 }
entry stream_red_ours (xs: []i32) : i32 =
  stream_red (+) (\c (chunk: [c]i32) -> loop acc = 0 for x in chunk do acc + x * x) xs

entry stream_red_builtin (xs: []i32) : i32 = reduce (+) 0 (map (\x -> x * x) xs)

-- ==
-- entry: dotprod_ours dotprod_builtin
-- input { empty([0]i32) empty([0]i32) }
-- output { 0i32 }
-- input { [1, 2, -3] [4, -5, 6] }
-- output { -24i32 }
entry dotprod_ours [n] (xs: [n]i32) (ys: [n]i32) : i32 =
  reduce_strided 4 (+) 0 (map (\(x, y) -> x * y) (my_zip xs ys))

entry dotprod_builtin [n] (xs: [n]i32) (ys: [n]i32) : i32 =
  reduce (+) 0 (map (\(x, y) -> x * y) (zip xs ys))

-- ==
-- entry: shapes_ours shapes_builtin
-- input { [[1, 2, 3], [4, 5, 6]] 1i64 }
-- output { [[1i32, 4i32], [2i32, 5i32], [3i32, 6i32]] [[4i32, 5i32, 6i32], [1i32, 2i32, 3i32]] [[1i32, 2i32, 3i32], [4i32, 5i32, 6i32], [1i32, 2i32, 3i32], [4i32, 5i32, 6i32]] [1i64, 1i64] }
-- input { [[1], [2], [3]] -2i64 }
-- output { [[1i32, 2i32, 3i32]] [[2i32], [3i32], [1i32]] [[1i32], [2i32], [3i32], [1i32], [2i32], [3i32]] [-2i64, -2i64, -2i64] }
-- input { empty([3][0]i32) 4i64 }
-- output { empty([0][3]i32) empty([3][0]i32) empty([6][0]i32) [4i64, 4i64, 4i64] }
entry shapes_ours [n] [m] (xss: [n][m]i32) (r: i64)
                : ([m][n]i32, [n][m]i32, [n + n][m]i32, [n]i64) =
  (my_transpose xss, my_rotate r xss, my_concat xss xss, my_replicate n r)

entry shapes_builtin [n] [m] (xss: [n][m]i32) (r: i64)
                   : ([m][n]i32, [n][m]i32, [n + n][m]i32, [n]i64) =
  (transpose xss, rotate r xss, xss ++ xss, replicate n r)
