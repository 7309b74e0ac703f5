-- run: build FILE
-- exit: 1
-- prints: not supported yet: automatic differentiation (jvp2)

entry main (x: f64) = jvp f64.sin x 1
