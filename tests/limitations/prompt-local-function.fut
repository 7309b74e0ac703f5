-- run: repl FILE
-- input: f (\x -> x * 2) 3
-- input: x
-- input: g x
-- prints: 3f64
-- prints: Unknown name "g"

def f (h: f64 -> f64) (x: f64) = let g = h in #[break] g x
