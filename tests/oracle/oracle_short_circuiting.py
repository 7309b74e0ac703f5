"""Values written into other arrays."""

from registry import oracle

PROGRAM = "tests/programs/features/short_circuiting.fut"


@oracle(PROGRAM, "[]i64")
def overlap(c, dst):
    return [dst[0], *(10 * x for x in dst[:3]), dst[4]] if c else dst


@oracle(PROGRAM, "[]i64")
def place(k, dst):
    return [dst[0], *range(k), *dst[1 + k:]]


@oracle(PROGRAM, "[][]i64")
def rows(n, m, k):
    assert m == k
    return [[i + j for j in range(k)] for i in range(n)]


@oracle(PROGRAM, "[][]i64")
def between(k, xs):
    second = xs[:2] + [1, 2] + xs[4:]
    third = second[:k] + [2, 2] + second[k + 2:]
    return [xs, second, third]
