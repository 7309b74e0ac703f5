-- Reductions whose values a loop combines in arrays of each row: the reductions for many rows may run first, unless
-- they read such an array.

def along (n: i64) (m: i64) (a: i64) (b: i64) (c: i64) : [n][m]i32 =
  tabulate_2d n m (\i j -> i32.i64 ((i * a + j * b + i * j) % c))

def weigh [n] [m] (xss: [n][m]i32) : i64 =
  i64.sum (flatten (map2 (\i -> map2 (\j x -> i64.i32 x * ((i * 31 + j * 7) % 101 + 1)) (iota m)) (iota n) xss))

def distance [d] (p: [d]i32) (q: [d]i32) : i32 = i32.sum (map2 (\x y -> (x - y) * (x - y)) p q)

-- The least values, in order.
-- ==
-- entry: least
-- input { 40i64 50i64 7i64 }
-- output { 495065i64 }
-- input { 33i64 100i64 16i64 }
-- output { 1348202i64 }
-- input { 3i64 2i64 9i64 }
-- output { 637802699723i64 }
-- input { 5i64 0i64 9i64 }
-- output { 1855425871008i64 }
-- input { 9i64 70i64 0i64 }
-- output { 0i64 }
entry least (n: i64) (m: i64) (d: i64) : i64 =
  let (a, b) = opaque (along n d 7 3 11, along m d 5 2 13)
  let insert (best: *[4]i32) (new: i32) : *[4]i32 =
    let (best, _) =
      loop (best, x) = (best, new) for j < 4 do
        let y = copy best[j]
        in if x < y then (best with [j] = x, y) else (best, x)
    in best
  in weigh (map (\p -> loop best = replicate 4 i32.highest for j < m do insert best (distance p b[j])) a)

-- A histogram of each row.
-- ==
-- entry: counts
-- input { 40i64 50i64 7i64 }
-- output { 12845554675i64 }
-- input { 20i64 130i64 17i64 }
-- output { 2918750394632i64 }
-- input { 1i64 3i64 2i64 }
-- output { 24i64 }
entry counts (n: i64) (m: i64) (d: i64) : i64 =
  let (a, b) = opaque (along n d 7 3 11, along m d 5 2 13)
  let count (bins: *[8]i32) (value: i32) : *[8]i32 =
    let at = i64.i32 (value % 8)
    in bins with [at] = bins[at] * 3 + 1
  in weigh (map (\p -> loop bins = replicate 8 0 for j < m do count bins (distance p b[j])) a)

-- The reduction reads the array that the loop changes.
-- ==
-- entry: feedback
-- input { 40i64 50i64 7i64 }
-- output { 6782740i64 }
-- input { 20i64 130i64 17i64 }
-- output { 9177836i64 }
-- input { 1i64 3i64 2i64 }
-- output { 336i64 }
entry feedback (n: i64) (m: i64) (d: i64) : i64 =
  let (a, b) = opaque (along n d 7 3 11, along m d 5 2 13)
  in weigh (map (\p ->
                   loop state = copy p for j < m do
                     let s = i32.sum (map3 (\x y z -> x * y + z) p b[j] state)
                     in state with [j % d] = s % 1000)
                a)

def sum_of (best: i32) (last: [3]i32) : i64 =
  i64.i32 best + 5 * i64.i32 last[0] + 7 * i64.i32 last[1] + i64.i32 last[2]

-- Several values of an iteration, one of them in a scalar, and an array that only stores them.
-- ==
-- entry: several
-- input { 40i64 50i64 7i64 }
-- output { 2048265i64 }
-- input { 20i64 130i64 17i64 }
-- output { 7136046i64 }
-- input { 1i64 3i64 2i64 }
-- output { 2032i64 }
entry several (n: i64) (m: i64) (d: i64) : i64 =
  let (a, b) = opaque (along n d 7 3 11, along m d 5 2 13)
  let row p =
    let (all, last, best) =
      loop (all, last, best) = (replicate m 0, replicate 3 0, 0) for j < m do
        let s = distance p b[j]
        let t = i32.sum (map2 (*) p b[j])
        in (all with [j] = s - t, last with [j % 3] = last[(j + 1) % 3] + t, i32.max best (s ^ t))
    in (weigh [all] + sum_of best last)
  in i64.sum (map row a)
