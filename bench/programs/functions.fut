-- The mathematical functions of the figure `functions`, over many rounds of a block
-- that stays in the L1 cache, with a sum of all results. Each round shifts the
-- elements a little, so that no round is redundant.

def over [n] 't (add: t -> t -> t) (zero: t) (small: i64 -> t) (f: t -> t) (rounds: i64) (xs: [n]t) : t =
  reduce add zero (map (\r -> reduce add zero (map (\x -> f (add x (small r))) xs)) (iota rounds))

def over32 [n] (f: f32 -> f32) (rounds: i64) (xs: [n]f32) : f32 =
  over (+) 0 (\r -> 1e-6 * f32.i64 r) f rounds xs

def over64 [n] (f: f64 -> f64) (rounds: i64) (xs: [n]f64) : f64 =
  over (+) 0 (\r -> 1e-6 * f64.i64 r) f rounds xs

-- ==
-- entry: exp_f32
-- input { 2i64 [0f32, 1f32] }
-- output { 7.4365673f32 }
entry exp_f32 [n] (rounds: i64) (xs: [n]f32) : f32 = over32 f32.exp rounds xs

-- ==
-- entry: log_f32
-- input { 1i64 [1f32, 4f32] }
-- output { 1.3862944f32 }
entry log_f32 [n] (rounds: i64) (xs: [n]f32) : f32 = over32 f32.log rounds xs

-- ==
-- entry: sin_f32
-- input { 1i64 [1f32, 2f32] }
-- output { 1.7507684f32 }
entry sin_f32 [n] (rounds: i64) (xs: [n]f32) : f32 = over32 f32.sin rounds xs

-- ==
-- entry: cos_f32
-- input { 1i64 [0f32, 2f32] }
-- output { 0.5838532f32 }
entry cos_f32 [n] (rounds: i64) (xs: [n]f32) : f32 = over32 f32.cos rounds xs

-- ==
-- entry: pow_f32
-- input { 1i64 [1f32, 4f32] [3f32, 2.5f32] }
-- output { 33.0f32 }
entry pow_f32 [n] (rounds: i64) (xs: [n]f32) (ys: [n]f32) : f32 =
  reduce (+) 0 (map (\r -> f32.sum (map2 (\x y -> (x + 1e-6 * f32.i64 r) ** y) xs ys)) (iota rounds))

-- ==
-- entry: exp_f64
-- input { 1i64 [0f64, 1f64] }
-- output { 3.718281828459045f64 }
entry exp_f64 [n] (rounds: i64) (xs: [n]f64) : f64 = over64 f64.exp rounds xs

-- ==
-- entry: log_f64
-- input { 1i64 [1f64, 4f64] }
-- output { 1.3862943611198906f64 }
entry log_f64 [n] (rounds: i64) (xs: [n]f64) : f64 = over64 f64.log rounds xs

-- ==
-- entry: sin_f64
-- input { 1i64 [1f64, 2f64] }
-- output { 1.7507684116335782f64 }
entry sin_f64 [n] (rounds: i64) (xs: [n]f64) : f64 = over64 f64.sin rounds xs

-- ==
-- entry: cos_f64
-- input { 1i64 [0f64, 2f64] }
-- output { 0.5838531634528576f64 }
entry cos_f64 [n] (rounds: i64) (xs: [n]f64) : f64 = over64 f64.cos rounds xs

-- ==
-- entry: pow_f64
-- input { 1i64 [1f64, 4f64] [3f64, 2.5f64] }
-- output { 33.0f64 }
entry pow_f64 [n] (rounds: i64) (xs: [n]f64) (ys: [n]f64) : f64 =
  reduce (+) 0 (map (\r -> f64.sum (map2 (\x y -> (x + 1e-6 * f64.i64 r) ** y) xs ys)) (iota rounds))
