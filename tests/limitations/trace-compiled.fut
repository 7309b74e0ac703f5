-- run: run FILE
-- input: 3
-- prints: 4i32
-- not: Trace

entry main (x: i32) = trace (x + 1)
