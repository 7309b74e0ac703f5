-- run: dev FILE --stage cuda
-- prints: k0_main_segred
-- prints: k1_main_segred

entry main [n] (xs: [n]f32) = reduce (+) 0 xs
