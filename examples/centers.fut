-- One step of k-means: the mean position of the points nearest to each of k centers.
-- ==
-- entry: centers
-- input { [0f32, 8f32] [0f32, 8f32] [1f32, 2f32, 6f32, 7f32] [0f32, 2f32, 7f32, 6f32] }
-- output { [1.5f32, 6.5f32] [1f32, 6.5f32] }

def nearest [k] (cx: [k]f32) (cy: [k]f32) (x: f32, y: f32) : i64 =
  let dist = map2 (\cx cy -> (cx - x) ** 2 + (cy - y) ** 2) cx cy
  in (reduce (\a b -> if b.0 < a.0 then b else a) (f32.inf, -1) (zip dist (iota k))).1

entry centers [k] [n] (cx: [k]f32) (cy: [k]f32) (xs: [n]f32) (ys: [n]f32) : ([k]f32, [k]f32) =
  let near = map (nearest cx cy) (zip xs ys)
  let count = hist (+) 0 k near (replicate n 1)
  let mean vs = map2 (/) (hist (+) 0 k near vs) count
  in (mean xs, mean ys)
