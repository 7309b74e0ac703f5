-- run: multicore --server FILE
-- exit: 1
-- prints: not supported yet: servers of `bindrune multicore`

entry main (x: i32) = x
