-- run: run --backend opencl FILE --default-thread-block-size=64
-- input: 3
-- prints: has no effect: the partition of work over threads is fixed at compile time

entry main (n: i64) = map (* 2) (iota n)
