"""Scans and reductions of one loop-invariant value."""

from functools import reduce
from itertools import accumulate

from registry import oracle

PROGRAM = "tests/programs/features/uniform_scans.fut"


def wrap(x, bits):
    return (x + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


@oracle(PROGRAM, "[]i64", "[]i64", "[]i64")
def sums(n, x):
    def added(bits):
        y = wrap(x, bits)
        return list(accumulate([y] * n, lambda a, b: wrap(a + b, bits)))

    return added(8), added(32), added(64)


@oracle(PROGRAM, "[]i64", "[]i64", "i64")
def once(n, x):
    largest = list(accumulate([x] * n, max))
    common = list(accumulate([x] * n, lambda a, b: a & b))
    return largest, common, reduce(min, [x] * n, 2**63 - 1)


@oracle(PROGRAM, "i64", "i64", "i64")
def totals(n, x):
    total, short = 0, 0
    for _ in range(n):
        total, short = wrap(total + x, 64), wrap(short + x, 16)
    return total, short, sum(range(n))


@oracle(PROGRAM, "[][]i64")
def rows(n, m):
    return [list(accumulate([i * i - 3] * m)) for i in range(n)]
