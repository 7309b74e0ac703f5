"""Scans, reductions and loops over rows, one row after another."""

from itertools import accumulate
from math import prod

from futdata import Empty, shape_of, wrap
from registry import oracle

PROGRAM = "tests/programs/features/thread_blocks.fut"


def running_sums(xs):
    return [wrap(x, "i32") for x in accumulate(xs)]


@oracle(PROGRAM, "[][]i32")
def shifted(xss):
    def step(xs):
        total = sum(xs)
        return [y + (total if total > 5 else 5) for y in accumulate(xs, max)]

    return [step(xs) for xs in xss] or Empty([0, shape_of(xss, 2)[1]])


@oracle(PROGRAM, "[][]i32")
def loops(ks, xss):
    def step(k, xs):
        for i in range(k):
            xs = running_sums(xs)
            if max(xs) > 1000:
                xs = [x % 1000 + i for x in xs]
        return xs

    return [step(k, xs) for k, xs in zip(ks, xss)]


@oracle(PROGRAM, "[][]i32")
def until(xss):
    def step(xs):
        return step([x // 2 for x in xs]) if sum(xs) > 10 else xs

    return [step(xs) for xs in xss]


@oracle(PROGRAM, "[][]i32", "[][]i32", "[]i32")
def bins(places, xss):
    found = [[[x for i, x in zip(row, xs) if i == k] for k in range(4)] for row, xs in zip(places, xss)]
    return (
        [[sum(b) for b in row] for row in found],
        [[prod(b) for b in row] for row in found],
        [sum(xs) for xs in xss],
    )


@oracle(PROGRAM, "[][]i32", "[]i32")
def composed(n, m):
    sums = [sum((i + j) % 5 for j in range(m)) for i in range(n)]
    return [[1, s % 1009] for s in sums], [m * (i + 1) for i in range(n)]


@oracle(PROGRAM, "[][][]i32", "[]i32")
def products(xsss):
    squares = [[[sum(map(int.__mul__, xs, ys)) for ys in zip(*xss)] for xs in xss] for xss in xsss]
    return squares, [sum(map(sum, yss)) for yss in squares]


@oracle(PROGRAM, "[][]i32")
def within(ks, xss):
    rows = []
    for k, xs in zip(ks, xss):
        for _ in range(k):
            xs = running_sums(xs)
            assert sum(xs) < 100
        rows.append(xs)
    return rows
