-- run: test FILE
-- prints: of them not compared: too expensive for the interpreter

-- ==
-- input { 4000000000000i64 } auto output
entry main (n: i64) = (iota n)[n - 1]
