"""Pairs of indices in a collapsed index space."""

from futdata import wrap
from registry import oracle

PROGRAM = "tests/programs/features/delinearisation.fut"


@oracle(PROGRAM, "[]i64")
def wide(t, m):
    return [(i // m) * 1000 + (i % m) * 3 + i for i in range(t)]


@oracle(PROGRAM, "[]i32")
def narrow(t, m):
    return [wrap((i // m) * 1000 + (i % m) * 3 + i, "i32") for i in range(t)]


@oracle(PROGRAM, "[]i32")
def toward_zero(t, m):
    quotients = [i // abs(m) * (1 if m > 0 else -1) for i in range(t)]
    return [k * 1000 + i % abs(m) * 3 + i for i, k in enumerate(quotients)]


@oracle(PROGRAM, "[][]i32")
def elimination(n, m, xss):
    def step(xs):
        a = [wrap(xs[i % len(xs)] * i, "i32") for i in range(n * m)]
        for i in range(n):
            row = [x + 1 for x in a[:m]]
            rest = [wrap(a[k * m + j] - a[k * m + i] * row[j], "i32") for k in range(1, n) for j in range(m)]
            a = rest + row
        return a

    return [step(xs) for xs in xss]


@oracle(PROGRAM, "[]i32")
def padded(k, longest, counts):
    out = {row + j * len(counts): row * 100 + j for row, count in enumerate(counts) for j in range(min(count, longest))}
    return [out.get(at, 0) for at in range(k)]


@oracle(PROGRAM, "[]i64")
def scattered(longest, counts):
    out = {j * len(counts) + row: row * longest + j for row, count in enumerate(counts) for j in range(min(count, longest))}
    return [out.get(at, -1) for at in range(len(counts) * longest)]


@oracle(PROGRAM, "[]i64")
def triangle(n, m):
    out = {j * n + row: row * m + j + row * j for row in range(n) for j in range(min(row + 1, m))}
    return [out.get(at, 0) for at in range(n * m)]
