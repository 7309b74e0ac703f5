-- | Second-order array combinators.

import "zip"

-- | The function applied to each element.
def map 'a [n] 'x (f: a -> x) (as: [n]a): *[n]x = intrinsics.map f as

-- | The same as `map`.
def map1 'a [n] 'x (f: a -> x) (as: [n]a): *[n]x = intrinsics.map f as

-- | `map` over two arrays.
def map2 'a 'b [n] 'x (f: a -> b -> x) (as: [n]a) (bs: [n]b): *[n]x =
  intrinsics.map (\(a, b) -> f a b) (zip as bs)

-- | `map` over three arrays.
def map3 'a 'b 'c [n] 'x (f: a -> b -> c -> x) (as: [n]a) (bs: [n]b) (cs: [n]c): *[n]x =
  intrinsics.map (\((a, b), c) -> f a b c) (zip (zip as bs) cs)

-- | `map` over four arrays.
def map4 'a 'b 'c 'd [n] 'x (f: a -> b -> c -> d -> x) (as: [n]a) (bs: [n]b) (cs: [n]c) (ds: [n]d): *[n]x =
  intrinsics.map (\((a, b), (c, d)) -> f a b c d) (zip (zip as bs) (zip cs ds))

-- | `map` over five arrays.
def map5 'a 'b 'c 'd 'e [n] 'x (f: a -> b -> c -> d -> e -> x) (as: [n]a) (bs: [n]b) (cs: [n]c) (ds: [n]d) (es: [n]e): *[n]x =
  intrinsics.map (\(((a, b), (c, d)), e) -> f a b c d e) (zip (zip (zip as bs) (zip cs ds)) es)

-- | All elements combined by an associative operator with neutral element `ne`.
def reduce [n] 'a (op: a -> a -> a) (ne: a) (as: [n]a): a = intrinsics.reduce op ne as

-- | `reduce` by an operator that also commutes, which can be faster.
def reduce_comm [n] 'a (op: a -> a -> a) (ne: a) (as: [n]a): a = intrinsics.reduce_comm op ne as

-- | Inclusive prefix scan: element `i` combines elements `0` to `i`.
def scan [n] 'a (op: a -> a -> a) (ne: a) (as: [n]a): *[n]a = intrinsics.scan op ne as

-- | Exclusive prefix scan: element `i` combines the elements before `i`.
def exscan [n] 'a (op: a -> a -> a) (ne: a) (as: [n]a): *[n]a =
  let sums = intrinsics.scan op ne as
  in intrinsics.map (\i -> if i == 0 then ne else #[unsafe] sums[i - 1]) (intrinsics.iota n)

-- | Whether the predicate holds for all elements.
def all [n] 'a (f: a -> bool) (as: [n]a): bool =
  intrinsics.reduce_comm intrinsics.and_bool true (intrinsics.map f as)

-- | Whether the predicate holds for some element.
def any [n] 'a (f: a -> bool) (as: [n]a): bool =
  intrinsics.reduce_comm intrinsics.or_bool false (intrinsics.map f as)

-- | Combines each value of `as` into the bucket of `dest` that `is` gives for
-- it. The operator is associative and commutative. Buckets out of bounds are
-- ignored.
def reduce_by_index 'a [k] [n] (dest: *[k]a) (f: a -> a -> a) (ne: a) (is: [n]i64) (as: [n]a): *[k]a =
  intrinsics.hist dest f ne is as

-- | `reduce_by_index` with two-dimensional buckets.
def reduce_by_index_2d 'a [k] [n] [m] (dest: *[k][m]a) (f: a -> a -> a) (ne: a) (is: [n](i64, i64)) (as: [n]a): *[k][m]a =
  intrinsics.hist_2d dest f ne is as

-- | `reduce_by_index` with three-dimensional buckets.
def reduce_by_index_3d 'a [k] [n] [m] [l] (dest: *[k][m][l]a) (f: a -> a -> a) (ne: a) (is: [n](i64, i64, i64)) (as: [n]a): *[k][m][l]a =
  intrinsics.hist_3d dest f ne is as

-- | `reduce_by_index` into `k` buckets that start with `ne`.
def hist 'a [n] (op: a -> a -> a) (ne: a) (k: i64) (is: [n]i64) (as: [n]a): *[k]a =
  intrinsics.hist (intrinsics.replicate k ne) op ne is as

-- | `dest` with the values written at the indices. Indices out of bounds are
-- ignored; of different values for one index any may win.
def scatter 't [k] [n] (dest: *[k]t) (is: [n]i64) (vs: [n]t): *[k]t =
  intrinsics.scatter dest is vs

-- | `scatter` with two-dimensional indices.
def scatter_2d 't [k] [n] [l] (dest: *[k][n]t) (is: [l](i64, i64)) (vs: [l]t): *[k][n]t =
  intrinsics.scatter_2d dest is vs

-- | `scatter` with three-dimensional indices.
def scatter_3d 't [k] [n] [o] [l] (dest: *[k][n][o]t) (is: [l](i64, i64, i64)) (vs: [l]t): *[k][n][o]t =
  intrinsics.scatter_3d dest is vs

-- | `scatter` into `k` times `x`.
def spread 't [n] (k: i64) (x: t) (is: [n]i64) (vs: [n]t): *[k]t =
  intrinsics.scatter (intrinsics.replicate k x) is vs

-- The number of set flags.
local def count [n] (flags: [n]bool): i64 =
  intrinsics.reduce_comm intrinsics.add_i64 0 (intrinsics.map intrinsics.bool_to_i64 flags)

-- The `k` elements whose flag is set, in order. They were counted before, so that
-- only the scatter needs their indices.
local def packed [n] 'a (k: i64) (flags: [n]bool) (as: [n]a): *[k]a =
  let positions = intrinsics.scan intrinsics.add_i64 0 (intrinsics.map intrinsics.bool_to_i64 flags)
  let is = map2 (\b o -> if b then o - 1 else -1) flags positions
  in intrinsics.scatter (intrinsics.scratch (#[unsafe] as[0:k] :> [k]a)) is as

-- | The elements that satisfy the predicate, in order.
def filter [n] 'a (p: a -> bool) (as: [n]a): *[]a =
  let keep = intrinsics.map p as
  in packed (count keep) keep as

-- | The elements that satisfy the predicate, and all others, both in order.
def partition [n] 'a (p: a -> bool) (as: [n]a): ?[k].([k]a, [n - k]a) =
  let keep = intrinsics.map p as
  let k = count keep
  in (packed k keep as, packed (n - k) (intrinsics.map (\b -> !b) keep) as)

-- | The elements that satisfy the first predicate, the elements that satisfy
-- only the second, and the rest, each in order.
def partition2 [n] 'a (p1: a -> bool) (p2: a -> bool) (as: [n]a): ?[k][l].([k]a, [l]a, [n - k - l]a) =
  let part = intrinsics.map (\a -> if p1 a then 0i8 else if p2 a then 1i8 else 2i8) as
  let is (c: i8) = intrinsics.map (\x -> x == c) part
  let k = count (is 0)
  let l = count (is 1)
  in (packed k (is 0) as, packed l (is 1) as, packed (n - k - l) (is 2) as)

-- | The concatenated results of a function whose results vary in size: their
-- sizes, flags and offsets of the first element of each, the results, and the
-- uniform results.
def flatmap [n] 'a 'b 'c (f: a -> ?[k].([k]b, c)) (as: [n]a): ?[m].([n]i64, [m]bool, [n]i64, [m]b, [n]c) =
  intrinsics.flatmap f as

-- | `flatmap` without uniform results.
def flatmap' [n] 'a 'b (f: a -> ?[k].[k]b) (as: [n]a): ?[m].([n]i64, [m]bool, [n]i64, [m]b) =
  let (shape, flags, offsets, data, _) = flatmap (\x -> (f x, ())) as
  in (shape, flags, offsets, data)
