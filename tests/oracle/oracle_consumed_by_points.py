"""Functions that update parts of their arguments, in all iterations of a map."""

from registry import oracle

FILE = "tests/programs/features/consumed_by_points.fut"


def filled(k, x):
    return sum(list(range(k)) + x[k:])


@oracle(FILE, "[]i64")
def main(ks):
    return [filled(k, [10] * 5) for k in ks]


@oracle(FILE, "[]i64", "[]i64")
def twice(ks, xss):
    return [filled(k, xs) for k, xs in zip(ks, xss)], [sum(xs) for xs in xss]
