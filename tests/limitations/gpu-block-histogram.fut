-- run: dev FILE --stage cuda
-- prints: == 0) {
-- not: atomic

entry main [n] [m] (is: [n][m]i64) (xs: [n][m]f32) =
  #[incremental_flattening(only_intra)]
  map2 (\is xs -> hist (+) 0 10 is xs) is xs
