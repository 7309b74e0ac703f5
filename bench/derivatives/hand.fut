-- Hand tracking (HAND of ADBench): distances of measured points to a skinned model of a hand with 26 parameters, and
-- the Jacobian, a row per parameter. In the complicated problem a point lies on a triangle, and its two barycentric
-- coordinates are parameters, too; all first coordinates share a row, as do all second ones. Transforms are the first
-- three rows of homogeneous matrices.

type transform = [3][4]f64

def compose (a: transform) (b: transform) : transform =
  tabulate_2d 3 4 (\i j ->
    a[i, 0] * b[0, j] + a[i, 1] * b[1, j] + a[i, 2] * b[2, j] + (if j == 3 then a[i, 3] else 0))

def apply (a: transform) (p: [3]f64) : [3]f64 =
  map (\row -> row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + row[3]) a

-- Rotations about x, then y, then z.
def euler (angles: [3]f64) : transform =
  let (sx, cx) = (f64.sin angles[0], f64.cos angles[0])
  let (sz, cz) = (f64.sin angles[1], f64.cos angles[1])
  let (sy, cy) = (f64.sin angles[2], f64.cos angles[2])
  in [ [cy * cz, -cx * sz + sx * sy * cz, sx * sz + cx * sy * cz, 0]
     , [cy * sz, cx * cz + sx * sy * sz, -sx * cz + cx * sy * sz, 0]
     , [-sy, sx * cy, cx * cy, 0]
     ]

-- The rotation by a vector.
def rotation (r: [3]f64) : transform =
  let square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2]
  in if square < 1e-16
     then [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
     else let norm = f64.sqrt square
          let (x, y, z) = (r[0] / norm, r[1] / norm, r[2] / norm)
          let (s, c) = (f64.sin norm, f64.cos norm)
          let d = 1 - c
          in [ [x * x * d + c, x * y * d - z * s, x * z * d + y * s, 0]
             , [x * y * d + z * s, y * y * d + c, y * z * d - x * s, 0]
             , [x * z * d - y * s, y * z * d + x * s, z * z * d + c, 0]
             ]

-- The angles of a bone: two bones of the wrist, and four of each finger, the last of which is rigid.
def angles (theta: [26]f64) (bone: i64) : [3]f64 =
  let (finger, joint) = ((bone - 2) / 4, (bone - 2) % 4)
  in if bone < 2 || joint == 3 then [0, 0, 0]
     else if joint == 0 then [theta[6 + 4 * finger], theta[7 + 4 * finger], 0]
     else [theta[7 + 4 * finger + joint], 0, 0]

type model [v] =
  { parents: [22]i32
  , relatives: [22]transform
  , inverses: [22]transform
  , weights: [v][22]f64
  , positions: [v][3]f64
  }

-- The positions of all vertices.
def pose [v] (m: model [v]) (theta: [26]f64) : [v][3]f64 =
  let joints = tabulate 22 (\bone -> compose m.relatives[bone] (euler (angles theta bone)))
  let absolutes =
    loop absolutes = copy joints for bone < 22i64 do
      let parent = m.parents[bone]
      in if parent < 0 then absolutes
         else absolutes with [bone] = copy (compose absolutes[parent] joints[bone])
  let transforms = map2 compose absolutes m.inverses
  let global = rotation (take 3 theta)
  let vertex (weights: [22]f64) (position: [3]f64) =
    let skinned =
      loop sum = [0, 0, 0] for bone < 22i64 do
        map2 (\s x -> s + weights[bone] * x) sum (apply transforms[bone] position)
    in map2 (+) (apply global skinned) (sized 3 theta[3:6])
  in map2 vertex m.weights m.positions

def simple [v][n] (m: model [v]) (vertices: [n]i32) (points: [n][3]f64) (theta: [26]f64) : [n][3]f64 =
  let positions = pose m theta
  in map2 (\vertex point -> map2 (-) point positions[vertex]) vertices points

def complicated [v][n] (m: model [v]) (triangles: [n][3]i32) (points: [n][3]f64)
                       (theta: [26]f64, us: [n][2]f64) : [n][3]f64 =
  let positions = pose m theta
  let error (triangle: [3]i32) (u: [2]f64) point =
    let on a b c p = p - (u[0] * a + u[1] * b + (1 - u[0] - u[1]) * c)
    in map4 on positions[triangle[0]] positions[triangle[1]] positions[triangle[2]] point
  in map3 error triangles us points

def unit (n: i64) (at: i64) : [n]f64 = tabulate n (\i -> f64.bool (i == at))

entry simple_primal [v][n] (parents: [22]i32) (relatives: [22]transform) (inverses: [22]transform)
                           (weights: [v][22]f64) (positions: [v][3]f64) (vertices: [n]i32) (points: [n][3]f64)
                           (theta: [26]f64) : [n][3]f64 =
  simple {parents, relatives, inverses, weights, positions} vertices points theta

entry simple_derivative [v][n] (parents: [22]i32) (relatives: [22]transform) (inverses: [22]transform)
                               (weights: [v][22]f64) (positions: [v][3]f64) (vertices: [n]i32) (points: [n][3]f64)
                               (theta: [26]f64) : [26][n][3]f64 =
  let errors = simple {parents, relatives, inverses, weights, positions} vertices points
  in tabulate 26 (\i -> jvp errors theta (unit 26 i))

entry complicated_primal [v][n] (parents: [22]i32) (relatives: [22]transform) (inverses: [22]transform)
                                (weights: [v][22]f64) (positions: [v][3]f64) (triangles: [n][3]i32)
                                (points: [n][3]f64) (theta: [26]f64) (us: [n][2]f64) : [n][3]f64 =
  complicated {parents, relatives, inverses, weights, positions} triangles points (theta, us)

entry complicated_derivative [v][n] (parents: [22]i32) (relatives: [22]transform) (inverses: [22]transform)
                                    (weights: [v][22]f64) (positions: [v][3]f64) (triangles: [n][3]i32)
                                    (points: [n][3]f64) (theta: [26]f64) (us: [n][2]f64) : [28][n][3]f64 =
  let errors = complicated {parents, relatives, inverses, weights, positions} triangles points
  let row i = jvp errors (theta, us) (unit 26 i, replicate n (unit 2 (i - 26)))
  in tabulate 28 row
