-- Reductions of segments of all lengths, which threads of a block share: few iterations of many
-- segments, long segments, none.

-- Composition of affine maps, which does not commute.
def after (a: (i32, i32)) (b: (i32, i32)) : (i32, i32) =
  ((a.0 * b.0) % 1009, (a.1 * b.0 + b.1) % 1009)

def number (i: i64) (j: i64) : i32 = i32.i64 ((i * 31 + j * 17) % 101)

-- The result of each segment, and its mapped elements.
-- ==
-- entry: affine
-- input { 0i64 3i64 }
-- output { empty([0]i32) empty([0]i32) empty([0][3]i32) }
-- input { 3i64 0i64 }
-- output { [1i32, 1i32, 1i32] [0i32, 0i32, 0i32] empty([3][0]i32) }
-- input { 5i64 1i64 }
-- output { [2i32, 33i32, 64i32, 95i32, 25i32] [0i32, 31i32, 62i32, 93i32, 23i32] [[0i32], [31i32], [62i32], [93i32], [23i32]] }
-- input { 7i64 2i64 }
-- output { [38i32, 641i32, 139i32, 36i32, 41i32, 52i32, 261i32] [17i32, 589i32, 56i32, 23i32, 1006i32, 986i32, 256i32] [[0i32, 17i32], [31i32, 48i32], [62i32, 79i32], [93i32, 9i32], [23i32, 40i32], [54i32, 71i32], [85i32, 1i32]] }
-- input { 4i64 5i64 }
-- output { [10i32, 340i32, 217i32, 237i32] [896i32, 585i32, 239i32, 331i32] [[0i32, 17i32, 34i32, 51i32, 68i32], [31i32, 48i32, 65i32, 82i32, 99i32], [62i32, 79i32, 96i32, 12i32, 29i32], [93i32, 9i32, 26i32, 43i32, 60i32]] }
-- input { 3i64 9i64 }
-- output { [174i32, 292i32, 46i32] [299i32, 525i32, 457i32] [[0i32, 17i32, 34i32, 51i32, 68i32, 85i32, 1i32, 18i32, 35i32], [31i32, 48i32, 65i32, 82i32, 99i32, 15i32, 32i32, 49i32, 66i32], [62i32, 79i32, 96i32, 12i32, 29i32, 46i32, 63i32, 80i32, 97i32]] }
-- input { 1i64 13i64 }
-- output { [262i32] [953i32] [[0i32, 17i32, 34i32, 51i32, 68i32, 85i32, 1i32, 18i32, 35i32, 52i32, 69i32, 86i32, 2i32]] }
entry affine (n: i64) (m: i64) : ([n]i32, [n]i32, [n][m]i32) =
  let (totals, made) =
    unzip (map (\i ->
                  let xs = map (number i) (iota m)
                  let total = reduce after (1, 0) (map (\x -> (x + 2, x)) xs)
                  in (total, xs))
               (iota n))
  let (scales, offsets) = unzip totals
  in (scales, offsets, made)

-- Sums of the same, of segments that may be long; two dimensions of segments.
-- ==
-- entry: sums
-- input { 2i64 3i64 0i64 }
-- output { [[0i64, 0i64, 0i64], [0i64, 0i64, 0i64]] }
-- input { 2i64 3i64 1i64 }
-- output { [[0i64, 31i64, 62i64], [31i64, 62i64, 93i64]] }
-- input { 3i64 3i64 7i64 }
-- output { [[1197i64, 1459i64, 1418i64], [1459i64, 1418i64, 1781i64], [1418i64, 1781i64, 1235i64]] }
-- input { 2i64 2i64 33i64 }
-- output { [[24686i64, 26018i64], [26018i64, 30380i64]] }
-- input { 1i64 2i64 1000i64 }
-- output { [[25116120i64, 24988134i64]] }
-- input { 1i64 1i64 5000i64 }
-- output { [[624640419i64]] }
entry sums (n: i64) (k: i64) (m: i64) : [n][k]i64 =
  tabulate_2d n k (\i l -> i64.sum (map (\j -> i64.i32 (number (i + l) j) * (j + 1)) (iota m)))

-- Reductions of a single segment.
-- ==
-- entry: total
-- input { 0i64 }
-- output { 0i64 }
-- input { 1i64 }
-- output { 31i64 }
-- input { 6i64 }
-- output { 340i64 }
-- input { 300i64 }
-- output { 14957i64 }
entry total (m: i64) : i64 =
  i64.sum (map (\j -> i64.i32 (number 1 j)) (opaque (iota m)))
