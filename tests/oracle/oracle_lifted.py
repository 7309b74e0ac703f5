"""Sizes of lifted types."""

from registry import oracle

LIFTED = "tests/programs/features/lifted_sizes.fut"


@oracle(LIFTED, "[]i64", "[]i64")
def both(n, m):
    return list(range(m)), list(range(n))


@oracle(LIFTED, "[]i32", "[]i32")
def pairs(xs, a, b):
    return [x for x in xs if x > b], [x for x in xs if x > a]


@oracle(LIFTED, "[]i32")
def doubled(n, xs):
    return list(xs) * 2**n


@oracle(LIFTED, "i64", "i64")
def sum_of_sizes(xs):
    return len([x for x in xs if x > 0]), len(xs)


@oracle(LIFTED, "i32", "i64")
def summaries(xs, ys):
    return 0, len(xs) + len(ys)
