-- The loss of a long short-term memory whose gates are diagonal (D-LSTM of ADBench), and its gradient by the
-- parameters. `main` has weights and biases of four gates per layer, `extra` the weights of the input, and weights and
-- bias of the output, `state` hidden and cell state per layer.

def sigmoid (x: f64) : f64 = 1 / (1 + f64.exp (-x))

def cell (weight: [4]f64) (bias: [4]f64) (hidden: f64) (state: f64) (input: f64) : (f64, f64) =
  let forget = sigmoid (input * weight[0] + bias[0])
  let ingate = sigmoid (hidden * weight[1] + bias[1])
  let outgate = sigmoid (input * weight[2] + bias[2])
  let change = f64.tanh (hidden * weight[3] + bias[3])
  let state = state * forget + ingate * change
  in (outgate * f64.tanh state, state)

def layer [b] (parameters: [2][4][b]f64) (hidden: [b]f64) (state: [b]f64) (input: [b]f64) : ([b]f64, [b]f64) =
  unzip (map5 cell (transpose parameters[0]) (transpose parameters[1]) hidden state input)

def predict [l][b] (main: [l][2][4][b]f64) (extra: [3][b]f64) (state: *[l][2][b]f64) (input: [b]f64)
  : (*[l][2][b]f64, [b]f64) =
  let (state, output) =
    loop (state, input) = (state, map2 (*) input extra[0]) for i < l do
      let (hidden, cells) = layer main[i] (copy state[i, 0]) (copy state[i, 1]) input
      in (state with [i] = [hidden, cells], hidden)
  in (state, map3 (\x weight bias -> x * weight + bias) output extra[1] extra[2])

def loss [l][b][c] (state: [l][2][b]f64) (sequence: [c][b]f64) (main: [l][2][4][b]f64, extra: [3][b]f64) : f64 =
  let (_, total) =
    loop (state, total) = (copy state, 0) for t < c - 1 do
      let (state, output) = predict main extra state sequence[t]
      let norm = f64.log (f64.sum (map f64.exp output) + 2)
      in (state, total + f64.sum (map2 (\y x -> y * (x - norm)) sequence[t + 1] output))
  in -total / f64.i64 ((c - 1) * b)

entry primal [l][b][c] (state: [l][2][b]f64) (sequence: [c][b]f64) (main: [l][2][4][b]f64) (extra: [3][b]f64) : f64 =
  loss state sequence (main, extra)

entry derivative [l][b][c] (state: [l][2][b]f64) (sequence: [c][b]f64) (main: [l][2][4][b]f64) (extra: [3][b]f64)
  : ([l][2][4][b]f64, [3][b]f64) =
  vjp (loss state sequence) (main, extra) 1
