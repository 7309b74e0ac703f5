-- run: build FILE
-- exit: 1
-- prints: not supported yet: the derivative of loops with arrays whose size changes

entry main (x: f64) : f64 =
  let f (x: f64) =
    let (ys: []f64) = loop (ys: []f64) = [x] for _i < 3i64 do ys ++ map (* x) ys
    in f64.sum (map (* x) ys)
  in vjp f x 1
