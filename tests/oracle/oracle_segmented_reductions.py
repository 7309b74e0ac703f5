"""Reductions of segments of all lengths."""

from futdata import Empty
from registry import oracle

PROGRAM = "tests/programs/features/segmented_reductions.fut"


def number(i, j):
    return (i * 31 + j * 17) % 101


@oracle(PROGRAM, "[]i32", "[]i32", "[][]i32")
def affine(n, m):
    made = [[number(i, j) for j in range(m)] for i in range(n)]
    scales, offsets = [], []
    for row in made:
        scale, offset = 1, 0
        for x in row:
            scale, offset = scale * (x + 2) % 1009, (offset * (x + 2) + x) % 1009
        scales.append(scale)
        offsets.append(offset)
    return scales, offsets, made if n else Empty([n, m])


@oracle(PROGRAM, "[][]i64")
def sums(n, k, m):
    segment = lambda i, l: sum(number(i + l, j) * (j + 1) for j in range(m))
    return [[segment(i, l) for l in range(k)] for i in range(n)]


@oracle(PROGRAM, "i64")
def total(m):
    return sum(number(1, j) for j in range(m))
