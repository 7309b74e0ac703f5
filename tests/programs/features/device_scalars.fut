-- Scalars computed from elements: on a device they stay in device memory.
-- ==
-- entry: pick
-- input { [4i64, 5i64, 6i64] true }
-- output { 24i64 }
-- input { [4i64, 5i64, 6i64] false }
-- output { 30i64 }
-- input { [4i64, 5i64] true }
-- error: out of bounds
entry pick [n] (xs: [n]i64) (first: bool) : i64 =
  let x = if first then xs[0] else xs[1]
  in x * xs[2]

-- ==
-- entry: chase
-- input { [3i64, 0i64, 1i64, 2i64] }
-- output { 0i64 3i64 }
-- input { [1i64, 2i64, 3i64, 1i64] }
-- output { 3i64 20i64 }
-- input { [0i64] }
-- output { 0i64 0i64 }
-- input { [2i64, 1i64, 7i64] }
-- error: out of bounds
entry chase [n] (next: [n]i64) : (i64, i64) =
  loop (i, steps) = (next[0], 0)
  while i != 0 && steps < 20 do (next[i], steps + 1)

-- ==
-- entry: folded
-- input { [5i64, 1i64, 4i64, 1000i64, 3i64] }
-- output { 127i64 }
-- input { empty([0]i64) }
-- output { 7i64 }
entry folded (xs: []i64) : i64 =
  loop acc = 7 for x in xs do (acc * 3 + x) % 1009

-- ==
-- entry: through
-- input { [1i64, 2i64, 3i64, 4i64, 5i64, 6i64] }
-- output { 38i64 [1i64, 2i64, 3i64, 7i64, 5i64, 19i64] }
-- input { [0i64, 0i64, 9i64, 0i64, 9i64] }
-- output { 27i64 [0i64, 0i64, 9i64, 9i64, 9i64] }
entry through [n] (xs: [n]i64) : (i64, [n]i64) =
  loop (a, ys) = (xs[0], copy xs)
  for i < n do
    if i % 2 == 0 then (a + ys[i], ys) else (a * 2, ys with [i] = a)

-- ==
-- entry: lowered
-- input { [3i64, 9i64, -4i64, 2i64] }
-- output { [-2i64, 4i64, -9i64, -3i64] }
-- input { [5i64] }
-- output { [0i64] }
entry lowered [n] (xs: [n]i64) : [n]i64 =
  loop ys = xs
  for _i < 3 do
    let most = i64.maximum ys
    let half = most / 2 + ys[0]
    in map (\y -> y - half) ys

-- ==
-- entry: bounded
-- input { [3i64, 9i64, -4i64, 2i64] }
-- output { [3i64, 9i64, 9i64, 9i64] 5i64 }
entry bounded (xs: []i64) : ([]i64, i64) =
  let least = xs[0]
  let op a b = i64.max least (i64.max a b)
  in (scan (\a b -> op a b) i64.lowest xs, reduce_comm op i64.lowest (map (+ xs[2]) xs))

-- ==
-- entry: written
-- input { [3i64, 9i64, 2i64, 1i64] 5i64 }
-- output { [3i64, 6i64, 6i64, 1i64] [9i64, 5i64, 7i64, 11i64] [5i64] [0i64, 0i64, 0i64, 0i64] }
-- input { [0i64, 9i64, 2i64, 1i64] 5i64 }
-- output { [0i64, 0i64, 5i64, 1i64] [9i64, 5i64, 7i64, 5i64] [5i64] [5i64, 5i64, 5i64, 5i64] }
-- input { [4i64, 9i64, 2i64, 1i64] 5i64 }
-- error: out of bounds
entry written [n] (xs: [n]i64) (a: i64) : ([n]i64, [4]i64, [1]i64, [n]i64) =
  let i = xs[0]
  let ys = copy xs with [2] = xs[i] + a
  let zs = ys with [1] = ys[i] * ys[2]
  in (zs, [xs[1], a, 7, zs[1] + a], [xs[3] * a], replicate n (zs[2] - zs[1]))

-- ==
-- entry: kept
-- input { [3i64, 9i64, 2i64, 1i64, 8i64] 5i64 }
-- output { 5i64 }
-- input { [3i64, 9i64] 5i64 }
-- output { 9i64 }
-- input { empty([0]i64) 5i64 }
-- output { 5i64 }
entry kept (xs: []i64) (a: i64) : i64 =
  let (_, last) =
    loop (count, _) = (0i64, a)
    for x in xs do
      if count == 3 then (count, a) else (count + 1, x)
  in last

-- ==
-- entry: sized
-- input { [3i64, 9i64, 2i64] }
-- output { [0i64, 2i64, 4i64, 6i64, 8i64, 10i64, 12i64] }
-- input { [-3i64, -9i64, 2i64] }
-- output { empty([0]i64) }
entry sized (xs: []i64) : []i64 =
  let (a, b) = (xs[0], xs[1])
  let size = i64.max 0 (i64.max a b - xs[2])
  in map (* xs[2]) (iota size)

-- ==
-- entry: checked
-- input { [3i64, 9i64, 2i64] }
-- output { [18i64, 9i64, 2i64] }
-- input { [9i64, 9i64, 2i64] }
-- error: Assertion is false
entry checked (xs: *[]i64) : []i64 =
  let x = assert (xs[0] < xs[1]) (xs[1] * xs[2])
  in xs with [0] = x
