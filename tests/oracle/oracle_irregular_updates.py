"""Functions that update parts of their arguments, in all iterations of a map."""

from registry import oracle

PROGRAM = "tests/programs/features/irregular_updates.fut"


def filled(k, x):
    return sum(list(range(k)) + x[k:])


@oracle(PROGRAM, "[]i64")
def main(ks):
    return [filled(k, [10] * 5) for k in ks]


@oracle(PROGRAM, "[]i64", "[]i64")
def twice(ks, xss):
    return [filled(k, xs) for k, xs in zip(ks, xss)], [sum(xs) for xs in xss]
