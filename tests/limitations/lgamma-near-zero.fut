-- run: run FILE
-- input: -2.4570247382208006
-- prints: true

-- The result at this argument is 5.619192358950096e-17.
entry main (x: f64) = f64.abs (f64.lgamma x / 5.619192358950096e-17 - 1) > 0.1
