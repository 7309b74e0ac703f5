-- Bundle adjustment (ADBench): errors of the projections of points to cameras, and their Jacobian, which has 15 entries
-- for each of the two errors of an observation. A camera is a rotation vector, a centre, a focal length, a principal
-- point and two coefficients of radial distortion.

type point = {x: f64, y: f64, z: f64}

def dot (a: point) (b: point) : f64 = a.x * b.x + a.y * b.y + a.z * b.z

def cross (a: point) (b: point) : point =
  {x = a.y * b.z - a.z * b.y, y = a.z * b.x - a.x * b.z, z = a.x * b.y - a.y * b.x}

def combine (s: f64) (a: point) (t: f64) (b: point) (u: f64) (c: point) : point =
  {x = s * a.x + t * b.x + u * c.x, y = s * a.y + t * b.y + u * c.y, z = s * a.z + t * b.z + u * c.z}

-- Rotation by the formula of Rodrigues.
def rotate (rotation: point) (p: point) : point =
  let square = dot rotation rotation
  in if square == 0
     then combine 1 p 1 (cross rotation p) 0 rotation
     else let theta = f64.sqrt square
          let axis = {x = rotation.x / theta, y = rotation.y / theta, z = rotation.z / theta}
          let cosine = f64.cos theta
          in combine cosine p (f64.sin theta) (cross axis p) ((1 - cosine) * dot axis p) axis

def project (camera: [11]f64) (p: [3]f64) : (f64, f64) =
  let rotation = {x = camera[0], y = camera[1], z = camera[2]}
  let moved = rotate rotation {x = p[0] - camera[3], y = p[1] - camera[4], z = p[2] - camera[5]}
  let (x, y) = (moved.x / moved.z, moved.y / moved.z)
  let square = x * x + y * y
  let distortion = 1 + camera[9] * square + camera[10] * square * square
  in (x * distortion * camera[6] + camera[7], y * distortion * camera[6] + camera[8])

def errors (feature: [2]f64) (camera: [11]f64, p: [3]f64, weight: f64) : [2]f64 =
  let (x, y) = project camera p
  in [weight * (x - feature[0]), weight * (y - feature[1])]

def weight_error (weight: f64) : f64 = 1 - weight * weight

entry primal [n][m][p] (cameras: [n][11]f64) (points: [m][3]f64) (weights: [p]f64) (features: [p][2]f64)
                       (of_camera: [p]i32) (of_point: [p]i32) : ([p][2]f64, [p]f64) =
  let error weight feature i j = errors feature (cameras[i], points[j], weight)
  in (map4 error weights features of_camera of_point, map weight_error weights)

entry derivative [n][m][p] (cameras: [n][11]f64) (points: [m][3]f64) (weights: [p]f64) (features: [p][2]f64)
                           (of_camera: [p]i32) (of_point: [p]i32) : ([p][2][15]f64, [p]f64) =
  let rows weight feature i j =
    let row seed =
      let (camera, p, weight) = vjp (errors feature) (cameras[i], points[j], weight) seed
      in sized 15 (camera ++ p ++ [weight])
    in map row [[1, 0], [0, 1]]
  in (map4 rows weights features of_camera of_point, map (\weight -> vjp weight_error weight 1) weights)
