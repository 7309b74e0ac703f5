-- Sorting and selection, as users write them. Measured by `bench/run.py users`; the peers are in
-- bench/peers/users_sorting.py.

-- One pass of a radix sort: a stable sort by the two bits from `shift` on.
def sort_by_digit [n] (keys: [n]u32) (shift: u32) : [n]u32 =
  let digit key = (key >> shift) & 3
  let one_hot key =
    let d = digit key
    in (i64.bool (d == 0), i64.bool (d == 1), i64.bool (d == 2), i64.bool (d == 3))
  let add (a0, a1, a2, a3) (b0, b1, b2, b3) = (a0 + b0, a1 + b1, a2 + b2, a3 + b3)
  let counts = scan add (0, 0, 0, 0) (map one_hot keys)
  let (zeros, ones, twos, _) = if n == 0 then (0, 0, 0, 0) else last counts
  let position key (c0, c1, c2, c3) =
    match digit key
    case 0 -> c0 - 1
    case 1 -> zeros + c1 - 1
    case 2 -> zeros + ones + c2 - 1
    case _ -> zeros + ones + twos + c3 - 1
  in scatter (replicate n 0) (map2 position keys counts) keys

def radix_sort [n] (keys: [n]u32) : [n]u32 =
  loop keys for pass < 16 do sort_by_digit keys (u32.i32 (2 * pass))

-- ==
-- entry: radix_sort_i32
-- input { [5i32, -1i32, 2147483647i32, 0i32, -2147483648i32, 5i32, 77i32] }
-- output { [-2147483648i32, -1i32, 0i32, 5i32, 5i32, 77i32, 2147483647i32] }
-- input { [3i32] }
-- output { [3i32] }
-- input { empty([0]i32) }
-- output { empty([0]i32) }
entry radix_sort_i32 [n] (xs: [n]i32) : [n]i32 =
  let sign = 0x80000000
  in map (\key -> i32.u32 (key ^ sign)) (radix_sort (map (\x -> u32.i32 x ^ sign) xs))

-- The bits of positive floats are ordered as unsigned integers, those of negative ones in reverse.
-- ==
-- entry: radix_sort_f32
-- input { [1.5f32, -0.25f32, 3e+09f32, 0.0f32, -7e-09f32, -2.0f32, 1.5f32] }
-- output { [-2.0f32, -0.25f32, -7e-09f32, 0.0f32, 1.5f32, 1.5f32, 3e+09f32] }
-- input { empty([0]f32) }
-- output { empty([0]f32) }
entry radix_sort_f32 [n] (xs: [n]f32) : [n]f32 =
  let sign = 0x80000000
  let to_key x = let bits = f32.to_bits x in if bits < sign then bits | sign else !bits
  let from_key key = f32.from_bits (if key >= sign then key ^ sign else !key)
  in map from_key (radix_sort (map to_key xs))

-- The first index from `from` on, and before `to`, whose element does not satisfy `before`; a binary
-- search.
def partition_point [n] (xs: [n]i32) (from: i64) (to: i64) (before: i32 -> bool) : i64 =
  let (from, _) =
    loop (from, to) while from < to do
      let middle = (from + to) / 2
      in if before xs[middle] then (middle + 1, to) else (from, middle)
  in from

-- Merges all pairs of sorted runs of this length: an element moves by its rank in the other run.
def merge_runs [n] (xs: [n]i32) (width: i64) : [n]i32 =
  let position i x =
    let first = i / (2 * width) * 2 * width
    let middle = i64.min n (first + width)
    let end = i64.min n (first + 2 * width)
    in if i < middle
       then i + partition_point xs middle end (< x) - middle
       else i - middle + partition_point xs first middle (<= x)
  in scatter (replicate n 0) (map2 position (iota n) xs) xs

-- ==
-- entry: merge_sort
-- input { [5i32, -1i32, 9i32, 0i32, -8i32, 5i32, 77i32] }
-- output { [-8i32, -1i32, 0i32, 5i32, 5i32, 9i32, 77i32] }
-- input { [4i32, 3i32, 2i32, 1i32] }
-- output { [1i32, 2i32, 3i32, 4i32] }
-- input { [3i32] }
-- output { [3i32] }
-- input { empty([0]i32) }
-- output { empty([0]i32) }
entry merge_sort [n] (xs: [n]i32) : [n]i32 =
  let (sorted, _) =
    loop (xs, width) = (xs, 1) while width < n do (merge_runs xs width, 2 * width)
  in sorted

-- ==
-- entry: even_numbers
-- input { [5i32, -2i32, 7i32, 0i32, -9i32, 4i32] }
-- output { [-2i32, 0i32, 4i32] }
-- input { [1i32, 3i32] }
-- output { empty([0]i32) }
-- input { empty([0]i32) }
-- output { empty([0]i32) }
entry even_numbers (xs: []i32) : []i32 = filter (\x -> x % 2 == 0) xs
