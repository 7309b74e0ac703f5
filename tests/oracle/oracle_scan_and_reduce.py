"""Scans and reductions of one array, computed separately."""

from itertools import accumulate
from math import prod

from futdata import wrap
from registry import oracle

HERE = "tests/programs/features/scan_and_reduce.fut"


@oracle(HERE, "[]i32", "i32")
def sums_and_largest(xs):
    squares = [wrap(x * x + 1, "i32") for x in xs]
    return list(accumulate(squares)), max(squares, default=-(2**31))


@oracle(HERE, "[]i64", "i64", "i64")
def after(xs):
    return [sum(xs[:i + 1]) + i for i in range(len(xs))], sum(xs), max(xs, default=0)


@oracle(HERE, "[]i32", "[]i32", "i32", "i32", "i32")
def in_order(as_, bs):
    factors = list(accumulate(as_, lambda x, y: x * y))
    terms = [sum(b * prod(as_[j + 1:i + 1]) for j, b in enumerate(bs[:i + 1])) for i in range(len(bs))]
    return factors, terms, factors[-1], terms[-1], max(as_)


@oracle(HERE, "bool")
def as_separate(_):
    return True
