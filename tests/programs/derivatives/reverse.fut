-- Gradients of functions of one array, one for each rule of reverse mode.

-- ==
-- entry: of_map
-- input { empty([0]f64) }
-- output { empty([0]f64) }
-- input { [0.5f64] }
-- output { [3.90927120639537f64] }
-- input { [0.5f64, -1.25f64, 2.0f64, 0.75f64] }
-- output { [3.90927120639537f64, 2.0009315245952206f64, 2.4493179044911915f64, 4.762580588471172f64] }
-- input { [0.0f64, 1.5f64, -2.0f64] }
-- output { [2.0f64, 4.647884607955711f64, 1.599304439412285f64] }
-- input { [3.0f64, 0.0f64, 0.0f64, 1.0f64] }
-- output { [-6.081221105733892f64, 2.0f64, 2.0f64, 5.16896691991602f64] }
-- input { [2.0f64, 2.0f64, -1.0f64, -1.0f64, 0.5f64] }
-- output { [2.4493179044911915f64, 2.4493179044911915f64, 2.145041876500347f64, 2.145041876500347f64, 3.90927120639537f64] }
entry of_map (xs: []f64) : []f64 =
  vjp (\xs -> f64.sum (map (\x -> f64.sin x * f64.exp (x / 2) + x ** 3 / (x * x + 1)) xs)) xs 2

-- ==
-- entry: of_product
-- input { empty([0]f64) }
-- output { empty([0]f64) }
-- input { [0.5f64] }
-- output { [1.5f64] }
-- input { [0.5f64, -1.25f64, 2.0f64, 0.75f64] }
-- output { [-2.8125f64, 1.125f64, -0.703125f64, -1.875f64] }
-- input { [0.0f64, 1.5f64, -2.0f64] }
-- output { [-4.5f64, -0.0f64, 0.0f64] }
-- input { [3.0f64, 0.0f64, 0.0f64, 1.0f64] }
-- output { [0.0f64, 0.0f64, 0.0f64, 0.0f64] }
-- input { [2.0f64, 2.0f64, -1.0f64, -1.0f64, 0.5f64] }
-- output { [1.5f64, 1.5f64, -3.0f64, -3.0f64, 6.0f64] }
entry of_product (xs: []f64) : []f64 = vjp f64.product xs 1.5

-- ==
-- entry: of_extremes
-- input { empty([0]f64) }
-- output { empty([0]f64) }
-- input { [0.5f64] }
-- output { [-2.0f64] }
-- input { [0.5f64, -1.25f64, 2.0f64, 0.75f64] }
-- output { [0.0f64, -3.0f64, 4.0f64, 0.0f64] }
-- input { [0.0f64, 1.5f64, -2.0f64] }
-- output { [0.0f64, 0.0f64, -7.0f64] }
-- input { [3.0f64, 0.0f64, 0.0f64, 1.0f64] }
-- output { [6.0f64, -3.0f64, 0.0f64, 0.0f64] }
-- input { [2.0f64, 2.0f64, -1.0f64, -1.0f64, 0.5f64] }
-- output { [4.0f64, 0.0f64, -3.0f64, 0.0f64, 0.0f64] }
entry of_extremes (xs: []f64) : []f64 =
  vjp (\xs -> f64.maximum (map2 (*) xs xs) - 3 * f64.minimum xs) (copy xs) 1

-- ==
-- entry: of_linear_recurrence
-- input { [0.5f64] }
-- output { [0.520574461395797f64] }
-- input { [0.5f64, -1.25f64, 2.0f64, 0.75f64, 1.5f64, -0.25f64, 0.125f64] }
-- output { [-0.25007829691370076f64, -4.363057932960543f64, 7.203194445528968f64, 2.0702891037346176f64, -0.1951083503139713f64, 1.196589528567018f64, 1.5963619683625903f64] }
entry of_linear_recurrence [n] (xs: [n]f64) : [n]f64 =
  let op (a, b) (c, d) = (a * c, b * c + d)
  let f (xs: [n]f64) =
    let (as, bs) = unzip (scan op (1, 0) (map (\x -> (f64.cos x, x)) xs))
    in f64.sum as + f64.sum (map2 (*) bs xs)
  in vjp f xs 1

-- ==
-- entry: of_matrix_scan
-- input { [0.5f64] }
-- output { [2.34375f64] }
-- input { [0.5f64, -1.25f64, 2.0f64, 0.75f64, 1.5f64, -0.25f64, 0.125f64] }
-- output { [10.373568262354356f64, -6.344865583088788f64, 10.674887497955599f64, 3.566283320106308f64, 3.9013894285033683f64, -3.6092742538244864f64, -1.1305708921170938f64] }
entry of_matrix_scan [n] (xs: [n]f64) : [n]f64 =
  let mul (a, b, c, d) (e, f, g, h) : (f64, f64, f64, f64) =
    (a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h)
  let f (xs: [n]f64) =
    let ms = scan mul (1, 0, 0, 1) (map (\x -> (1 + x / 8, x, -x / 4, 1 - x / 8)) xs)
    in f64.sum (map (\(a, b, c, d) -> a + 2 * b - c * d) ms)
  in vjp f xs 1

-- ==
-- entry: of_sums
-- input { [0.5f64] }
-- output { [0.75f64] }
-- input { [0.5f64, -1.25f64, 2.0f64, 0.75f64, 1.5f64, -0.25f64, 0.125f64] }
-- output { [20.343749999999996f64, 20.15625f64, 19.281250000000004f64, 16.71875f64, 21.96875f64, 9.78125f64, 12.234375f64] }
entry of_sums [n] (xs: [n]f64) : [n]f64 =
  vjp (\xs -> f64.sum (map2 (\x s -> x * s * s) xs (scan (+) 0 xs))) xs 1

-- ==
-- entry: of_loop
-- input { [0.5f64] }
-- output { [1.381773290676036f64] }
-- input { [0.5f64, -1.25f64, 2.0f64, 0.75f64, 1.5f64, -0.25f64, 0.125f64] }
-- output { [0.4375517729652339f64, -1.2989211907097358f64, 1.3658917981395968f64, 1.0411562675143715f64, -0.47787918871450974f64, 0.22115040206313977f64, 0.4219603190542912f64] }
entry of_loop [n] (xs: [n]f64) : [n]f64 =
  let f (xs: [n]f64) =
    let ys =
      loop ys = copy xs for i < n do
        ys with [i] = f64.sin (ys[i] + ys[(i + n - 1) % n])
    in f64.sum (map2 (*) ys xs)
  in vjp f xs 1

-- ==
-- entry: of_branches
-- input { [0.5f64] }
-- output { [2.0f64] }
-- input { [0.5f64, -1.25f64, 2.0f64, 0.75f64, 1.5f64, -0.25f64, 0.125f64] }
-- output { [6.0f64, 0.125f64, 4.0f64, 1.5f64, 3.0f64, 3.0f64, -1.0f64] }
entry of_branches [n] (xs: [n]f64) : [n]f64 =
  let f (xs: [n]f64) =
    f64.sum (map (\x -> if x > 0 then x * x + xs[0] else if x < -1 then x * xs[n - 1] else 3 * x) xs)
  in vjp f xs 1

-- ==
-- entry: of_powers
-- input { [0.5f64] }
-- output { [57.0f64] }
-- input { [0.5f64, -1.25f64, 2.0f64, 0.75f64, 1.5f64, -0.25f64, 0.125f64] }
-- output { [34.25f64, 0.0f64, 0.0f64, 0.0f64, 0.0f64, 0.0f64, 13.0f64] }
entry of_powers [n] (xs: [n]f64) : [n]f64 =
  let f (xs: [n]f64) =
    let (total, _) =
      loop (total, power) = (0, 1) while power < 30 do (total + power * xs[0], power * 2 + xs[n - 1])
    in total
  in vjp f xs 1

-- ==
-- entry: of_gather
-- input { [0.5f64, -1.25f64, 2.0f64, 0.75f64] [1i64, 1i64, 3i64, 0i64] }
-- output { [0.37758256189037276f64, -1.6846776376047314f64, 0.75f64, 3.9633777377476416f64] }
-- input { [0.5f64, 0.0f64, 2.0f64, 0.0f64] [1i64, 1i64, 2i64, 7i64] }
-- output { [0.0f64, 1.5f64, 3.583853163452858f64, 2.0f64] }
-- input { [0.5f64, 0.5f64, 2.0f64, 0.5f64] [2i64, 2i64, 2i64, 2i64] }
-- output { [2.0f64, 2.0f64, 3.83541265381143f64, 2.0f64] }
entry of_gather [n] (xs: [n]f64) (is: [n]i64) : [n]f64 =
  vjp (\xs -> f64.sum (map2 (\x i -> x * xs[i % n] + f64.sin xs[(i * 3) % n]) xs is)) xs 1

-- ==
-- entry: of_scatter
-- input { [0.5f64, -1.25f64, 2.0f64, 0.75f64] [1i64, 7i64, 3i64, 0i64] }
-- output { [1.0f64, 0.0f64, 16.0f64, 0.0f64] }
-- input { [0.5f64, 0.0f64] [-1i64, 0i64] }
-- output { [0.0f64, 2.0f64] }
entry of_scatter [n] (xs: [n]f64) (is: [n]i64) : [n]f64 =
  let f (xs: [n]f64) = f64.sum (map2 (*) (scatter (map (* 2) xs) is (map (\x -> x * x) xs)) (map f64.i64 (iota n)))
  in vjp f xs 1

def weighted [n] (xs: [n]f64) : f64 = f64.sum (map2 (\x i -> x * f64.i64 (i + 1)) xs (iota n))

-- ==
-- entry: of_sum_bins
-- input { [0.5f64, -1.25f64, 2.0f64, 0.75f64] [1i64, 1i64, 3i64, 0i64] }
-- output { [4.0f64, -1.0f64, 22.0f64, 9.5f64] }
-- input { [0.5f64, 0.0f64, 2.0f64, 0.0f64] [1i64, 1i64, 2i64, 7i64] }
-- output { [4.0f64, 4.0f64, 18.0f64, 8.0f64] }
-- input { [0.5f64, 0.5f64, 2.0f64, 0.5f64] [2i64, 2i64, 2i64, 2i64] }
-- output { [5.0f64, 6.999999999999999f64, 18.0f64, 11.0f64] }
entry of_sum_bins [n] (xs: [n]f64) (is: [n]i64) : [n]f64 =
  vjp (\xs -> weighted (reduce_by_index (map (* 2) xs) (+) 0 is (map (\x -> x * x) xs))) xs 1

-- ==
-- entry: of_least_bins
-- input { [0.5f64, -1.25f64, 2.0f64, 0.75f64] [1i64, 1i64, 3i64, 0i64] }
-- output { [0.0f64, 2.0f64, 0.0f64, 1.0f64] }
-- input { [0.5f64, 0.0f64, 2.0f64, 0.0f64] [1i64, 1i64, 2i64, 7i64] }
-- output { [0.0f64, 2.0f64, 0.0f64, 0.0f64] }
-- input { [0.5f64, 0.5f64, 2.0f64, 0.5f64] [2i64, 2i64, 2i64, 2i64] }
-- output { [3.0f64, 0.0f64, 0.0f64, 0.0f64] }
entry of_least_bins [n] (xs: [n]f64) (is: [n]i64) : [n]f64 =
  vjp (\xs -> weighted (reduce_by_index (replicate n 1.75) f64.min f64.inf is xs)) xs 1

-- ==
-- entry: of_product_bins
-- input { [0.5f64, -1.25f64, 2.0f64, 0.75f64] [1i64, 1i64, 3i64, 0i64] }
-- output { [1.375f64, -1.5f64, 9.999999999999998f64, 9.5f64] }
-- input { [0.5f64, 0.0f64, 2.0f64, 0.0f64] [1i64, 1i64, 2i64, 7i64] }
-- output { [1.0f64, 1.0f64, 15.0f64, 4.0f64] }
-- input { [0.5f64, 0.5f64, 2.0f64, 0.5f64] [2i64, 2i64, 2i64, 2i64] }
-- output { [5.5f64, 6.5f64, 1.875f64, 8.5f64] }
entry of_product_bins [n] (xs: [n]f64) (is: [n]i64) : [n]f64 =
  vjp (\xs -> weighted (reduce_by_index (map (+ 1) xs) (*) 1 is xs)) xs 1

-- ==
-- entry: of_general_bins
-- input { [0.5f64, -1.25f64, 2.0f64, 0.75f64] [1i64, 1i64, 3i64, 0i64] }
-- output { [4.0f64, -8.0f64, 17.0f64, 23.0f64] }
-- input { [0.5f64, 0.0f64, 2.0f64, 0.0f64] [1i64, 1i64, 2i64, 7i64] }
-- output { [5.0f64, 12.0f64, 33.0f64, 4.0f64] }
-- input { [0.5f64, 0.5f64, 2.0f64, 0.5f64] [2i64, 2i64, 2i64, 2i64] }
-- output { [361.0f64, 362.00000000000006f64, 264.0f64, 364.00000000000006f64] }
entry of_general_bins [n] (xs: [n]f64) (is: [n]i64) : [n]f64 =
  let op (x: f64) (y: f64) = x * y + x + y
  in vjp (\xs -> weighted (reduce_by_index (copy xs) op 0 is (map (* 2) xs))) xs 1

-- ==
-- entry: of_matrix_product
-- input { [[0.5f64, -1.25f64], [2.0f64, 0.75f64], [1.5f64, -0.25f64]] [0.25f64, 1.5f64] }
-- output { [[0.8115888872212031f64, 3.093032227191191f64], [0.5002170224978929f64, -2.786053593811506f64], [1.684419559044173f64, -1.5579855449715656f64]] [7.865715654345294f64, -1.8554446977015755f64] }
-- input { [[0.5f64, -1.25f64, 1.0f64]] [0.25f64, 1.5f64, -1.0f64] }
-- output { [[0.04095120063145834f64, -0.614268009471875f64, -0.3276096050516667f64]] [0.04095120063145834f64, 0.25594500394661457f64, 0.16380480252583335f64] }
entry of_matrix_product [n][m] (xss: [n][m]f64) (ys: [m]f64) : ([n][m]f64, [m]f64) =
  let f (xss: [n][m]f64, ys: [m]f64) =
    let gram = map (\xs -> map (\zs -> f64.sum (map3 (\x z y -> x * z * y) xs zs ys)) xss) xss
    in f64.sum (map f64.sum (map (map f64.sin) gram))
  in vjp f (xss, ys) 1

-- ==
-- entry: of_rows
-- input { [[0.5f64, -1.25f64], [2.0f64, 0.75f64], [1.5f64, -0.25f64]] [0.25f64, 1.5f64] }
-- output { [[22.250000000000004f64, -1.40625f64], [12.687500000000002f64, -1.03125f64], [13.75f64, -1.9687500000000002f64]] [1.5f64, 0.234375f64] }
-- input { [[0.5f64, -1.25f64, 1.0f64]] [0.25f64, 1.5f64, -1.0f64] }
-- output { [[2.25f64, -3.4999999999999996f64, 3.0f64]] [0.5f64, -1.25f64, 1.0f64] }
entry of_rows [n][m] (xss: [n][m]f64) (ys: [m]f64) : ([n][m]f64, [m]f64) =
  let f (xss: [n][m]f64, ys: [m]f64) =
    let sums = map2 (+) ys (reduce (map2 (+)) (replicate m 0) xss)
    let products = reduce (map2 (*)) (replicate m 1) xss
    in f64.sum (map2 (*) sums products) + f64.sum (map (\row -> f64.sum row ** 2) (transpose xss))
  in vjp f (xss, ys) 1

-- ==
-- entry: of_softmax
-- input { [[0.5f64, -1.25f64], [2.0f64, 0.75f64], [1.5f64, -0.25f64]] [0.25f64, 1.5f64] }
-- output { [[-0.71413320108123f64, 0.7141332010812301f64], [-0.6889151398461991f64, 0.6889151398461991f64], [-0.71413320108123f64, 0.71413320108123f64]] [2.9121913848212224f64, 3.514634769196463f64] }
-- input { [[0.5f64, -1.25f64, 1.0f64]] [0.25f64, 1.5f64, -1.0f64] }
-- output { [[-0.3245658583294926f64, 0.12442291196194685f64, 0.20014294636754568f64]] [0.2378446355342028f64, 0.24798720147187372f64, -1.5685580389086387f64] }
entry of_softmax [n][m] (xss: [n][m]f64) (ys: [m]f64) : ([n][m]f64, [m]f64) =
  let f (xss: [n][m]f64, ys: [m]f64) =
    let softmax xs =
      let greatest = f64.maximum xs
      let es = map (\x -> f64.exp (x - greatest)) xs
      let sum = f64.sum es
      in map (/ sum) es
    in f64.sum (map (\xs -> f64.log (f64.sum (map2 (\p y -> p * y * y) (softmax xs) ys))) xss)
  in vjp f (xss, ys) 1

-- ==
-- entry: of_updates
-- input { [0.5f64] }
-- output { [1.0f64] }
-- input { [0.5f64, -1.25f64, 2.0f64, 0.75f64, 1.5f64, -0.25f64, 0.125f64] }
-- output { [5.958554384684564f64, 0.0f64, 6.68683695509773f64, 0.0f64, 1.1970457350319719f64, 1.6140358993344721f64, 0.2631960263837423f64] }
entry of_updates [n] (xs: [n]f64) : [n]f64 =
  let f (xs: [n]f64) =
    let ys =
      loop ys = copy xs for _t < 3i32 do
        loop ys for i < i32.i64 n - 2 do
          if ys[i] > 0 then ys with [i + 1] = (ys[i] * ys[i + 2] + ys[i + 1]) / 3
          else if i % 3 == 0 then ys
          else
            let ys = ys with [i] = ys[i + 1] * 2
            in ys with [i + 2] = ys[i] * ys[i + 1]
    in f64.sum (map (\y -> y * y) ys)
  in vjp f xs 1

-- ==
-- entry: of_elimination
-- input { [[0.5f64, -1.25f64], [2.0f64, 0.75f64], [1.5f64, -0.25f64]] [0.25f64, 1.5f64] }
-- output { [[0.05202209641313109f64, -0.7823939451172316f64], [0.09777020476512235f64, 0.47169423308557856f64], [0.08585183861051372f64, -0.6840379006931729f64]] [1.4013168626103236f64, 1.0018483875893445f64] }
-- input { [[0.5f64, -1.25f64, 1.0f64]] [0.25f64, 1.5f64, -1.0f64] }
-- output { [[0.07206937799043062f64, -6.486244019138756f64, 2.3062200956937797f64]] [0.14413875598086123f64, 5.405203349282297f64, -2.3062200956937797f64] }
entry of_elimination [n][m] (xss: [n][m]f64) (ys: [m]f64) : ([n][m]f64, [m]f64) =
  let f (xss: [n][m]f64, ys: [m]f64) =
    let start =
      tabulate_2d n n (\i j -> f64.sum (map3 (\x z y -> x * z * y * y) xss[i] xss[j] ys) + 2 * f64.bool (i == j))
    let a =
      loop a = start for k < n do
        loop a for i < n - k - 1 do
          let i = i + k + 1
          let a = a with [i, k] = a[i, k] / a[k, k]
          in loop a for j < n - k - 1 do
               let j = j + k + 1
               in a with [i, j] = a[i, j] - a[i, k] * a[k, j]
    in f64.sum (tabulate n (\i -> f64.log a[i, i])) + a[n - 1, 0]
  in vjp f (xss, ys) 1

-- ==
-- entry: of_poles
-- input { 0.0f64 }
-- output { 1.0f64 1.0f64 }
-- input { 4.0f64 }
-- output { 0.1875f64 0.1875f64 }
-- input { -1.0f64 }
-- output { 1.0f64 1.0f64 }
entry of_poles (x: f64) : (f64, f64) =
  let f x = if x <= 0 then x else f64.sqrt x + 1 / x
  in (vjp f x 1, jvp f x 1)

-- ==
-- entry: of_products
-- input { [0.5f64, -1.25f64, 2.0f64] }
-- output { [[0.0f64, 2.0f64, -1.25f64], [2.0f64, 0.0f64, 0.5f64], [-1.25f64, 0.5f64, 0.0f64]] [[0.0f64, 0.0f64, 1.0f64], [0.0f64, 0.0f64, 0.0f64], [1.0f64, 0.0f64, 0.0f64]] }
-- input { [0.5f64, 0.0f64, 2.0f64, 0.75f64, 1.5f64] }
-- output { [[0.0f64, 2.25f64, 0.0f64, 0.0f64, 0.0f64], [2.25f64, 0.0f64, 0.5625f64, 1.5f64, 0.75f64], [0.0f64, 0.5625f64, 0.0f64, 0.0f64, 0.0f64], [0.0f64, 1.5f64, 0.0f64, 0.0f64, 0.0f64], [0.0f64, 0.75f64, 0.0f64, 0.0f64, 0.0f64]] [[0.0f64, 0.0f64, 1.5f64, 0.0f64, 2.0f64], [0.0f64, 0.0f64, 0.0f64, 0.0f64, 0.0f64], [1.5f64, 0.0f64, 0.0f64, 0.0f64, 0.5f64], [0.0f64, 0.0f64, 0.0f64, 0.0f64, 0.0f64], [2.0f64, 0.0f64, 0.5f64, 0.0f64, 0.0f64]] }
-- input { [0.0f64, 3.0f64, 2.0f64, 0.0f64, 1.5f64] }
-- output { [[0.0f64, 0.0f64, 0.0f64, 9.0f64, 0.0f64], [0.0f64, 0.0f64, 0.0f64, 0.0f64, 0.0f64], [0.0f64, 0.0f64, 0.0f64, 0.0f64, 0.0f64], [9.0f64, 0.0f64, 0.0f64, 0.0f64, 0.0f64], [0.0f64, 0.0f64, 0.0f64, 0.0f64, 0.0f64]] [[0.0f64, 0.0f64, 1.5f64, 0.0f64, 2.0f64], [0.0f64, 0.0f64, 0.0f64, 0.0f64, 0.0f64], [1.5f64, 0.0f64, 0.0f64, 0.0f64, 0.0f64], [0.0f64, 0.0f64, 0.0f64, 0.0f64, 0.0f64], [2.0f64, 0.0f64, 0.0f64, 0.0f64, 0.0f64]] }
entry of_products [n] (xs: [n]f64) : ([n][n]f64, [n][n]f64) =
  let hessian f = tabulate n (\i -> vjp (\xs -> vjp f xs 1) xs (tabulate n (\j -> f64.bool (i == j))))
  let of_even xs = (hist (*) 1 2 (map (% 2) (iota n)) xs)[0]
  in (hessian f64.product, hessian of_even)

-- ==
-- entry: of_triangle
-- input { [[0.5f64, -1.25f64], [2.0f64, 0.75f64], [1.5f64, -0.25f64]] [0.25f64, 1.5f64] }
-- output { [[3.3359375f64, -2.306640625f64], [0.0f64, 3.09375f64], [0.0f64, 0.0f64]] [-0.04296874999999998f64, 0.0f64] }
-- input { [[0.5f64, -1.25f64, 1.0f64]] [0.25f64, 1.5f64, -1.0f64] }
-- output { [[1.0f64, -2.5f64, 2.0f64]] [0.0f64, 0.0f64, 0.0f64] }
entry of_triangle [n][m] (xss: [n][m]f64) (ys: [m]f64) : ([n][m]f64, [m]f64) =
  let f (xss: [n][m]f64, ys: [m]f64) =
    let a =
      loop a = copy xss for i < n do
        loop a for j < i do a with [i, j % m] = a[j, i % m] * ys[0] + a[j, j % m]
    in f64.sum (map (\x -> x * x) (flatten a))
  in vjp f (xss, ys) 1

-- ==
-- entry: of_states
-- input { [[0.5f64, -1.25f64], [2.0f64, 0.75f64], [1.5f64, -0.25f64]] [0.25f64, 1.5f64] }
-- output { [[4.048208320094811f64, 1.1232038883703948f64], [0.0f64, 1.0f64], [0.8096416640189623f64, 1.2388288883703946f64]] [6.453950533797556f64, 0.0014458363195359182f64] }
-- input { [[0.5f64, -1.25f64, 1.0f64]] [0.25f64, 1.5f64, -1.0f64] }
-- output { [[1.7681914644573045f64, 1.1257739998497858f64, 1.0792900681934583f64]] [0.46296786097135034f64, 0.0005623323013423942f64, -8.987848832475719e-05f64] }
entry of_states [n][m] (xss: [n][m]f64) (ys: [m]f64) : ([n][m]f64, [m]f64) =
  let f (xss: [n][m]f64, ys: [m]f64) =
    let (a, g) =
      loop (a, g) = (copy xss, ys) for i < 4i64 do
        let a =
          loop a for j < i32.i64 n do
            if j % 2 == 0 then a with [i % n, i64.i32 j % m] = a[i64.i32 j % n, i % m] * g[0] + a[0, 0] else a
        let c = a[0, 0] / 10
        in (a, map (\y -> y * y / 4 + c) g)
    in f64.sum (flatten a) + f64.sum g
  in vjp f (xss, ys) 1

-- The largest value of each bin, the first of equal ones: an operator other than sums, products and minima.

def larger (p: f64, i: i64) (q: f64, j: i64) : (f64, i64) =
  if p > q || (p == q && i < j) then (p, i) else (q, j)

-- ==
-- entry: of_largest_in_bins
-- input { [5i64, 2i64, -1i64, 2i64, 0i64] [-0.25f64, 1.5f64, 2.0f64, 1.25f64, -3.0f64] }
-- output { [0.0f64, 1.0f64, 0.0f64, 0.0f64, 1.0f64] }
entry of_largest_in_bins [n] (is: [n]i64) (xs: [n]f64) : [n]f64 =
  let of_bins xs = hist larger (-9, i64.highest) n is (zip xs (iota n))
  in vjp (\xs -> f64.sum (map (.0) (of_bins xs))) xs 1

-- Polynomials with common coefficients: each iteration adds to all of them, in a loop whose bound may be negative.

def value_of [n] (xs: [n]f64) (t: f64) : f64 =
  (loop (power, value) = (1, 0) for i < n - 1 do (power * t, value + xs[i] * power)).1

-- ==
-- entry: of_polynomials
-- input { [2.0f64, 3.0f64, -1.0f64, 4.0f64] [0.5f64, -1.5f64, 2.0f64] }
-- output { [3.0f64, 1.0f64, 6.5f64, 0.0f64] }
-- input { empty([0]f64) [0.5f64] }
-- output { empty([0]f64) }
entry of_polynomials [n] [m] (xs: [n]f64) (ts: [m]f64) : [n]f64 =
  vjp (\xs -> f64.sum (map (value_of xs) ts)) xs 1

-- An operator of a histogram that depends on what the derivative is taken by.

-- ==
-- entry: of_open_operator
-- input { [0i64, 1i64, 0i64, 7i64, 0i64] 0.5f64 [1.0f64, 2.0f64, 3.0f64, 4.0f64, 5.0f64] }
-- output { 38.0f64 [8.75f64, 1.0f64, 5.25f64, 0.0f64, 3.75f64] }
entry of_open_operator [n] (is: [n]i64) (c: f64) (xs: [n]f64) : (f64, [n]f64) =
  let op c (a: f64) (b: f64) = a + b + c * a * b
  in vjp (\(c, xs) -> f64.sum (hist (op c) 0 3 is xs)) (c, xs) 1
