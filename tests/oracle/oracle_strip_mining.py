"""Histograms with expensive iterations."""

from functools import lru_cache

from registry import oracle

PROGRAM = "tests/programs/features/strip_mining.fut"


@lru_cache(maxsize=None)
def collatz_steps(n):
    count = 0
    while n > 1 and count < 200:
        n, count = (n // 2 if n % 2 == 0 else 3 * n + 1), count + 1
    return count


@oracle(PROGRAM, "[]i32", "[]f64")
def lengths(n, k):
    numbers, sums = [0] * k, [0.0] * k
    for i in range(n):
        at = collatz_steps(i) % (k + 2) - 1
        if 0 <= at < k:
            numbers[at] += 1
            sums[at] += collatz_steps(i) * (i % 97 + 1) / 64
    return numbers, sums


@oracle(PROGRAM, "[]i64", "[]i64", "[]i64")
def chosen(n, k):
    last, most = [-1] * k, [(-1, -1)] * k
    for i in range(n):
        at = collatz_steps(i) % k
        last[at] = i
        if collatz_steps(i) > most[at][0]:
            most[at] = (collatz_steps(i), i)
    return last, [a for a, _ in most], [b for _, b in most]


@oracle(PROGRAM, "[][]i64")
def rows(m, n, k):
    out = [[0] * k for _ in range(m)]
    for r in range(m):
        for i in range(n):
            at = collatz_steps(r * n + i) % k
            out[r][at] = max(out[r][at], collatz_steps(i + 1))
    return out
