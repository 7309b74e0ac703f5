"""Recursive higher-order functions."""

from registry import oracle

RECURSION = "tests/programs/features/recursion_functions.fut"


def repeat(n, f, x):
    for _ in range(n):
        x = f(x)
    return x


@oracle(RECURSION, "[]i64", "[]i64", "i64")
def several(n, x, xs):
    step = lambda y: xs[y % len(xs)]
    fs = [
        lambda y: y + 1,
        lambda y: y * 2 + x,
        lambda y: y + x,
        lambda y: x - y,
        lambda y: -y,
        lambda y: step(step(y)),
        lambda y: y + sum(xs),
    ]
    pair = repeat(n, lambda p: (p[1], p[0] + p[1]), (0, x))
    return [repeat(n, f, x) for f in fs], [y + n * x for y in xs], pair[1]


@oracle(RECURSION, "i64")
def within(n, k):
    return sum(x * k + 1 for x in range(1, n + 1))


@oracle(RECURSION, "i64")
def record(n, k):
    return repeat(n, lambda x: x % 1000 + k + 3 * x, 1)


@oracle(RECURSION, "[]i64", "i64", "i64", "[]i64")
def trees(n, xs):
    def sums(g, n):
        return sum(g(x) + sums(g, n - 1) for x in range(n)) if n else 0

    def sieve(p, xs):
        if not xs:
            return 0
        return xs[0] + sieve(p, [x for x in xs[1:] if p(xs[0], x)])

    return (
        [sums(lambda x, k=k: x + k, k) for k in range(n)],
        sieve(lambda a, b: a < b + n - 4, xs),
        sieve(lambda a, b: (a + b + len(xs)) % 2 == 1, xs),
        [repeat(x, lambda y: y + xs[y % len(xs)], 0) for x in xs],
    )


@oracle(RECURSION, "[]i64", "[]i64")
def fill(n):
    squares = [i * i for i in range(n)]
    return squares, squares[::-1]


@oracle(RECURSION, "i64", "i64")
def perhaps(n):
    return 100 - n, 100 + n * n


@oracle(RECURSION, "i64", "i64")
def checked(n, k):
    return n * k, n + k


@oracle(RECURSION, "i64")
def missing(_, n):
    return n



@oracle(RECURSION, "i64")
def generic(n, k):
    return sum(i + k + k * (i + k) for i in range(1, n + 1))
