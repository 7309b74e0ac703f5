-- run: explain --backend cuda FILE
-- prints: map runs on the host: not supported yet: functions on arrays in device kernels

#[noinline]
def roots (x: f64): [3]f64 = [x, f64.sqrt x, f64.cbrt x]

entry main [n] (xs: [n]f64) = map (\x -> f64.maximum (roots x)) xs
