-- run: dev FILE --stage cuda
-- prints: BR_GLOBAL u8 *a_mem
-- prints: BR_SHARED

entry main [n] [m] (rows: [n][m]f32) =
  #[incremental_flattening(only_intra)]
  map (\row ->
         let a = scan (+) 0 row
         let b = replicate 16 1f32 with [i64.f32 row[0] % 16] = 3
         in map2 (\i x -> a[(i * 7) % m] + x + b[i % 16]) (iota m) (scan (*) 1 a)) rows
