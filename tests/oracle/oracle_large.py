"""Operations on many elements, and failures among many elements."""

import math
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

from futdata import wrap
from registry import oracle

LARGE = "tests/programs/features/large.fut"
FAILING = "tests/programs/failures/failing_iterations.fut"
BEYOND = "tests/programs/failures/beyond_reference.fut"


def exact(i):
    return Fraction((i * 7919) % 10007 - 5000, i % 97 + 1)


@lru_cache(None)
def value(i):
    return float(exact(i))


def small(i):
    return (i * 7919) % 11 - 5


@oracle(LARGE, "f64", "f64", "f32")
def sums(n):
    products = math.fsum(value(i) * value(n - i) for i in range(n))
    return math.fsum(map(value, range(n))), products, max(map(value, range(n)))


def compositions(n):
    """All prefixes of the composition, each wrapped to 32 bits."""
    a, b = 1, 0
    for i in range(n):
        c, d = 2 * small(i) + 1, small(i + 1)
        a, b = wrap(a * c, "i32"), wrap(b * c + d, "i32")
        yield a, b


@oracle(LARGE, "f64", "f64", "[]f64", "[]f32")
def compose_floats(n, places):
    steps = [(Fraction(9995, 10000) + Fraction(small(i), 10000), exact(i)) for i in range(n)]
    a, bs = composed([(float(x), float(y)) for x, y in steps])
    factors = [float(Fraction(998, 1000) * (1 + Fraction(small(i), 1000))) for i in range(n)]
    _, cs = composed([(x, float(small(i + 1))) for i, x in enumerate(factors)])
    return a, bs[-1], [bs[p] for p in places], [cs[p] for p in places]


def composed(steps):
    """The product of all factors, and 0 under all prefixes of the composition."""
    a, b, bs = 1.0, 0.0, []
    for c, d in steps:
        a, b = a * c, b * c + d
        bs.append(b)
    return a, bs


@oracle(LARGE, "i32", "i32")
def compose(n):
    return list(compositions(n))[-1]


@oracle(LARGE, "[]f64", "[]i32", "[]i32")
def running(n, places):
    totals = list(accumulate(exact(i) for i in range(n)))
    pairs = list(compositions(n))
    return [[float(totals[p]) for p in places], *([pairs[p][k] for p in places] for k in (0, 1))]


@oracle(LARGE, "i64", "i64", "i64")
def kept(n, least):
    xs = [i for i in range(n) if small(i) >= least]
    return len(xs), sum(xs), xs[-1] if xs else -1


@oracle(LARGE, "f64", "f64", "f64")
def rows(n, m):
    xss = [[value(i * m + j) for j in range(m)] for i in range(n)]
    return (
        math.fsum(xss[n // 2]), math.fsum(max(xs) for xs in xss),
        math.fsum(xs[m // 3] for xs in xss),
    )


@oracle(LARGE, "bool", "i64", "i32")
def moved(n):
    inverse = {(i * 7919) % n: i for i in range(n)}
    assert len(inverse) == n
    return True, inverse[1], sum(small(i) for i in range(n))


@oracle(LARGE, "f64")
def steps(n, k):
    """The middle element, as a sum over the elements that reach it in k steps."""
    weights = {0: 1}
    for _ in range(k):
        wider = {}
        for at, weight in weights.items():
            for step in (-1, 0, 1):
                wider[at + step] = wider.get(at + step, 0) + weight
        weights = wider
    terms = (exact((n // 2 + at) % n) * weight for at, weight in weights.items())
    return float(sum(terms) / 3**k)


@oracle(FAILING, "i64")
def map_index(n, bad):
    return n - 1


@oracle(FAILING, "i64")
def reduce_division(n, bad):
    return sum(100 // k for k in range(1, n + 1))


@oracle(BEYOND, "i64")
def scan_assert(n, bad):
    return sum((i * 7919) % n for i in range(n))


@oracle(FAILING, "i64")
def hist_index(n, bad):
    return -(-n // 7)


@oracle(FAILING, "i64")
def scatter_index(n, bad):
    return 0


@oracle(FAILING, "i64")
def inner(n, m, bad):
    return (n - 1) * (m // 2 + 1)
