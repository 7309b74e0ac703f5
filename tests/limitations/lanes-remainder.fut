-- run: dev FILE --lanes 8 --stage asm
-- prints: fmod

entry main [n] (xs: [n]f64) = map (\x -> (x * 3 + 1) % 0.7) xs
