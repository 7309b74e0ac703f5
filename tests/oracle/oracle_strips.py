"""Histograms with expensive iterations."""

from functools import lru_cache

from registry import oracle

STRIPS = "tests/programs/features/strips.fut"


@lru_cache(maxsize=None)
def turns(n):
    count = 0
    while n > 1 and count < 200:
        n, count = (n // 2 if n % 2 == 0 else 3 * n + 1), count + 1
    return count


@oracle(STRIPS, "[]i32", "[]f64")
def lengths(n, k):
    numbers, sums = [0] * k, [0.0] * k
    for i in range(n):
        at = turns(i) % (k + 2) - 1
        if 0 <= at < k:
            numbers[at] += 1
            sums[at] += turns(i) * (i % 97 + 1) / 64
    return numbers, sums


@oracle(STRIPS, "[]i64", "[]i64", "[]i64")
def chosen(n, k):
    last, most = [-1] * k, [(-1, -1)] * k
    for i in range(n):
        at = turns(i) % k
        last[at] = i
        if turns(i) > most[at][0]:
            most[at] = (turns(i), i)
    return last, [a for a, _ in most], [b for _, b in most]


@oracle(STRIPS, "[][]i64")
def rows(m, n, k):
    out = [[0] * k for _ in range(m)]
    for r in range(m):
        for i in range(n):
            at = turns(r * n + i) % k
            out[r][at] = max(out[r][at], turns(i + 1))
    return out
