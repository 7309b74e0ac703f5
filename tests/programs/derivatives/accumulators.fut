-- Derivatives of loops that carry accumulators: beside values in either order, alone, in branches, in
-- nests, in loops that end by a condition, with arrays.

type~ acc 't = intrinsics.acc t

def write [n] 't (sums: *acc ([n]t)) (i: i64) (x: t) : *acc ([n]t) =
  intrinsics.acc_write sums i x

-- Adds to a copy of `x`, for each of its indices.
def adds [n] (f: *acc ([n]f64) -> i64 -> acc ([n]f64)) (x: [n]f64) : [n]f64 =
  intrinsics.hist_stream (copy x) (+) 0 f (iota n)

def objective [n] (f: [n]f64 -> [n]f64) (x: [n]f64) : f64 =
  f64.sum (map2 (\i y -> f64.cos y * f64.i64 (i + 1)) (iota n) (f x))

def gradient [n] (f: [n]f64 -> [n]f64) (x: [n]f64) : [n]f64 =
  vjp (objective f) x 1

-- The derivative of the gradient times `x`.
def second [n] (f: [n]f64 -> [n]f64) (x: [n]f64) : [n]f64 =
  vjp (\x -> f64.sum (map2 (*) x (gradient f x))) x 1

def value_first [n] (x: [n]f64) : [n]f64 =
  adds (\(sums: *acc ([n]f64)) i ->
          (loop (y, sums: *acc ([n]f64)) = (x[i], sums) for k < 3 do
             (f64.sin y * 1.5, write sums ((i + k) % n) (y * y))).1)
       x

def alone [n] (x: [n]f64) : [n]f64 =
  adds (\(sums: *acc ([n]f64)) i ->
          loop sums: *acc ([n]f64) = sums for k < 3 do
            write sums ((i + k) % n) (x[i] * x[(i + 2 * k) % n]))
       x

def branch [n] (x: [n]f64) : [n]f64 =
  adds (\(sums: *acc ([n]f64)) i ->
          let (sums, y) =
            loop (sums: *acc ([n]f64), y) = (sums, x[i]) for k < 4 do
              if k % 2 == 0
              then (write sums ((i + k) % n) (y * y * x[k % n]), f64.sin y * 1.5)
              else (sums, y * y)
          in if y > 0 then write sums 0 (y * y) else sums)
       x

def nested [n] (x: [n]f64) : [n]f64 =
  adds (\(sums: *acc ([n]f64)) i ->
          (loop (y, sums: *acc ([n]f64)) = (x[i], sums) for k < 3 do
             loop (y, sums: *acc ([n]f64)) = (y * 0.9, sums) for j < k do
               (f64.cos y, write sums ((i * k + j) % n) (y * y * x[j % n]))).1)
       x

def until [n] (x: [n]f64) : [n]f64 =
  adds (\(sums: *acc ([n]f64)) i ->
          (loop (y, sums: *acc ([n]f64)) = (x[i] * x[i] + 0.01, sums) while y < 8 do
             (y * 2, write sums (i64.f64 (y * 10) % n) (y * f64.sin y))).1)
       x

-- Indices out of bounds are ignored.
def arrays [n] (x: [n]f64) : [n]f64 =
  adds (\(sums: *acc ([n]f64)) i ->
          (loop (sums: *acc ([n]f64), ys) = (sums, map (* x[i]) x) for k < 3 do
             ( write (write sums k (ys[0] * ys[n - 1])) ((i + k) % n) (f64.sum ys)
             , map f64.sin ys with [k % n] = ys[(k + 1) % n] * x[k % n]
             )).0)
       x

-- ==
-- entry: of_value_first
-- input { empty([0]f64) }
-- output { empty([0]f64) }
-- input { [0.5f64] }
-- output { [-5.341327575102202f64] }
-- input { [0.3f64, -1.2f64, 0.7f64, 2.1f64] }
-- output { [2.2475684915050542f64, -0.5475638554663307f64, 5.745638047633694f64, 4.375590327042224f64] }
-- input { [-0.4f64, 0.9f64, 1.6f64] }
-- output { [-3.3031460189753785f64, 6.542221066439962f64, 0.6161419497083307f64] }
entry of_value_first (x: []f64) : []f64 = gradient value_first x

-- ==
-- entry: of_alone
-- input { empty([0]f64) }
-- output { empty([0]f64) }
-- input { [0.5f64] }
-- output { [-3.795938477422345f64] }
-- input { [0.3f64, -1.2f64, 0.7f64, 2.1f64] }
-- output { [2.0134429552103574f64, 14.437852103723639f64, 7.655520106779455f64, -16.126943377660588f64] }
-- input { [-0.4f64, 0.9f64, 1.6f64] }
-- output { [-1.17654677150061f64, -4.578704811364616f64, 3.505891313343328f64] }
entry of_alone (x: []f64) : []f64 = gradient alone x

-- ==
-- entry: of_branch
-- input { empty([0]f64) }
-- output { empty([0]f64) }
-- input { [0.5f64] }
-- output { [-6.131844146296322f64] }
-- input { [0.3f64, -1.2f64, 0.7f64, 2.1f64] }
-- output { [-0.293492716342817f64, 3.0860401597408686f64, 7.066318983558376f64, 13.248444662289634f64] }
-- input { [-0.4f64, 0.9f64, 1.6f64] }
-- output { [-2.8369114707799397f64, -3.914846655355649f64, -5.877552714072457f64] }
entry of_branch (x: []f64) : []f64 = gradient branch x

-- ==
-- entry: of_nested
-- input { empty([0]f64) }
-- output { empty([0]f64) }
-- input { [0.5f64] }
-- output { [-2.321878447078861f64] }
-- input { [0.3f64, -1.2f64, 0.7f64, 2.1f64] }
-- output { [-10.479142038887664f64, -5.024015349374766f64, -3.6621494672505506f64, -6.302963682536985f64] }
-- input { [-0.4f64, 0.9f64, 1.6f64] }
-- output { [-6.716325432480603f64, -5.0866599459057396f64, -1.6073124608560536f64] }
entry of_nested (x: []f64) : []f64 = gradient nested x

-- ==
-- entry: second_of_nested
-- input { empty([0]f64) }
-- output { empty([0]f64) }
-- input { [0.5f64] }
-- output { [-4.316191945519814f64] }
-- input { [0.3f64, -1.2f64, 0.7f64, 2.1f64] }
-- output { [-46.46953851732645f64, -25.28273957374747f64, -7.773149992799052f64, -33.34837403108258f64] }
-- input { [-0.4f64, 0.9f64, 1.6f64] }
-- output { [-15.716893440193473f64, -6.879629010222784f64, 6.6474253044028835f64] }
entry second_of_nested (x: []f64) : []f64 = second nested x

-- ==
-- entry: of_until
-- input { empty([0]f64) }
-- output { empty([0]f64) }
-- input { [0.5f64] }
-- output { [-0.12465057417524977f64] }
-- input { [0.3f64, -1.2f64, 0.7f64, 2.1f64] }
-- output { [621.3544877208698f64, -85.1467573977672f64, -128.21521804729815f64, 7.890345517209926f64] }
-- input { [-0.4f64, 0.9f64, 1.6f64] }
-- output { [-61.35691645216267f64, 91.6559814027313f64, -0.2598199150372254f64] }
entry of_until (x: []f64) : []f64 = gradient until x

-- ==
-- entry: second_of_until
-- input { empty([0]f64) }
-- output { empty([0]f64) }
-- input { [0.5f64] }
-- output { [-828.2807381458041f64] }
-- input { [0.3f64, -1.2f64, 0.7f64, 2.1f64] }
-- output { [-15684.78792756569f64, 6367.369889872371f64, -5247.490952401493f64, 3.1827641104245057f64] }
-- input { [-0.4f64, 0.9f64, 1.6f64] }
-- output { [-656.1241807030435f64, 13591.331858607147f64, 336.7742098113349f64] }
entry second_of_until (x: []f64) : []f64 = second until x

-- ==
-- entry: of_arrays
-- input { empty([0]f64) }
-- output { empty([0]f64) }
-- input { [0.5f64] }
-- output { [-3.1555161930296123f64] }
-- input { [0.3f64, -1.2f64, 0.7f64, 2.1f64] }
-- output { [8.843490227174676f64, -4.0207891300991445f64, -4.1468075318564335f64, -8.64185350354243f64] }
-- input { [-0.4f64, 0.9f64, 1.6f64] }
-- output { [15.881284848802895f64, -3.5708172292123175f64, 16.11031706225024f64] }
entry of_arrays (x: []f64) : []f64 = gradient arrays x
