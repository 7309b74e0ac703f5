-- run: dev FILE --stage cuda
-- prints: == 0) {

entry main [n] [m] (is: [n][m]i64) (xs: [n][m]f32) =
  #[incremental_flattening(only_intra)]
  map2 (\is xs -> scatter (replicate 16 0) is xs) is xs
