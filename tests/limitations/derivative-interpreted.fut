-- run: run --backend interp FILE
-- input: 3
-- exit: 1
-- prints: not supported yet: automatic differentiation (vjp2)

entry main (x: f64) = vjp f64.sin x 1
