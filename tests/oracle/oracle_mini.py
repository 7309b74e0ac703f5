"""The nine mini-benchmarks, by plain loops."""

import math

from futdata import f32, wrap
from registry import oracle

MINI = "bench/programs/mini.fut"


@oracle(MINI, "i32")
def reduce_plus(a):
    return sum(a)


@oracle(MINI, "i32")
def reduce_max(a):
    return max(a, default=-(2**31))


@oracle(MINI, "i32")
def index_of_max(a):
    return a.index(max(a)) if a else 2**31 - 1


@oracle(MINI, "i32")
def index_of_max_pack(a):
    return index_of_max(a)


def matrix(x):
    return [[x >> 24 & 255, x >> 16 & 255], [x >> 8 & 255, x & 255]]


@oracle(MINI, "i32")
def reduce_2x2mm(a):
    s = 1
    for _ in range(42):
        acc = [[1, 0], [0, 1]]
        for x in a:
            m = matrix(x + s)
            acc = [
                [sum(acc[i][k] * m[k][j] for k in range(2)) & 255 for j in range(2)]
                for i in range(2)
            ]
        (p, q), (r, t) = acc
        s = wrap(p << 24 | q << 16 | r << 8 | t, "i32")
    return s


@oracle(MINI, "i32")
def mssp(xs):
    runs = [xs[i:j] for i in range(len(xs)) for j in range(i, len(xs) + 1)]
    return max(map(sum, runs), default=0)


@oracle(MINI, "[]i32")
def scan_plus(a):
    return [sum(a[:i + 1]) for i in range(len(a))]


@oracle(MINI, "f32", "f32", "f32", "[]f32", "[]f32")
def redomap_nt(a, b, n):
    x = [f32(1 / f32(1 + f32(i * a))) for i in range(n)]
    y = [f32(math.exp(f32(-b * xi))) for xi in x]
    t0 = math.fsum(f32(p + q) for p, q in zip(x, y))
    v = [f32(math.exp(f32(xi * a))) for xi in x]
    w = [f32(yi / f32(yi + b)) for yi in y]
    return t0, min(x, default=math.inf), max(y, default=-math.inf), v, w


def normal_cdf(d):
    """Abramowitz and Stegun 26.2.17, as in the program, since its error affects the sixth digit."""
    k = 1 / (1 + 0.2316419 * abs(d))
    factors = [0.319381530, -0.356563782, 1.781477937, -1.821255978, 1.330274429]
    poly = sum(f * k ** (i + 1) for i, f in enumerate(factors))
    tail = math.exp(-d * d / 2) / math.sqrt(2 * math.pi) * poly
    assert abs(tail - math.erfc(abs(d) / math.sqrt(2)) / 2) < 1e-7
    return 1 - tail if d > 0 else tail


@oracle(MINI, "f64")
def black_scholes(n):
    total = []
    for i in range(n):
        spot, strike, years = 58 + 14 * i / n, 65, (30 + 3620 * i / n) / 365
        spread = 0.30 * math.sqrt(years)
        d1 = (math.log(spot / strike) + (0.08 + 0.045) * years) / spread
        total.append(
            spot * normal_cdf(d1)
            - strike * math.exp(-0.08 * years) * normal_cdf(d1 - spread)
        )
    return math.fsum(total)
