-- Sorting: radix sort by bits, and quicksort as a loop over segments, since
-- Futhark has no recursion.

-- Stable: first the elements whose bit is clear, then those whose bit is set.
def radix_step [n] (bit: i32) (xs: [n]u32) : [n]u32 =
  let set = map (\x -> i64.u32 ((x >> u32.i32 bit) & 1)) xs
  let clear = map (1 -) set
  let clear_before = scan (+) 0 clear
  let set_before = scan (+) 0 set
  let zeros = if n == 0 then 0 else clear_before[n - 1]
  let positions = map3 (\s c o -> if s == 0 then c - 1 else zeros + o - 1) set clear_before set_before
  in scatter (replicate n 0) positions xs

-- ==
-- entry: radix_sort
-- input { empty([0]u32) }
-- output { empty([0]u32) }
-- input { [9u32] }
-- output { [9u32] }
-- input { [5u32, 3u32, 4294967295u32, 0u32, 3u32, 1024u32, 7u32] }
-- output { [0u32, 3u32, 3u32, 5u32, 7u32, 1024u32, 4294967295u32] }
-- input { [31u32, 30u32, 29u32, 3u32, 2u32, 1u32, 0u32, 65536u32, 65535u32, 2147483648u32, 12u32] }
-- output { [0u32, 1u32, 2u32, 3u32, 12u32, 29u32, 30u32, 31u32, 65535u32, 65536u32, 2147483648u32] }
entry radix_sort [n] (xs: [n]u32) : [n]u32 =
  loop xs for bit < 32 do radix_step bit xs

-- Signed: with the sign bit flipped, the order is that of unsigned numbers.
-- ==
-- entry: radix_sort_i32
-- input { [5, -3, 2147483647, 0, -3, -2147483648, 7] }
-- output { [-2147483648i32, -3i32, -3i32, 0i32, 5i32, 7i32, 2147483647i32] }
-- input { empty([0]i32) }
-- output { empty([0]i32) }
entry radix_sort_i32 [n] (xs: [n]i32) : [n]i32 =
  map (\x -> i32.u32 x ^ i32.lowest) (radix_sort (map (\x -> u32.i32 (x ^ i32.lowest)) xs))

-- Sorts pairs by their keys; equal keys keep their order.
-- ==
-- entry: radix_sort_pairs
-- input { [3u32, 1u32, 2u32, 1u32, 3u32, 0u32] [10i64, 11i64, 12i64, 13i64, 14i64, 15i64] }
-- output { [0u32, 1u32, 1u32, 2u32, 3u32, 3u32] [15i64, 11i64, 13i64, 12i64, 10i64, 14i64] }
entry radix_sort_pairs [n] (keys: [n]u32) (values: [n]i64) : ([n]u32, [n]i64) =
  let step bit (pairs: [n](u32, i64)) =
    let (clear, set) = partition (\(k, _) -> (k >> u32.i32 bit) & 1 == 0) pairs
    in sized n (clear ++ set)
  in unzip (loop pairs = zip keys values for bit < 32 do step bit pairs)

-- Three-way partition around the middle element, with a work list of unsorted
-- slices.
-- ==
-- entry: quicksort
-- input { empty([0]i32) }
-- output { empty([0]i32) }
-- input { [1] }
-- output { [1i32] }
-- input { [2, 1] }
-- output { [1i32, 2i32] }
-- input { [5, -3, 9, 0, -3, 12, 7, 7, 7, -20, 4] }
-- output { [-20i32, -3i32, -3i32, 0i32, 4i32, 5i32, 7i32, 7i32, 7i32, 9i32, 12i32] }
-- input { [1, 2, 3, 4, 5, 6, 7, 8, 9] }
-- output { [1i32, 2i32, 3i32, 4i32, 5i32, 6i32, 7i32, 8i32, 9i32] }
-- input { [3, 3, 3, 3] }
-- output { [3i32, 3i32, 3i32, 3i32] }
entry quicksort [n] (xs: [n]i32) : [n]i32 =
  let (sorted, _, _) =
    loop (xs, work, top) = (copy xs, replicate (n + 2) (0, 0) with [0] = (0, n), 1)
    while top > 0 do
      let (from, to) = work[top - 1]
      in if to - from < 2
         then (xs, work, top - 1)
         else let pivot = xs[(from + to) / 2]
              let (less, equal, more) = partition2 (< pivot) (== pivot) xs[from:to]
              let k = length less
              let l = length equal
              let xs = xs with [from:to] = sized (to - from) (less ++ equal ++ more)
              let work = work with [top - 1] = (from, from + k)
              let work = work with [top] = (from + k + l, to)
              in (xs, work, top + 1)
  in sorted

-- All slices at once: each round partitions every unsorted slice around its first element, with
-- segmented scans over the whole array.
-- ==
-- entry: quicksort_segmented
-- input { empty([0]i32) }
-- output { empty([0]i32) }
-- input { [1] }
-- output { [1i32] }
-- input { [5, -3, 9, 0, -3, 12, 7, 7, 7, -20, 4] }
-- output { [-20i32, -3i32, -3i32, 0i32, 4i32, 5i32, 7i32, 7i32, 7i32, 9i32, 12i32] }
-- input { [4, 3, 2, 1, 0] }
-- output { [0i32, 1i32, 2i32, 3i32, 4i32] }
entry quicksort_segmented [n] (xs: [n]i32) : [n]i32 =
  let sorted (xs: [n]i32) =
    all (\i -> i == 0 || xs[i - 1] <= xs[i]) (iota n)
  let heads = map (== 0) (iota n)
  let counts (flags: [n]bool) (ps: [n]bool) : [n]i64 =
    let step (x, xf) (y, yf) = (if yf then y else x + y, xf || yf)
    in map (.0) (scan step (0, false) (zip (map i64.bool ps) flags))
  let (xs, _) =
    loop (xs, heads) = (copy xs, heads) while !(sorted xs) do
      let start = scan i64.max 0 (map2 (\h i -> if h then i else 0) heads (iota n))
      let next_start = map (\i -> if i + 1 < n && !heads[i + 1] then n else i + 1) (iota n)
      let ends = reverse (scan i64.min n (reverse next_start))
      let pivot = map (\s -> xs[s]) start
      let less = counts heads (map2 (<) xs pivot)
      let equal = counts heads (map2 (==) xs pivot)
      let more = counts heads (map2 (>) xs pivot)
      let positions =
        map (\i -> let last = ends[i] - 1
                   in if xs[i] < pivot[i] then start[i] + less[i] - 1
                      else if xs[i] == pivot[i] then start[i] + less[last] + equal[i] - 1
                      else start[i] + less[last] + equal[last] + more[i] - 1)
            (iota n)
      let new_heads =
        map (\i -> let last = ends[i] - 1
                   let k = i - start[i]
                   in k == 0 || k == less[last] || k == less[last] + equal[last])
            (iota n)
      in (scatter (replicate n 0) positions xs, new_heads)
  in xs
