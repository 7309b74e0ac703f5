-- run: c --library FILE
-- exit: 1
-- prints: not supported yet: libraries of `bindrune c`

entry main (x: i32) = x
