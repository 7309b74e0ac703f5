-- Forces between particles of a box and of its neighbours ("LavaMD" of the Rodinia
-- benchmarks, as described by Henriksen, Thorøe, Elsman and Oancea, "Incremental
-- Flattening for Nested Data Parallelism", §5.3): two maps, a loop over boxes, a redomap
-- over their particles. The number of neighbours differs between boxes.

type particle = {v: f32, x: f32, y: f32, z: f32}

def add (a: particle) (b: particle) : particle =
  {v = a.v + b.v, x = a.x + b.x, y = a.y + b.y, z = a.z + b.z}

-- The force of particle b with charge q on particle a.
def force (alpha: f32) (a: particle) (b: particle) (q: f32) : particle =
  let distance = a.v + b.v - (a.x * b.x + a.y * b.y + a.z * b.z)
  let near = q * f32.exp (-2 * alpha * alpha * distance)
  in {v = near, x = 2 * near * (a.x - b.x), y = 2 * near * (a.y - b.y), z = 2 * near * (a.z - b.z)}

-- The data include the coordinates of boxes, which are not needed; `places` has the
-- positions of a box's particles, and `neighbours` the adjacent boxes.
-- ==
-- entry: main
-- input { 0.5f32 [0i32, 0i32, 0i32] [0i32, 0i32, 0i32] [0i32, 0i32, 0i32] [0i32, 1i32, 2i32] [[0i32, 0i32, 0i32], [0i32, 0i32, 0i32]] [[0i32, 0i32, 0i32], [0i32, 0i32, 0i32]] [[0i32, 0i32, 0i32], [0i32, 0i32, 0i32]] [[1i32, 0i32, 1i32], [2i32, 2i32, 0i32]] [2i32, 1i32, 2i32] [[0.25f32, 0.59375f32], [0.546875f32, 0.140625f32], [0.375f32, 0.609375f32]] [[0.484375f32, 0.59375f32], [0.078125f32, 0.609375f32], [0.015625f32, 0.484375f32]] [[0.265625f32, 0.5625f32], [0.234375f32, 0.203125f32], [0.484375f32, 0.546875f32]] [[0.5625f32, 0.484375f32], [0.40625f32, 0.15625f32], [0.234375f32, 0.15625f32]] [[0.53125f32, 0.390625f32], [0.015625f32, 0.078125f32], [0.171875f32, 0.59375f32]] }
-- output { [[1.654078f32, 1.501691f32], [0.756838f32, 0.996700f32], [1.373658f32, 1.361911f32]] [[0.044951f32, 0.366149f32], [-0.679969f32, 0.159815f32], [-1.231270f32, 0.040814f32]] [[-0.543604f32, 0.387572f32], [-0.197338f32, -0.324975f32], [0.137638f32, 0.303591f32]] [[0.616894f32, 0.333964f32], [-0.142997f32, -0.681744f32], [-0.365705f32, -0.575412f32]] }
entry main [boxes] [size] [most]
           (alpha: f32)
           (_: [boxes]i32) (_: [boxes]i32) (_: [boxes]i32)
           (places: [boxes]i32)
           (_: [most][boxes]i32) (_: [most][boxes]i32) (_: [most][boxes]i32)
           (neighbours: [most][boxes]i32)
           (counts: [boxes]i32)
           (vs: [boxes][size]f32) (xs: [boxes][size]f32) (ys: [boxes][size]f32) (zs: [boxes][size]f32)
           (charges: [boxes][size]f32) : ([boxes][size]f32, [boxes][size]f32, [boxes][size]f32, [boxes][size]f32) =
  let particles = map4 (map4 (\v x y z -> {v, x, y, z})) vs xs ys zs
  let none: particle = {v = 0, x = 0, y = 0, z = 0}
  let of_box (box: i64) : [size]particle =
    map (\a ->
           loop sum = none for k < counts[box] + 1 do
             let other = if k == 0 then box else i64.i32 neighbours[k - 1, box]
             let place = places[other]
             in add sum (reduce add none (map2 (force alpha a) particles[place] charges[place])))
        particles[box]
  let forces = map of_box (iota boxes)
  in ( map (map (.v)) forces
     , map (map (.x)) forces
     , map (map (.y)) forces
     , map (map (.z)) forces
     )
