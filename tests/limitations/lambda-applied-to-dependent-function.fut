-- run: check FILE
-- exit: 1
-- prints: Cannot apply function to "iota": argument 1 has the wrong type

entry main (): [3]i64 = (\f -> f 3) iota
