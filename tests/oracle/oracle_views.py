"""Views of flat arrays, element by element."""

from itertools import product

from futdata import Empty
from registry import oracle

VIEWS = "tests/programs/features/flat_views.fut"


def view(xs, offset, dims):
    """Returns nested lists; `dims` has the size and stride of each dimension."""
    if not dims:
        assert 0 <= offset < len(xs)
        return xs[offset]
    (n, s), *rest = dims
    if n == 0:
        return Empty([n for n, _ in dims])
    return [view(xs, offset + i * s, rest) for i in range(n)]


def put(xs, offset, strides, value):
    xs = list(xs)

    def go(offset, strides, value):
        if not strides:
            xs[offset] = value
            return
        for i, part in enumerate(value):
            go(offset + i * strides[0], strides[1:], part)

    go(offset, strides, value)
    return xs


@oracle(VIEWS, "[][]i32")
def window(xs, o, n1, s1, n2, s2):
    return view(xs, o, [(n1, s1), (n2, s2)])


@oracle(VIEWS, "[][][]i64", "[][]i64")
def cube(n, o, n1, s1, n2, s2, n3, s3):
    v = view([i * i for i in range(n)], o, [(n1, s1), (n2, s2), (n3, s3)])
    return v, [[v[0][j][k] for j in range(n2)] for k in range(n3)]


@oracle(VIEWS, "[][][][]i64")
def four(n, o):
    return view(list(range(n)), o, [(2, 8), (3, 4), (2, 2), (2, 1)])


@oracle(VIEWS, "[][][]i32", "[][]i32", "[][]i32")
def rows(xs):
    first = [[xs[2 * i + j] for j in range(3)] for i in range(2)]
    side = lambda at: [[xs[1 + i + 2 * j][at] for j in range(2)] for i in range(2)]
    return first, side(0), side(1)


@oracle(VIEWS, "[][]i64")
def updated(n):
    return [[0, 100, 2], [1, 2, 3]]


@oracle(VIEWS, "[]i64", "[]i64")
def sums(xs, k):
    n = len(xs)
    return (
        [sum(xs[i : i + k]) for i in range(n - k + 1)],
        [xs[i] + 2 * xs[i + 1] + xs[i + 2] for i in range(n - 2)],
    )


@oracle(VIEWS, "[]i32")
def put_(xs, o, s1, s2, v):
    return put(xs, o, [s1, s2], v)


@oracle(VIEWS, "[][]i64", "[]i64")
def put_rows(n, o):
    v = [[[100 * i + 10 * j + k for k in range(3)] for j in range(2)] for i in range(2)]
    flat = put(range(n), o, [7, 3, 1], v)
    pairs = [[7, 7] for _ in range(n)]
    for i, j in product(range(2), range(2)):
        pairs[o + 6 * i + 2 * j] = v[i][j][:2]
    return pairs, flat


@oracle(VIEWS, "[]i64")
def put_four(n):
    result = list(range(n))
    for at, (i, j, k, l) in enumerate(product(range(2), range(3), range(2), range(2))):
        result[39 - 14 * i - 4 * j - 2 * k - l] = 100 + at
    return result


@oracle(VIEWS, "[][]i64")
def antidiagonals(n):
    grid = [[1] * (n + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            grid[i][j] = (grid[i - 1][j] + grid[i][j - 1]) % 1000 if i + j <= n + 1 else 0
    return [row[1:] for row in grid[1:]]


@oracle(VIEWS, "[][]i64")
def triangles(k, n):
    return [
        put([0] * n, i, [3, 1], [[i + 1] * (i + 1) for _ in range(2)]) for i in range(k)
    ]


@oracle(VIEWS, "[]i64")
def put_tiles(n, o, s1, s2):
    value = [[[100 * i + 10 * j + k for k in range(2)] for j in range(2)] for i in range(3)]
    return put([7] * n, o, [s1, s2, 1], value)


@oracle(VIEWS, "[]i64", "[]i64")
def put_back(k):
    value = [[10 * i + j for j in range(3)] for i in range(3)]
    return put(range(k, k + 10), 9, [-2, -2], value), put(range(k, k + 12), 8, [1, -3], value)
