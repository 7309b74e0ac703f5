"""Loops that update matrices, one element after another; inverses by solving a linear system."""

from registry import oracle

PROGRAM = "tests/programs/features/composed_iterations.fut"


def i32(x):
    return (x + 2**31) % 2**32 - 2**31


def i64(x):
    return (x + 2**63) % 2**64 - 2**63


def weigh(rows):
    return i64(sum(x * ((i * 31 + j * 17) % 101 + 1) for i, row in enumerate(rows) for j, x in enumerate(row)))


def along(n, m, a, b, c):
    return [[(i * a + j * b + i * j % 7) % c - 3 for j in range(m)] for i in range(n)]


def regular(n, step):
    large = [i * step % n for i in range(n)]
    return [
        [((i * 7 + j * 13 + i * j) % 17 - 8) / 4 + (4 * n if j == large[i] else 0) for j in range(n)]
        for i in range(n)
    ]


def some(rows):
    n = len(rows)
    return [rows[t * 31 % n][t * 17 % n] for t in range(8)]


def solved(a, right):
    """The solution of a linear system, by elimination with pivots and substitution."""
    n = len(a)
    a = [row + [x] for row, x in zip(a, right)]
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(a[i][k]))
        a[k], a[pivot] = a[pivot], a[k]
        for i in range(k + 1, n):
            factor = a[i][k] / a[k][k]
            a[i] = [x - factor * y for x, y in zip(a[i], a[k])]
    xs = [0.0] * n
    for i in reversed(range(n)):
        xs[i] = (a[i][n] - sum(a[i][j] * xs[j] for j in range(i + 1, n))) / a[i][i]
    return xs


@oracle(PROGRAM, "[]f64")
def inverse(n, step):
    """A column of the inverse is the solution for a column of the identity."""
    columns = [solved(regular(n, step), [float(i == j) for i in range(n)]) for j in range(n)]
    return some(list(zip(*columns)))


@oracle(PROGRAM, "[]f64")
def inverse_along_diagonal(n):
    return inverse(n, 1)


@oracle(PROGRAM, "[]f64")
def triangular(n, steps):
    a = regular(n, 1)
    for k in range(steps):
        for i in range(k + 1, n):
            factor = a[i][k] / a[k][k]
            a[i] = a[i][:k] + [factor] + [x - factor * y for x, y in zip(a[i][k + 1:], a[k][k + 1:])]
    return some(a)


def paths(n, steps):
    direct = along(n, n, 31, 17, 97)
    for k in range(steps):
        before = [list(row) for row in direct]
        for i in range(n):
            for j in range(n):
                direct[i][j] = min(before[i][j], i32(before[i][k] + before[k][j]))
    return direct


@oracle(PROGRAM, "i64")
def shortest_paths(n, steps):
    return weigh(paths(n, steps))


@oracle(PROGRAM, "i64")
def too_many(n, steps):
    return weigh(paths(n, steps))


@oracle(PROGRAM, "i64")
def without_quotients(n, m, steps):
    a = along(n, m, 5, 3, 11)
    for k in range(steps):
        for i in range(k + 1, n):
            factor = a[i][k]
            a[i] = [i32(x * a[k][k] - factor * y) for x, y in zip(a[i], a[k])]
    return weigh(a)


@oracle(PROGRAM, "i64")
def rotated(n, m, steps):
    a = along(n, m, 5, 3, 11)
    for k in range(steps):
        top = a[k]
        a = [[i32(x * 3 + y) for x, y in zip(row, top)] for row in a[1:] + a[-1:]]
    return weigh(a)


@oracle(PROGRAM, "i64")
def outer_products(n, m, steps):
    a = along(n, m, 5, 3, 11)
    for k in range(steps):
        a = [[i32(a[i][k] * a[k][j] + i - j) for j in range(m)] for i in range(n)]
    return weigh(a)


@oracle(PROGRAM, "i64", "i32", "i64")
def with_diagonal(n, steps):
    a, diagonal, total = along(n, n, 5, 3, 11), [1] * n, 0
    for k in range(steps):
        top, pivot, corner = a[k], a[k][k], a[n - 1][k]
        a = [[i32(x + weight * y) for x, y in zip(row, top)] for row, weight in zip(a, diagonal)]
        diagonal[k] = i32(pivot + diagonal[0])
        total = i32(total * 3 + corner)
    return weigh(a), total, i64(sum(x * (i + 1) for i, x in enumerate(diagonal)))


@oracle(PROGRAM, "i64", "i64")
def last_two(n, steps):
    a = before = along(n, n, 5, 3, 11)
    for k in range(steps):
        before = a
        a = [[i32(x + y) for x, y in zip(a[k], row)] for row in a]
    return weigh(a), weigh(before)


@oracle(PROGRAM, "i64", "i64")
def two_matrices(n, m, steps):
    a, b = along(n, n, 5, 3, 11), along(m, n, 3, 7, 13)
    for k in range(steps):
        top, column = a[k], [row[k] for row in a]
        a = [[i32(x * 3 - y * row[k]) for x, y in zip(row, top)] for row in a]
        b = [[i32(x + y) for x, y in zip(row, column)] for row in b]
    return weigh(a), weigh(b)


@oracle(PROGRAM, "i64")
def chosen(n, steps, limit):
    a = along(n, n, 5, 3, 11)
    for k in range(steps):
        least = min(row[k] & 63 for row in a)
        top = a[k]
        a = [[(x - y + least) & 1023 for x, y in zip(row, top)] for row in a]
    return weigh(a)


@oracle(PROGRAM, "i64")
def averages(n, m, steps):
    """Quotients round towards negative infinity, as in Python."""
    a = along(n, m, 5, 3, 11)
    for _ in range(steps):
        before = a
        a = [list(row) for row in a]
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                a[i][j] = (before[i - 1][j] + before[i + 1][j] + before[i][j - 1] + before[i][j + 1]) // 4
    return weigh(a)


@oracle(PROGRAM, "[]f64")
def inverse_by_products(n):
    return inverse(n, 1)
