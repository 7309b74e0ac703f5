-- Particles, clusters and counts: n-body, k-means, histograms.

type vec = {x: f64, y: f64, z: f64}

def add (a: vec) (b: vec) : vec = {x = a.x + b.x, y = a.y + b.y, z = a.z + b.z}

def sub (a: vec) (b: vec) : vec = {x = a.x - b.x, y = a.y - b.y, z = a.z - b.z}

def scale (k: f64) (a: vec) : vec = {x = k * a.x, y = k * a.y, z = k * a.z}

type body = {position: vec, velocity: vec, mass: f64}

-- The attraction of body b at a position; `softening` keeps it finite at distance 0.
def pull (place: vec) (b: body) : vec =
  let softening = 0.01
  let r = sub b.position place
  let d2 = r.x * r.x + r.y * r.y + r.z * r.z + softening
  in scale (b.mass / (d2 * f64.sqrt d2)) r

def advance [n] (dt: f64) (bodies: [n]body) : [n]body =
  let none = {x = 0.0, y = 0.0, z = 0.0}
  in map (\(b: body) ->
            let force = reduce add none (map (pull b.position) bodies)
            let velocity = add b.velocity (scale dt force)
            in b with velocity = velocity with position = add b.position (scale dt velocity))
         bodies

-- Rows of positions and velocities, masses.
-- ==
-- entry: nbody
-- input { 3i32 0.1 [[0.0, 0.0, 0.0], [1.0, 0.0, 0.5], [0.0, -2.0, 1.0]] [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.5, 0.0, 0.0]] [10.0, 1.0, 0.5] }
-- output { [[0.049142589166832756f64, -0.0007713580909790075f64, 0.0272464537903373f64], [0.5071484217233624f64, 0.24819521199286518f64, 0.2559864578362365f64], [0.15285137321661968f64, -1.88096326216615f64, 0.9430980085207811f64]] [[0.2679305439074115f64, 0.010346086149760599f64, 0.14736054724051492f64], [-2.683771706087389f64, 0.5957451145632283f64, -1.3299438464538555f64], [0.5089325340265478f64, 0.6015880478783314f64, -0.2873232519025867f64]] }
-- input { 2i32 0.5 [[1.0, 2.0, 3.0]] [[1.0, -1.0, 0.5]] [2.0] }
-- output { [[2.0f64, 1.0f64, 3.5f64]] [[1.0f64, -1.0f64, 0.5f64]] }
-- input { 0i32 0.5 [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]] [[1.0, -1.0, 0.5], [0.0, 0.0, 0.0]] [2.0, 1.0] }
-- output { [[1.0f64, 2.0f64, 3.0f64], [0.0f64, 0.0f64, 0.0f64]] [[1.0f64, -1.0f64, 0.5f64], [0.0f64, 0.0f64, 0.0f64]] }
entry nbody [n] (steps: i32) (dt: f64) (positions: [n][3]f64) (velocities: [n][3]f64) (masses: [n]f64)
          : ([n][3]f64, [n][3]f64) =
  let of_row (r: [3]f64) = {x = r[0], y = r[1], z = r[2]}
  let to_row (v: vec) = [v.x, v.y, v.z]
  let start =
    map3 (\p v m -> {position = of_row p, velocity = of_row v, mass = m})
         positions velocities masses
  let bodies = loop bodies = start for _i < steps do advance dt bodies
  in ( map (\(b: body) -> to_row b.position) bodies
     , map (\(b: body) -> to_row b.velocity) bodies
     )

def distance2 [d] (a: [d]f64) (b: [d]f64) : f64 =
  f64.sum (map2 (\x y -> (x - y) * (x - y)) a b)

-- The index of the nearest centre, the first of several.
def nearest [k] [d] (centres: [k][d]f64) (point: [d]f64) : i64 =
  let closer (i, x) (j, y) = if x < y || (x == y && i < j) then (i, x) else (j, y)
  in (reduce_comm closer (k, f64.inf) (zip (iota k) (map (distance2 point) centres))).0

-- Lloyd's algorithm from the first k points; a centre that is nearest to no point keeps its
-- position.
-- ==
-- entry: kmeans
-- input { 2i64 4i32 [[0.0, 0.0], [10.0, 10.0], [0.0, 1.0], [11.0, 10.0], [1.0, 0.5], [9.0, 11.5], [0.5, 0.25]] }
-- output { [[0.375f64, 0.4375f64], [10.0f64, 10.5f64]] [0i64, 1i64, 0i64, 1i64, 0i64, 1i64, 0i64] }
-- input { 1i64 1i32 [[1.0, 2.0, 3.0]] }
-- output { [[1.0f64, 2.0f64, 3.0f64]] [0i64] }
-- input { 3i64 2i32 [[1.0], [1.0], [5.0], [6.0], [-3.0]] }
-- output { [[-3.0f64], [1.0f64], [5.5f64]] [1i64, 1i64, 2i64, 2i64, 0i64] }
entry kmeans [n] [d] (k: i64) (rounds: i32) (points: [n][d]f64) : ([k][d]f64, [n]i64) =
  let start = points[:k]
  let centres =
    loop centres = start for _i < rounds do
      let owners = map (nearest centres) points
      let counts = hist (+) 0 k owners (replicate n 1i64)
      let sums = reduce_by_index (replicate k (replicate d 0)) (map2 (+)) (replicate d 0) owners points
      in map3 (\centre sum count ->
                 if count == 0 then centre else map (/ f64.i64 count) sum)
              centres sums counts
  in (centres, map (nearest centres) points)

-- The count of each value from 0 to k-1; other values are ignored.
-- ==
-- entry: histogram
-- input { 4i64 [0, 1, 1, 3, 7, -1, 3, 3] }
-- output { [1i32, 2i32, 0i32, 3i32] }
-- input { 1i64 empty([0]i32) }
-- output { [0i32] }
-- input { 3i64 [2, 2, 2, 2, 2] }
-- output { [0i32, 0i32, 5i32] }
entry histogram [n] (k: i64) (xs: [n]i32) : [k]i32 =
  reduce_by_index (replicate k 0) (+) 0 (map i64.i32 xs) (replicate n 1)

-- The sum, the largest value and the first index of each bin.
-- ==
-- entry: bins
-- input { 3i64 [0i64, 2i64, 0i64, 2i64, 2i64] [5, -1, 7, 3, -9] }
-- output { [12i32, 0i32, -7i32] [7i32, -2147483648i32, 3i32] [0i64, 9223372036854775807i64, 1i64] }
-- input { 2i64 [5i64] [1] }
-- output { [0i32, 0i32] [-2147483648i32, -2147483648i32] [9223372036854775807i64, 9223372036854775807i64] }
entry bins [n] (k: i64) (is: [n]i64) (xs: [n]i32) : ([k]i32, [k]i32, [k]i64) =
  unzip3 (reduce_by_index (replicate k (0, i32.lowest, i64.highest))
                          (\(s, m, i) (t, l, j) -> (s + t, i32.max m l, i64.min i j))
                          (0, i32.lowest, i64.highest)
                          is
                          (zip3 xs xs (iota n)))
