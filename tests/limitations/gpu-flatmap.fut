-- run: explain --backend cuda FILE
-- prints: flatmap runs on the host: not supported yet: flat maps in device kernels

entry main [n] (xs: [n]i64) = (flatmap (\x -> (map (* x) (iota x), x)) xs).3
