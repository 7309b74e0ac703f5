-- Common subexpressions that are conditionals and calls: in iterations of loops, in maps,
-- consecutive ones, and ones that only look the same.

def wave (x: i64) (k: i64) : i64 =
  if x % 3 == 0
  then let a = x * k + 7
       let b = a ^ (a >> 3)
       let c = b * 31 + (b >> 5)
       let d = c ^ (c << 7)
       let e = d * 17 + (d >> 11)
       in e ^ (e << 3)
  else if x < k
  then let a = (x + k) * 13
       let b = a ^ (a >> 2)
       let c = b * 5 + (b >> 7)
       let d = c ^ (c << 9)
       in d * 3 + 1
  else let a = (x - k) * 11
       let b = a ^ (a >> 4)
       let c = b * 7 - (b >> 3)
       let d = c ^ (c << 5)
       in d * 5 - 1

def small (x: i64) : i64 = x & 0xFFFFF

-- The same in each iteration as before the loop; no iteration if `n` is not positive.
-- ==
-- entry: loops
-- input { 5i64 9i64 4i64 }
-- output { 145689i64 870054i64 }
-- input { 6i64 9i64 4i64 }
-- output { 370271i64 504198i64 }
-- input { 9i64 5i64 4i64 }
-- output { 773159i64 1042906i64 }
-- input { -7i64 5i64 0i64 }
-- output { 238546i64 0i64 }
-- input { 12i64 -5i64 -3i64 }
-- output { 773159i64 0i64 }
entry loops (x: i64) (k: i64) (n: i64) : (i64, i64) =
  let before = small (wave x k)
  let sum = loop s = 0 for i < n do small (s * 3 + wave x k + wave k x * i)
  in (before, sum)

-- In iterations of a map: invariant, one per iteration, and in inner loops.
-- ==
-- entry: points
-- input { [1i64, 2i64, 3i64, 4i64, 5i64, 6i64, 7i64, 8i64, 9i64] 5i64 3i64 }
-- output { [856121i64, 542872i64, 202379i64, 171010i64, 397077i64, 355188i64, 824063i64, 586585i64, 15066i64] }
-- input { empty([0]i64) 5i64 3i64 }
-- output { empty([0]i64) }
-- input { [-3i64, 0i64, 3i64, 5i64] -3i64 0i64 }
-- output { [1042422i64, 1932428i64, 1573718i64, 1071813i64] }
entry points [n] (xs: [n]i64) (k: i64) (m: i64) : [n]i64 =
  map (\x ->
         let own = small (wave x k)
         in loop s = own + small (wave k m)
            for i < m do small (s * 5 + wave x k + wave x i + wave k m))
      xs

-- The same expressions of values that change.
-- ==
-- entry: changes
-- input { 5i64 9i64 4i64 }
-- output { 739558i64 934250i64 }
-- input { 6i64 2i64 7i64 }
-- output { 371242i64 697555i64 }
-- input { 1i64 1i64 0i64 }
-- output { 1i64 1i64 }
entry changes (x: i64) (k: i64) (n: i64) : (i64, i64) =
  loop (x, k) = (x, k)
  for _i < n do
    let y = small (wave x k)
    let z = small (wave y k)
    in (small (wave z k), y)

-- Reads and checks in branches run only if their branch does.
-- ==
-- entry: reads
-- input { [3i64, 1i64, 2i64] 1i64 4i64 }
-- output { 5349i64 0i64 }
-- input { [3i64, 1i64, 2i64] 7i64 4i64 }
-- output { 3258i64 0i64 }
-- input { [3i64, 1i64, 2i64] -1i64 4i64 }
-- output { 3258i64 -101i64 }
-- input { [3i64, 1i64, 2i64] 2i64 0i64 }
-- output { 50i64 51i64 }
entry reads [n] (xs: [n]i64) (i: i64) (m: i64) : (i64, i64) =
  let at j = if j >= 0 && j < n then (xs[j] * 100) / (xs[j] + j) else -1
  let sum = loop s = 0 for j < m do s * 3 + at i + at j
  in (at i + sum, at i - at (i + 1))
