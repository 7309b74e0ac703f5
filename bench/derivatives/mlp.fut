-- A perceptron with one hidden layer: the mean cross entropy of a batch, and its gradient by weights and biases.

def product [n][m][p] (a: [n][m]f32) (b: [m][p]f32) : [n][p]f32 =
  map (\row -> map (\column -> f32.sum (map2 (*) row column)) (transpose b)) a

def layer [n][m][p] (xs: [n][m]f32) (weights: [m][p]f32) (bias: [p]f32) : [n][p]f32 =
  map (map2 (+) bias) (product xs weights)

def loss [n][m][h][c] (xs: [n][m]f32) (labels: [n]i32)
                      (w1: [m][h]f32, b1: [h]f32, w2: [h][c]f32, b2: [c]f32) : f32 =
  let scores = layer (map (map (f32.max 0)) (layer xs w1 b1)) w2 b2
  let term (score: [c]f32) (label: i32) =
    let most = f32.maximum score
    in most + f32.log (f32.sum (map (\s -> f32.exp (s - most)) score)) - score[label]
  in f32.sum (map2 term scores labels) / f32.i64 n

entry primal [n][m][h][c] (xs: [n][m]f32) (labels: [n]i32) (w1: [m][h]f32) (b1: [h]f32) (w2: [h][c]f32) (b2: [c]f32)
  : f32 =
  loss xs labels (w1, b1, w2, b2)

entry derivative [n][m][h][c] (xs: [n][m]f32) (labels: [n]i32) (w1: [m][h]f32) (b1: [h]f32) (w2: [h][c]f32)
                              (b2: [c]f32) : ([m][h]f32, [h]f32, [h][c]f32, [c]f32) =
  vjp (loss xs labels) (w1, b1, w2, b2) 1
