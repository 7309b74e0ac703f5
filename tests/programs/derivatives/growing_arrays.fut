-- Reverse derivatives of loops whose arrays change their sizes: they grow, shrink, are updated, have several dimensions,
-- in a map, beside values that the derivative is taken by.

def growing [n] (xs: [n]f64) : f64 =
  f64.sum (loop ys: []f64 = xs for _i < 3i64 do ys ++ map (* xs[0]) ys)

-- ==
-- entry: of_growing
-- input { [1.3f64, 0.7f64, -0.2f64, 2.0f64, 0.4f64] }
-- output { [78.82100000000001f64, 12.167000000000003f64, 12.167000000000003f64, 12.167000000000003f64, 12.167000000000003f64] }
-- input { [0.5f64] }
-- output { [6.75f64] }
-- input { [0.25f64, 1.5f64, -0.75f64, 0.5f64, 1.25f64, -1.0f64, 2.0f64, 0.125f64] }
-- output { [20.117187500000007f64, 1.9531249999999998f64, 1.9531249999999998f64, 1.9531249999999998f64, 1.9531249999999998f64, 1.9531249999999998f64, 1.9531249999999998f64, 1.9531249999999998f64] }
entry of_growing (xs: []f64) : []f64 = vjp growing xs 1

def halving [n] (xs: [n]f64) : f64 =
  f64.sum (loop ys: []f64 = xs while length ys > 1 do
             let k = length ys / 2
             in map2 (\a b -> a * f64.sin b + b) ys[:k] ys[k:2 * k])

-- ==
-- entry: of_halving
-- input { [1.3f64, 0.7f64, -0.2f64, 2.0f64, 0.4f64] }
-- output { [-0.0961323842457909f64, 1.2739689720034086f64, 1.1003880733511007f64, 0.9929185270702291f64, 0.0f64] }
-- input { [0.5f64] }
-- output { [1.0f64] }
-- input { [0.25f64, 1.5f64, -0.75f64, 0.5f64, 1.25f64, -1.0f64, 2.0f64, 0.125f64] }
-- output { [-0.21303488529583212f64, -0.5771721764430988f64, -0.2892390739819632f64, -0.5613803163447443f64, -0.24218364179381566f64, 1.2418055786015756f64, -0.4173700562855355f64, -6.736572950210278f64] }
entry of_halving (xs: []f64) : []f64 = vjp halving xs 1

-- ==
-- entry: second_of_halving
-- input { [1.3f64, 0.7f64, -0.2f64, 2.0f64, 0.4f64] }
-- output { [0.1661164755313736f64, 1.0894691737853393f64, -2.3956319904858607f64, -0.4337310470260946f64, 0.0f64] }
-- input { [0.5f64] }
-- output { [1.0f64] }
-- input { [0.25f64, 1.5f64, -0.75f64, 0.5f64, 1.25f64, -1.0f64, 2.0f64, 0.125f64] }
-- output { [-1.1923569545039623f64, -2.2593762580785874f64, -0.5828636682922409f64, -2.995025389843097f64, -1.2060367134576995f64, 3.753909436920791f64, -1.7562314540166708f64, -31.43763085751844f64] }
entry second_of_halving (xs: []f64) : []f64 =
  vjp (\xs -> f64.sum (map2 (*) xs (vjp halving xs 1))) xs 1

def updated [n] (xs: [n]f64) : f64 =
  let ys =
    loop ys: *[]f64 = copy xs for i < 4i64 do
      let m = length ys
      let ys = ys with [i % m] = ys[0] * ys[m - 1]
      in if i % 2 == 0 then ys[1:] ++ [f64.sin ys[0], ys[0]] else copy ys[:m - 1]
  in f64.sum (map2 (\i y -> f64.i64 (i + 1) * y) (indices ys) ys)

-- ==
-- entry: of_updated
-- input { [1.3f64, 0.7f64, -0.2f64, 2.0f64, 0.4f64] }
-- output { [1.549978740619484f64, 8.249971212109918f64, 0.0f64, 0.0f64, 8.037430907013324f64] }
-- input { [0.5f64] }
-- output { [0.47852773332225834f64] }
-- input { [0.25f64, 1.5f64, -0.75f64, 0.5f64, 1.25f64, -1.0f64, 2.0f64, 0.125f64] }
-- output { [2.5618896981064205f64, 1.0346374413122754f64, 0.0f64, 0.0f64, 3.0f64, 0.0f64, 5.0f64, 11.123779396212841f64] }
entry of_updated (xs: []f64) : []f64 = vjp updated xs 1

-- ==
-- entry: second_of_updated
-- input { [1.3f64, 0.7f64, -0.2f64, 2.0f64, 0.4f64] }
-- output { [5.1445532295782606f64, 17.57627320050751f64, 0.0f64, 0.0f64, 19.719797996129344f64] }
-- input { [0.5f64] }
-- output { [1.8259646218051313f64] }
-- input { [0.25f64, 1.5f64, -0.75f64, 0.5f64, 1.25f64, -1.0f64, 2.0f64, 0.125f64] }
-- output { [7.933655296739664f64, -9.622863428125735f64, 0.0f64, 0.0f64, 3.0f64, 0.0f64, 5.0f64, 21.867310593479328f64] }
entry second_of_updated (xs: []f64) : []f64 =
  vjp (\xs -> f64.sum (map2 (*) xs (vjp updated xs 1))) xs 1

def matrices [n] (xs: [n]f64) : f64 =
  let yss: [][]f64 =
    loop yss: [][]f64 = [xs] for i < 2i64 do
      map (\ys -> map (* f64.cos ys[0]) (ys ++ [f64.i64 (i + 1)])) (yss ++ yss)
  in f64.sum (map f64.product yss)

-- ==
-- entry: of_matrices
-- input { [1.3f64, 0.7f64, -0.2f64, 2.0f64, 0.4f64] }
-- output { [0.005081906083846062f64, -0.00039576740273237213f64, 0.0013851859095633024f64, -0.00013851859095633025f64, -0.0006925929547816512f64] }
-- input { [0.5f64] }
-- output { [0.021320699189343068f64] }
-- input { [0.25f64, 1.5f64, -0.75f64, 0.5f64, 1.25f64, -1.0f64, 2.0f64, 0.125f64] }
-- output { [-0.1060889019015371f64, 0.13115843854603756f64, -0.26231687709207513f64, 0.3934753156381127f64, 0.15739012625524512f64, -0.1967376578190564f64, 0.0983688289095282f64, 1.573901262552451f64] }
entry of_matrices (xs: []f64) : []f64 = vjp matrices xs 1

def in_a_map [n] (xs: [n]f64) : f64 =
  f64.sum (map (\x ->
                 f64.sum (loop ys: []f64 = [x] while length ys < 4 && last ys < 2 do ys ++ [last ys * x + 0.5]))
               xs)

-- ==
-- entry: of_in_a_map
-- input { [1.3f64, 0.7f64, -0.2f64, 2.0f64, 0.4f64] }
-- output { [3.6f64, 6.941999999999999f64, 1.488f64, 1.0f64, 3.9360000000000004f64] }
-- input { [0.5f64] }
-- output { [4.75f64] }
-- input { [0.25f64, 1.5f64, -0.75f64, 0.5f64, 1.25f64, -1.0f64, 2.0f64, 0.125f64] }
-- output { [3.0f64, 4.0f64, -0.24999999999999986f64, 4.75f64, 3.4999999999999996f64, -2.0f64, 1.0f64, 2.4296875f64] }
entry of_in_a_map (xs: []f64) : []f64 = vjp in_a_map xs 1

def beside_integers [n] (xs: [n]f64) : f64 =
  (loop (ks: []i64, y) = ([1], f64.sum xs) for i < 4i64 do (ks ++ [i], y * f64.i64 (length ks) * xs[0])).1

-- ==
-- entry: of_beside_integers
-- input { [1.3f64, 0.7f64, -0.2f64, 2.0f64, 0.4f64] }
-- output { [954.3768000000001f64, 68.54640000000002f64, 68.54640000000002f64, 68.54640000000002f64, 68.54640000000002f64] }
-- input { [0.5f64] }
-- output { [7.5f64] }
-- input { [0.25f64, 1.5f64, -0.75f64, 0.5f64, 1.25f64, -1.0f64, 2.0f64, 0.125f64] }
-- output { [5.90625f64, 0.09375f64, 0.09375f64, 0.09375f64, 0.09375f64, 0.09375f64, 0.09375f64, 0.09375f64] }
entry of_beside_integers (xs: []f64) : []f64 = vjp beside_integers xs 1
