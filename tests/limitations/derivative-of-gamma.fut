-- run: build FILE
-- exit: 1
-- prints: not supported yet: the derivative of `tetragamma`

def derivative (f: f64 -> f64) (x: f64) : f64 = jvp f x 1

entry main = derivative (derivative (derivative (derivative f64.lgamma)))
