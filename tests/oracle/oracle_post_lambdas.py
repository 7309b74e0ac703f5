"""Maps over scanned arrays, and rows of copies."""

from itertools import accumulate

from futdata import Empty, wrap
from registry import oracle

PROGRAM = "tests/programs/features/post_lambdas.fut"


@oracle(PROGRAM, "[][]i64")
def rows(xs, ys):
    m = len(ys)
    sums = list(accumulate(xs))
    return [[9 if ys[x % m] else x] * m for x in sums] or Empty([0, m])


@oracle(PROGRAM, "[]u8")
def all_or_none(xs, k):
    return [wrap(x + k, "u8") for x in xs] if k > 1 else []


@oracle(PROGRAM, "[]u8", "u8")
def twice(xs, k):
    return (list(xs), wrap(len(xs) + 1, "u8")) if k > 1 else ([], 7)


@oracle(PROGRAM, "[]i64")
def row(xs, _):
    return list(xs)


@oracle(PROGRAM, "[][]f64", "i64")
def of_nothing(n):
    return [[] for _ in range(n)], 0
