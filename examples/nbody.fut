-- Bodies that attract each other.
--
--   echo 5000i64 10 | bindrune run examples/nbody.fut
--
-- Each body feels every other, so a step costs n * n forces: a map (over the
-- bodies that feel) around a reduction (over the bodies that pull).

type vec = (f64, f64, f64)

def add ((ax, ay, az): vec) ((bx, by, bz): vec) : vec = (ax + bx, ay + by, az + bz)
def sub ((ax, ay, az): vec) ((bx, by, bz): vec) : vec = (ax - bx, ay - by, az - bz)
def scale (k: f64) ((x, y, z): vec) : vec = (k * x, k * y, k * z)
def dot ((ax, ay, az): vec) ((bx, by, bz): vec) : f64 = ax * bx + ay * by + az * bz

type body = {position: vec, velocity: vec, mass: f64}

-- Bodies that come close would fly apart by rounding errors; so every distance
-- counts as a little larger than it is.
def softening : f64 = 0.05

-- The acceleration by body `b` at `place`.
def pull (place: vec) (b: body) : vec =
  let r = sub b.position place
  let d2 = dot r r + softening
  in scale (b.mass / (d2 * f64.sqrt d2)) r

-- One step of time for all.  `map (pull ...) bodies |> reduce add ...` reads:
-- all pulls, summed up.
def step [n] (dt: f64) (bodies: [n]body) : [n]body =
  let advance (b: body) : body =
    let force = map (pull b.position) bodies |> reduce add (0, 0, 0)
    let velocity = add b.velocity (scale dt force)
    in {position = add b.position (scale dt velocity), velocity, mass = b.mass}
  in map advance bodies

-- Kinetic and potential energy: the sum should hardly change over time.
def energy [n] (bodies: [n]body) : f64 =
  let motion = f64.sum (map (\(b: body) -> 0.5 * b.mass * dot b.velocity b.velocity) bodies)
  let between (a: body) (b: body) =
    let r = sub a.position b.position
    in a.mass * b.mass / f64.sqrt (dot r r + softening)
  let pairs =
    f64.sum (map (\i -> f64.sum (map (\j -> if j < i then between bodies[i] bodies[j] else 0)
                                     (iota n)))
                 (iota n))
  in motion - pairs

-- Number i of a sequence spread evenly between -1 and 1.
def spread (irrational: f64) (i: i64) : f64 =
  let x = f64.i64 (i + 1) * irrational
  in 2 * (x - f64.floor x) - 1

-- A cloud of n bodies of total mass 1 that turns around the z axis.
def cloud (n: i64) : [n]body =
  let body i : body =
    let (x, y, z) = (spread 0.7548776662466927 i, spread 0.5698402909980532 i, spread 0.6180339887498949 i)
    in {position = (x, y, 0.2 * z), velocity = (-0.6 * y, 0.6 * x, 0), mass = 1 / f64.i64 n}
  in map body (iota n)

-- Number of bodies and of steps in; the energy at the start and at the end, and
-- the centre of gravity out.
-- ==
-- entry: main
-- input { 7i64 0 }
-- output { -0.3099960600159202f64 -0.3099960600159202f64 [-0.10383581288360125f64, 0.13015089941299712f64, -0.011145618000168162f64] }
-- input { 7i64 3 }
-- output { -0.3099960600159202f64 -0.3100196333194344f64 [-0.1061785290730352f64, 0.12828185478109227f64, -0.011145618000168169f64] }
-- input { 1i64 10 }
-- output { 0.05028500951859832f64 0.05028500951859832f64 [0.5013744975736187f64, 0.17026590194570956f64, 0.04721359549995796f64] }
entry main (n: i64) (steps: i32) : (f64, f64, [3]f64) =
  let start = cloud n
  let end = loop bodies = start for _i < steps do step 0.01 bodies
  let (x, y, z) = reduce add (0, 0, 0) (map (\(b: body) -> scale b.mass b.position) end)
  in (energy start, energy end, [x, y, z])
