"""Histograms with the sizes that determine where their bins are stored during accumulation."""

from registry import oracle

PROGRAM = "tests/programs/features/device_histograms.fut"


def spread(k, i):
    return (i * 7919 + i // 13) % (k + 4) - 2


def digest(xs):
    return sum(x * (i % 101 + 1) for i, x in enumerate(xs))


def fold(k, empty, points, op):
    """A histogram of (bin, value) pairs."""
    bins = [empty] * k
    for at, value in points:
        if 0 <= at < k:
            bins[at] = op(bins[at], value)
    return bins


def first_of(a, b):
    return b if a < 0 else a


@oracle(PROGRAM, "i64", "i64")
def counted(n, k):
    counts = fold(k, 0, ((spread(k, i), 1) for i in range(n)), lambda a, b: a + b)
    greatest = fold(k, -1, ((spread(k, i), i) for i in range(n)), max)
    return digest(counts), digest(greatest)


@oracle(PROGRAM, "i64", "i64")
def chosen(n, k):
    first = fold(k, -1, ((spread(k, i), i) for i in range(n)), first_of)
    pairs = ((spread(k, i), (i * 31 % 17, i)) for i in range(n))
    most = fold(k, (-1, -1), pairs, lambda a, b: b if b[0] > a[0] else a)
    return digest(first), digest([i for _, i in most])


@oracle(PROGRAM, "i64")
def halves(n, k):
    return digest(fold(k, 0, ((spread(k, i), i % 17) for i in range(n)), lambda a, b: a + b))


@oracle(PROGRAM, "i64", "i64", "i64")
def rows(s, n, k):
    def all_of(empty, value, op):
        found = []
        for r in range(s):
            found += fold(k, empty, ((spread(k, i + r * 5), value(i, r)) for i in range(n)), op)
        return digest(found)

    add = lambda a, b: a + b  # noqa: E731
    return (
        all_of(0, lambda i, r: i + r, add),
        all_of(-1, lambda i, r: i, first_of),
        all_of(0, lambda i, r: i % 9 + r, add),
    )


@oracle(PROGRAM, "i64", "i64")
def onto(n, h, w):
    sums = [float(y + 1) for y in range(h) for _ in range(w)]
    most = [x for _ in range(h) for x in range(w)]
    for i in range(n):
        y, x = spread(h, i), spread(w, i // 2)
        if 0 <= y < h and 0 <= x < w:
            sums[y * w + x] += i % 5
            most[y * w + x] = max(most[y * w + x], i % 1000)
    return digest([int(x) for x in sums]), digest(most)


@oracle(PROGRAM, "i64")
def checked(n, at):
    return digest(fold(4, 0, ((i % 5, at[i % len(at)]) for i in range(n)), lambda a, b: a + b))
