-- The escape times of points of the plane: a nest whose rows take very different
-- times.
-- ==
-- input { 2i64 3i64 50 }
-- output { [[1, 5, 50], [50, 50, 50]] }
entry main (height: i64) (width: i64) (limit: i32) : [height][width]i32 =
  map (\y ->
         map (\x ->
                let a = -2 + 2.5 * f64.i64 x / f64.i64 width
                let b = -0.5 + f64.i64 y / f64.i64 height
                let (_, _, turns) =
                  loop (u, v, turns) = (0.0, 0.0, 0) while turns < limit && u * u + v * v <= 4 do
                    (u * u - v * v + a, 2 * u * v + b, turns + 1)
                in turns)
             (iota width))
      (iota height)
