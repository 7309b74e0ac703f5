-- run: run --backend interp FILE
-- input: 200000
-- exit: 1
-- prints: stack overflow: the recursion is too deep

def depth (n: i64): i64 = if n == 0 then 0 else 1 + depth (n - 1)

entry main (n: i64) = depth n
