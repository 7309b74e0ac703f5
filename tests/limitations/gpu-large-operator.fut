-- run: explain --backend cuda FILE
-- prints: reduction runs on the host: not supported yet: operators whose values exceed shared memory in device kernels

type a = (f64, f64, f64, f64, f64)
type b = (a, a, a, a, a)

def a (f: f64 -> f64 -> f64) (x: a) (y: a): a =
  (f x.0 y.1, f x.1 y.2, f x.2 y.3, f x.3 y.4, f x.4 y.0)

def b (x: b) (y: b): b =
  (a (+) x.0 y.0, a (*) x.1 y.1, a (-) x.2 y.2, a f64.max x.3 y.3, a f64.min x.4 y.4)

entry main [n] (xs: [n]f64) =
  let v x: a = (x, x, x, x, x)
  let w x: b = (v x, v x, v x, v x, v x)
  let r = reduce b (w 0) (map w xs)
  in r.0.0 + r.1.0 + r.2.0 + r.3.0 + r.4.0
