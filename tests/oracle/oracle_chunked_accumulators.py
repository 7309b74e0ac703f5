"""Accumulators whose operators are not atomic on devices, one update at a time."""

from math import floor

from futdata import Empty
from oracle_accumulators import add, gather
from registry import oracle

CHUNKED = "tests/programs/features/chunked_accumulators.fut"


@oracle(CHUNKED, "[][]f64")
def segments(n, k, m):
    if n == 0:
        return Empty([0, k])
    if k == 0:
        return [[]] * n
    writes = lambda i: (((i + j) % (k + 1), i * j / 4) for j in range(m))
    return [gather(map(float, range(k)), add, writes(i)) for i in range(n)]


@oracle(CHUNKED, "[]f64", "f64", "[]f64")
def beside(n, k):
    xs = [i * 37 % 101 / 2 for i in range(n)]
    sums = gather([1.0] * k, add, ((int(x) % k, x) for x in xs))
    return sums, float(sum(xs)), [2 * x for x in xs] if n else Empty([0])


@oracle(CHUNKED, "[]i32", "[]f64", "[]i64")
def both(n, k):
    xs = [i * 31 % 47 for i in range(n)]
    counts = gather([0] * k, add, ((x % k, 1) for x in xs))
    later = lambda a, b: b if (b[1], b[0]) > (a[1], a[0]) else a
    last = gather([(0.0, -1)] * k, later, ((x * x % k, (x / 2, x % 5)) for x in xs))
    return counts, [x for x, _ in last], [i for _, i in last]


@oracle(CHUNKED, "[]f64", "[]f64", "[]f64", "[]f64")
def products(n, k):
    def times(x, y):
        (a, b, c, d), (e, f, g, h) = x, y
        parts = (a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h)
        return tuple(x - 97 * floor(x / 97) for x in parts)

    writes = []
    for i in range(n):
        x = float(i % 7)
        writes += [(i % k, (1.0, x, 0.0, 1.0)), (i * i % (k + 1), (1.0, 0.0, x + 1, 1.0))]
    made = gather([(1.0, 2.0, 0.0, 1.0)] * k, times, writes)
    return tuple([matrix[part] for matrix in made] for part in range(4))


@oracle(CHUNKED, "[]f64")
def nest(n, m, k):
    steps = ((ij, t) for ij in range(n * m) for t in range(ij % 3))
    return gather([0.0] * k, add, (((ij // m + t) % k, (ij % m - t) / 8) for ij, t in steps))
