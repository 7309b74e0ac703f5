-- Histograms of expensive iterations: their values are computed in strips, and the updates follow
-- sequentially.

-- The number of Collatz steps from a number to 1, at most 200.
def collatz_steps (start: i64) : i64 =
  let (_, count) =
    loop (n, count) = (start, 0)
    while n > 1 && count < 200 do
      (if n % 2 == 0 then n / 2 else 3 * n + 1, count + 1)
  in count

-- Some indices are out of bounds.
-- ==
-- entry: lengths
-- input { 0i64 4i64 }
-- output { [0i32, 0i32, 0i32, 0i32] [0.0f64, 0.0f64, 0.0f64, 0.0f64] }
-- input { 1i64 4i64 }
-- output { [0i32, 0i32, 0i32, 0i32] [0.0f64, 0.0f64, 0.0f64, 0.0f64] }
-- input { 63i64 4i64 }
-- output { [12i32, 11i32, 9i32, 11i32] [165.0625f64, 177.15625f64, 101.203125f64, 314.1875f64] }
-- input { 64i64 4i64 }
-- output { [12i32, 11i32, 9i32, 11i32] [165.0625f64, 177.15625f64, 101.203125f64, 314.1875f64] }
-- input { 65i64 4i64 }
-- output { [12i32, 11i32, 9i32, 11i32] [165.0625f64, 177.15625f64, 101.203125f64, 314.1875f64] }
-- input { 200i64 10i64 }
-- output { [13i32, 14i32, 17i32, 14i32, 14i32, 16i32, 19i32, 21i32, 17i32, 18i32] [309.953125f64, 475.9375f64, 578.953125f64, 473.0625f64, 250.09375f64, 502.3125f64, 670.578125f64, 885.9375f64, 699.84375f64, 753.15625f64] }
-- input { 20000i64 7i64 }
-- output { [2091i32, 2503i32, 2401i32, 2132i32, 1981i32, 2175i32, 2408i32] [154665.0f64, 199431.484375f64, 161791.640625f64, 133198.015625f64, 140181.0625f64, 172104.0f64, 171095.125f64] }
entry lengths (n: i64) (k: i64) : ([k]i32, [k]f64) =
  let counts = map collatz_steps (iota n)
  let bins = map (\c -> c % (k + 2) - 1) counts
  in ( hist (+) 0 k bins (map (const 1) bins)
     , hist (+) 0 k bins (map2 (\c i -> f64.i64 (c * (i % 97 + 1)) / 64) counts (iota n))
     )

-- The last iteration of a bin, and the one with the most steps: the order of the first matters.
-- ==
-- entry: chosen
-- input { 64i64 3i64 }
-- output { [51i64, 61i64, 63i64] [111i64, 112i64, 107i64] [27i64, 54i64, 62i64] }
-- input { 129i64 5i64 }
-- output { [122i64, 127i64, 128i64, 126i64, 111i64] [115i64, 111i64, 112i64, 118i64, 109i64] [73i64, 27i64, 54i64, 97i64, 41i64] }
-- input { 30000i64 4i64 }
-- output { [29999i64, 29991i64, 29998i64, 29977i64] [200i64, 197i64, 198i64, 199i64] [2463i64, 9159i64, 3175i64, 6319i64] }
entry chosen (n: i64) (k: i64) : ([k]i64, [k]i64, [k]i64) =
  let counts = map collatz_steps (iota n)
  let bins = map (% k) counts
  let most = hist (\a b -> if b.0 > a.0 then b else a) (-1, -1) k bins (zip counts (iota n))
  in ( hist (\a b -> if b < 0 then a else b) (-1) k bins (iota n)
     , map (.0) most
     , map (.1) most
     )

-- A histogram per row, each within one task.
-- ==
-- entry: rows
-- input { 3i64 70i64 4i64 }
-- output { [[112i64, 34i64, 111i64, 112i64], [112i64, 109i64, 112i64, 32i64], [27i64, 29i64, 109i64, 112i64]] }
-- input { 40i64 100i64 3i64 }
-- output { [[118i64, 115i64, 112i64], [112i64, 115i64, 118i64], [118i64, 115i64, 112i64], [118i64, 115i64, 112i64], [110i64, 110i64, 118i64], [115i64, 118i64, 112i64], [118i64, 112i64, 111i64], [107i64, 118i64, 112i64], [112i64, 110i64, 118i64], [112i64, 118i64, 115i64], [118i64, 115i64, 112i64], [112i64, 112i64, 118i64], [115i64, 110i64, 118i64], [112i64, 118i64, 111i64], [115i64, 110i64, 118i64], [115i64, 112i64, 118i64], [115i64, 118i64, 109i64], [118i64, 115i64, 110i64], [115i64, 118i64, 104i64], [112i64, 112i64, 118i64], [110i64, 112i64, 118i64], [115i64, 118i64, 112i64], [118i64, 110i64, 115i64], [118i64, 115i64, 112i64], [115i64, 118i64, 107i64], [115i64, 112i64, 118i64], [112i64, 118i64, 115i64], [118i64, 110i64, 115i64], [112i64, 118i64, 115i64], [118i64, 115i64, 110i64], [118i64, 112i64, 115i64], [110i64, 115i64, 118i64], [109i64, 115i64, 118i64], [106i64, 118i64, 111i64], [115i64, 118i64, 112i64], [107i64, 118i64, 115i64], [107i64, 109i64, 118i64], [112i64, 112i64, 118i64], [118i64, 115i64, 92i64], [118i64, 111i64, 115i64]] }
-- input { 2i64 0i64 2i64 }
-- output { [[0i64, 0i64], [0i64, 0i64]] }
entry rows (m: i64) (n: i64) (k: i64) : [m][k]i64 =
  map (\r -> hist i64.max 0 k (map (\i -> collatz_steps (r * n + i) % k) (iota n)) (map (\i -> collatz_steps (i + 1)) (iota n)))
      (iota m)
