-- Prices of contracts on several assets by simulation: normally distributed Sobol
-- numbers, a Brownian bridge, the Black-Scholes model, and the payoff ("OptionPricing" of
-- Henriksen, Thorøe, Elsman and Oancea, "Incremental Flattening for Nested Data
-- Parallelism", §5.3). Many paths of few dates use the outermost parallelism, few paths
-- of many dates the inner parallelism.

def polynomial [n] (coefficients: [n]f32) (x: f32) : f32 =
  foldr (\c value -> value * x + c) 0 coefficients

-- The inverse of the normal distribution, by the rational functions of Wichura (1988,
-- algorithm AS 241).
def normal (p: f32) : f32 =
  let q = p - 0.5
  in if f32.abs q <= 0.425
     then let r = 0.180625 - q * q
          in q
             * polynomial [ 3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3 ] r
             / polynomial [ 1, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3, 2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3 ] r
     else let r = f32.sqrt (-f32.log (if q < 0 then p else 1 - p))
          let x =
            if r <= 5
            then polynomial [ 1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4 ] (r - 1.6)
                 / polynomial [ 1, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1, 1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9 ] (r - 1.6)
            else polynomial [ 6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7 ] (r - 5)
                 / polynomial [ 1, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2, 7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15 ] (r - 5)
          in if q < 0 then -x else x

-- Element i of a Sobol sequence with the direction numbers of a dimension.
def sobol [bits] (directions: [bits]i32) (i: i32) : f32 =
  let gray = i ^ (i >> 1)
  let chosen =
    map2 (\direction bit -> if (gray >> i32.i64 bit) & 1 == 1 then direction else 0)
         directions
         (iota bits)
  in f32.i32 (reduce (^) 0 chosen) / f32.i64 (1 << bits)

-- The order in which a bridge is built: positions from 1, or 0 for none, and
-- deviations and weights.
type bridge [dates] =
  { place: [dates]i32, left: [dates]i32, right: [dates]i32
  , deviation: [dates]f32, left_weight: [dates]f32, right_weight: [dates]f32
  }

-- The increments of a Brownian motion between dates.
def motion [dates] (bridge: bridge [dates]) (noise: [dates]f32) : [dates]f32 =
  let start = replicate dates 0f32
  let start[i64.i32 bridge.place[0] - 1] = bridge.deviation[0] * noise[0]
  let levels =
    loop levels = start for k in 1..<dates do
      let right = levels[i64.i32 bridge.right[k] - 1]
      let left = if bridge.left[k] == 0 then 0 else levels[i64.i32 bridge.left[k] - 1]
      let level =
        bridge.deviation[k] * noise[k]
        + bridge.right_weight[k] * right
        + bridge.left_weight[k] * left
      in levels with [i64.i32 bridge.place[k] - 1] = level
  in map (\k -> levels[k] - (if k == 0 then 0 else levels[k - 1])) (iota dates)

-- The prices of the assets at the dates.
def prices [dates] [assets]
           (correlation: [assets][assets]f32)
           (volatility: [dates][assets]f32)
           (drift: [dates][assets]f32)
           (start: [assets]f32)
           (steps: [dates][assets]f32) : [dates][assets]f32 =
  let growth =
    map3 (\step vols drifts ->
            tabulate assets (\j ->
                               let shock =
                                 f32.sum (map3 (\i s c -> if i <= j then s * c else 0)
                                               (iota assets)
                                               step
                                               correlation[j])
                               in f32.exp (drifts[j] + shock * vols[j])))
         steps
         volatility
         drift
  in map (map2 (*) start) (scan (map2 (*)) (replicate assets 1) growth)

-- The worst of three assets relative to its initial price.
def worst [assets] (row: [assets]f32) : f32 =
  f32.min (row[0] / 3758.05) (f32.min (row[1] / 11840) (row[2] / 1200))

-- The discounted payoff of a contract. The first is a call on one asset, the second pays
-- at the first of five dates at which no asset is below its initial price, the third
-- depends on whether any asset was ever below a barrier.
def payoff [dates] [assets] [terms]
           (contract: i32)
           (discount: [terms]f32)
           (value: f32)
           (path: [dates][assets]f32) : f32 =
  if contract == 1
  then f32.max 0 ((path[0, 0] - 4000) * value) * discount[0]
  else if contract == 2
  then let first =
         loop k = 0i64 while k < dates - 1 && worst path[k] < 1 do
           k + 1
       let level = worst path[first]
       let amount =
         if level >= 1
         then 1150 + 150 * f32.i64 first
         else if level > 0.75
         then 1000
         else 1000 * level
       in amount * discount[first]
  else let touched =
         or (map (\row -> row[0] <= 2630.635 || row[1] <= 8288 || row[2] <= 840) path)
       let level = worst path[dates - 1]
       let amount = if touched && level < 1 then 1000 * level else 1000
       in 100 * discount[0] + amount * discount[1]

-- ==
-- entry: main
-- input { 1i32 64i32 [[536870912i32, 268435456i32, 134217728i32, 67108864i32, 33554432i32, 16777216i32, 8388608i32, 4194304i32, 2097152i32, 1048576i32, 524288i32, 262144i32, 131072i32, 65536i32, 32768i32, 16384i32, 8192i32, 4096i32, 2048i32, 1024i32, 512i32, 256i32, 128i32, 64i32, 32i32, 16i32, 8i32, 4i32, 2i32, 1i32]] [[[1.0f32]]] [[[0.2f32]]] [[[0.05f32]]] [[5000.0f32]] [[1.0f32]] [[0.95f32]] [[1i32], [0i32], [0i32]] [[1.0f32], [0.0f32], [0.0f32]] }
-- output { [1283.534180f32] }
entry main [bits] [models] [assets] [dates] [terms]
           (contract: i32)
           (paths: i32)
           (directions: [dates * assets][bits]i32)
           (correlations: [models][assets][assets]f32)
           (volatilities: [models][dates][assets]f32)
           (drifts: [models][dates][assets]f32)
           (starts: [models][assets]f32)
           (values: [models][1]f32)
           (discounts: [models][terms]f32)
           (places: [3][dates]i32)
           (weights: [3][dates]f32) : [models]f32 =
  let bridge: bridge [dates] =
    { place = places[0], left = places[1], right = places[2]
    , deviation = weights[0], left_weight = weights[1], right_weight = weights[2]
    }
  let directions = unflatten directions
  let simulate (i: i64) : [models]f32 =
    let noise = map (map (\d -> normal (sobol d (i32.i64 i + 1)))) directions
    let steps = transpose (map (motion bridge) (transpose noise))
    in tabulate models (\m ->
                          payoff contract discounts[m] values[m, 0]
                                 (prices correlations[m] volatilities[m] drifts[m] starts[m] steps))
  let sums = reduce (map2 (+)) (replicate models 0) (map simulate (iota (i64.i32 paths)))
  in map (/ f32.i32 paths) sums
