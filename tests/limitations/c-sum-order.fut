-- run: run --backend c FILE
-- input: 100000
-- prints: true

-- True if the sum is computed from left to right.
entry main (n: i64) =
  let xs = map (\i -> 1 / f32.i64 (i + 1)) (iota n)
  in f32.sum (opaque xs) == (loop sum = 0 for x in xs do sum + x)
