"""Reductions of literals of arrays."""

from registry import oracle

PROGRAM = "tests/programs/features/row_literals.fut"


def wrapped(number):
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


def numbers(n, k):
    return [(i * 37 + k * 11) % 101 - 50 for i in range(n)]


def weigh(xs):
    return wrapped(sum((i % 13 + 1) * x for i, x in enumerate(xs)))


@oracle(PROGRAM, "i32", "i32")
def composed(n):
    factors, terms = [], []
    for a, b, c in zip(numbers(n, 1), numbers(n, 2), numbers(n, 3), strict=True):
        at = [((0 * a + b) * b + c) * c + a, ((1 * a + b) * b + c) * c + a]
        factors.append(at[1] - at[0])
        terms.append(at[0])
    return weigh(factors), weigh(terms)


@oracle(PROGRAM, "i32")
def smoothed(n, m):
    grid = [numbers(m, i) for i in range(n)]
    around = [(y, x) for y in (-1, 0, 1) for x in (-1, 0, 1)]
    sums = [[sum(grid[(i + y) % n][(j + x) % m] for y, x in around) for j in range(m)] for i in range(n)]
    return weigh([weigh(row) for row in sums])


@oracle(PROGRAM, "i32", "i32", "i32")
def pairs(n, k):
    rows = list(zip(numbers(n, 5), numbers(n, 6), strict=True))
    return weigh([max(row) for row in rows]), 1 + k + 3, weigh([weigh(row) for row in rows])


@oracle(PROGRAM, "i32", "i32")
def updated(n):
    a, b = numbers(n, 7), numbers(n, 8)
    changed = list(a)
    changed[n // 2] = 1000
    return weigh(changed), weigh([x + y for x, y in zip(a, b, strict=True)])
