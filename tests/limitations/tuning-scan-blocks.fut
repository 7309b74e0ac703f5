-- run: dev FILE --stage imp --print-params
-- prints: (size)
-- not: block

entry main [n] (xs: [n]f32) = scan (+) 0 xs
