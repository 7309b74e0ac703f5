-- Failures of single iterations among many: in tasks, on several threads.

def place (n: i64) (bad: i64) (i: i64) : i64 = if i == bad then n + i else i

-- ==
-- entry: map_index
-- input { 20000i64 19999i64 }
-- error: Index \[39999\] out of bounds for array of shape \[20000\]
-- input { 20000i64 -1i64 }
-- output { 19999i64 }
entry map_index (n: i64) (bad: i64) : i64 =
  let xs = iota n
  let ys = map (\i -> xs[place n bad i]) (iota n)
  in ys[n - 1]

-- ==
-- entry: reduce_division
-- input { 20000i64 12345i64 }
-- error: division by zero
-- input { 20000i64 -1i64 }
-- output { 482i64 }
entry reduce_division (n: i64) (bad: i64) : i64 =
  reduce (+) 0 (map (\i -> 100 / (if i == bad then 0 else i + 1)) (iota n))

-- ==
-- entry: hist_index
-- input { 20000i64 17777i64 }
-- error: out of bounds
-- input { 20000i64 -1i64 }
-- output { 2858i64 }
entry hist_index (n: i64) (bad: i64) : i64 =
  let xs = iota n
  in (hist (+) 0 7 (map (\i -> xs[place n bad i] % 7) (iota n)) (replicate n 1i64))[0]

-- ==
-- entry: scatter_index
-- input { 20000i64 3i64 }
-- error: out of bounds
-- input { 20000i64 -1i64 }
-- output { 0i64 }
entry scatter_index (n: i64) (bad: i64) : i64 =
  let xs = iota n
  in (scatter (replicate n 0) (map (\i -> n - 1 - xs[place n bad i]) (iota n)) (iota n))[n - 1]

-- In an inner loop, after allocations outside and inside of it.
-- ==
-- entry: inner
-- input { 60i64 50i64 59i64 }
-- error: Index \[109\] out of bounds for array of shape \[50\]
-- input { 60i64 50i64 -1i64 }
-- output { 1534i64 }
entry inner (n: i64) (m: i64) (bad: i64) : i64 =
  let yss =
    map (\i -> let xs = scan (+) 0 (replicate m i)
               let ys = filter (> 0) xs
               in i64.sum ys - i64.sum xs + xs[if i == bad then m + i else m / 2]) (iota n)
  in yss[n - 1]
