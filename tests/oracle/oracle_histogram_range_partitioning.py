"""Histograms with too many bins for private copies per chunk."""

from collections import defaultdict

from futdata import round_to
from registry import oracle

PROGRAM = "tests/programs/features/histogram_range_partitioning.fut"


def spread(k, i):
    return (i * 7919 + i // 13) % (k + 20) - 10


def points(n, k, place):
    """The values of each non-empty bin, in order."""
    found = defaultdict(list)
    for i in range(n):
        at = place(i)
        if 0 <= at < k:
            found[at].append(i)
    return found


def digest(k, empty, values):
    """A checksum of a histogram whose other bins contain `empty`."""
    weights = sum(i % 101 + 1 for i in range(k))
    return empty * weights + sum((x - empty) * (b % 101 + 1) for b, x in values.items())


@oracle(PROGRAM, "i64", "i64", "i64", "i64")
def chosen(n, k):
    found = points(n, k, lambda i: spread(k, i))
    best = {b: max(of, key=lambda i: (i * 31 % 17, -i)) for b, of in found.items()}
    return (
        digest(k, -1, {b: of[0] for b, of in found.items()}),
        digest(k, -1, {b: of[-1] for b, of in found.items()}),
        digest(k, -1, {b: i * 31 % 17 for b, i in best.items()}),
        digest(k, -1, best),
    )


@oracle(PROGRAM, "i64")
def counted(n, k, bound):
    found = points(n, k, lambda i: spread(k, i // 3 * 2))
    return digest(k, 0, {b: min(len(of), bound) for b, of in found.items()})


@oracle(PROGRAM, "[]f32", "[]f32")
def sums(n, k, last):
    def value(i):
        return round_to((i % 1009 - 500) / (i % 89 + 1), "f32")

    found = points(n, k, lambda i: spread(k // 50, i))

    def bin_(b):
        total = value(b)
        for i in found[b]:
            total = round_to(total + value(i), "f32")
        return total

    first = [bin_(b) for b in range(last)]
    return first, [bin_(b) for b in range(k // 50 - last, k // 50)]


@oracle(PROGRAM, "i64")
def grid(n, h, w):
    total = sum(i % 101 + 1 for i in range(h * w))
    for i in range(n):
        row, column = i * 31 % (h + 2) - 1, i * 7919 % (w + 3) - 1
        if 0 <= row < h and 0 <= column < w:
            total += i * ((row * w + column) % 101 + 1)
    return total
