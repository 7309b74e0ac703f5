-- Segmented operations: many small arrays of different lengths, stored as one array with a flag
-- at the start of each segment. They result from the flattening of irregular nested parallelism,
-- and all of them are scans.

-- A scan with any operator that restarts at each flag.
def segmented_scan [n] 't (op: t -> t -> t) (ne: t) (flags: [n]bool) (as: [n]t) : [n]t =
  let step (x, xf) (y, yf) = (if yf then y else op x y, xf || yf)
  in map (.0) (scan step (ne, false) (zip as flags))

-- The starts of segments of given lengths: an exclusive prefix sum.
def starts [n] (sizes: [n]i64) : [n]i64 =
  map2 (-) (scan (+) 0 sizes) sizes

-- Each number i, repeated reps[i] times.
def replicated_iota [n] (reps: [n]i64) : []i64 =
  let total = reduce (+) 0 reps
  let marks = reduce_by_index (replicate total 0) i64.max 0 (starts reps) (iota n)
  in segmented_scan (+) 0 (map (> 0) marks) marks

-- Each element data[i], repeated reps[i] times.
def segmented_replicate [n] 't (reps: [n]i64) (data: [n]t) : []t =
  map (\i -> data[i]) (replicated_iota reps)

-- Counts 0, 1, 2, ... from each flag on.
def segmented_iota [n] (flags: [n]bool) : [n]i64 =
  map (\i -> i - 1) (segmented_scan (+) 0 flags (replicate n 1))

-- A flag at the first element of each segment but the first, given the segments' sizes. Empty
-- segments have no flag.
def idxs_to_flags [n] (sizes: [n]i64) : []bool =
  let owners = segmented_replicate sizes (iota n)
  in map (\i -> i > 0 && owners[i] != owners[i - 1]) (indices owners)

-- One result for each segment, the neutral element for an empty one.
def segmented_reduce [n] [k] 't (op: t -> t -> t) (ne: t) (sizes: [k]i64) (as: [n]t) : [k]t =
  let owners = replicated_iota sizes :> [n]i64
  let flags = map (\i -> i == 0 || owners[i] != owners[i - 1]) (iota n)
  let sums = segmented_scan op ne flags as
  in map2 (\s size -> if size == 0 then ne else sums[s + size - 1]) (starts sizes) sizes

-- ==
-- entry: scan_sum
-- input { empty([0]bool) empty([0]i32) }
-- output { empty([0]i32) }
-- input { [false] [3] }
-- output { [3i32] }
-- input { [true, false, false, true, false, true, true] [1, 2, 3, -4, 5, 6, 7] }
-- output { [1i32, 3i32, 6i32, -4i32, 1i32, 6i32, 7i32] }
-- input { [false, false, false, true, false] [1, 2, 3, 4, 5] }
-- output { [1i32, 3i32, 6i32, 4i32, 9i32] }
entry scan_sum [n] (flags: [n]bool) (as: [n]i32) : [n]i32 =
  segmented_scan (+) 0 flags as

-- ==
-- entry: scan_max
-- input { [true, false, false, true, false] [1.5, -2.0, 3.25, -4.0, -5.5] }
-- output { [1.5f64, 1.5f64, 3.25f64, -4.0f64, -4.0f64] }
-- input { [false, false, false] [-1.0, -2.0, -0.5] }
-- output { [-1.0f64, -1.0f64, -0.5f64] }
entry scan_max [n] (flags: [n]bool) (as: [n]f64) : [n]f64 =
  segmented_scan f64.max (-f64.inf) flags as

-- ==
-- entry: repl_iota
-- input { [2i64, 3i64, 1i64, 1i64] }
-- output { [0i64, 0i64, 1i64, 1i64, 1i64, 2i64, 3i64] }
-- input { empty([0]i64) }
-- output { empty([0]i64) }
-- input { [0i64] }
-- output { empty([0]i64) }
-- input { [0i64, 0i64, 2i64, 0i64, 3i64, 0i64] }
-- output { [2i64, 2i64, 4i64, 4i64, 4i64] }
entry repl_iota (reps: []i64) : []i64 = replicated_iota reps

-- ==
-- entry: repl
-- input { [2i64, 1i64, 0i64, 3i64, 0i64] [5, 6, 9, 8, 4] }
-- output { [5i32, 5i32, 6i32, 8i32, 8i32, 8i32] }
-- input { empty([0]i64) empty([0]i32) }
-- output { empty([0]i32) }
-- input { [0i64, 0i64] [1, 2] }
-- output { empty([0]i32) }
-- input { [1i64, 0i64, 7i64] [-1, -2, -3] }
-- output { [-1i32, -3i32, -3i32, -3i32, -3i32, -3i32, -3i32, -3i32] }
entry repl [n] (reps: [n]i64) (data: [n]i32) : []i32 = segmented_replicate reps data

-- ==
-- entry: seg_iota
-- input { [false, false, false, true, false, false, false] }
-- output { [0i64, 1i64, 2i64, 0i64, 1i64, 2i64, 3i64] }
-- input { empty([0]bool) }
-- output { empty([0]i64) }
-- input { [true, true, false, true] }
-- output { [0i64, 0i64, 1i64, 0i64] }
entry seg_iota [n] (flags: [n]bool) : [n]i64 = segmented_iota flags

-- ==
-- entry: to_flags
-- input { [2i64, 1i64, 3i64] }
-- output { [false, false, true, true, false, false] }
-- input { [2i64, 0i64, 4i64] }
-- output { [false, false, true, false, false, false] }
-- input { [0i64, 2i64, 0i64, 0i64, 1i64, 0i64] }
-- output { [false, false, true] }
-- input { empty([0]i64) }
-- output { empty([0]bool) }
entry to_flags (sizes: []i64) : []bool = idxs_to_flags sizes

-- ==
-- entry: reduce_sum
-- input { [2i64, 0i64, 3i64, 1i64] [1, 2, 3, 4, 5, 6] }
-- output { [3i32, 0i32, 12i32, 6i32] }
-- input { [0i64, 0i64] empty([0]i32) }
-- output { [0i32, 0i32] }
-- input { empty([0]i64) empty([0]i32) }
-- output { empty([0]i32) }
entry reduce_sum [n] [k] (sizes: [k]i64) (as: [n]i32) : [k]i32 =
  segmented_reduce (+) 0 sizes as

-- The flattening rule for a map over iotas of different lengths.
-- ==
-- entry: map_iota
-- input { [3i64, 1i64, 4i64, 2i64] }
-- output { [0i64, 1i64, 2i64, 0i64, 0i64, 1i64, 2i64, 3i64, 0i64, 1i64] }
-- input { [0i64, 3i64, 0i64, 2i64] }
-- output { [0i64, 1i64, 2i64, 0i64, 1i64] }
-- input { empty([0]i64) }
-- output { empty([0]i64) }
entry map_iota (sizes: []i64) : []i64 = segmented_iota (idxs_to_flags sizes)

-- A map over scans of equal length, flattened by hand and by the compiler.
-- ==
-- entry: regular_scan map_scan
-- input { [[1, 2, 3], [4, 5, 6]] }
-- output { [[1i32, 3i32, 6i32], [4i32, 9i32, 15i32]] }
-- input { [[-1], [2], [3]] }
-- output { [[-1i32], [2i32], [3i32]] }
-- input { empty([0][3]i32) }
-- output { empty([0][3]i32) }
entry regular_scan [n] [m] (xss: [n][m]i32) : [n][m]i32 =
  let flags = map (\i -> i % m == 0) (iota (n * m))
  in unflatten (segmented_scan (+) 0 flags (flatten xss))

entry map_scan [n] [m] (xss: [n][m]i32) : [n][m]i32 = map (scan (+) 0) xss
