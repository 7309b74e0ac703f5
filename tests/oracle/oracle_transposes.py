"""Transposing copies: the number of misplaced elements is 0."""

from registry import oracle

TRANSPOSES = "tests/programs/features/transposes.fut"


@oracle(TRANSPOSES, "i64")
def matrix(n, m):
    return 0


@oracle(TRANSPOSES, "i64")
def bytes_(n, m):
    return 0


@oracle(TRANSPOSES, "i64")
def batch(k, n, m):
    return 0


@oracle(TRANSPOSES, "i64")
def outward(k, n, m):
    return 0


@oracle(TRANSPOSES, "i64")
def inward(k, n, m):
    return 0
