"""The programs of `bench/programs/nests` with data from papers, in doubles, by other methods where
there are some.

Their expected values have six decimals, as printed by the reference compiler's executables.
"""

import cmath
import math
from datetime import date
from itertools import accumulate
from statistics import NormalDist

from registry import oracle

NESTS = "bench/programs/nests/"


def printed(values):
    return [printed(v) if isinstance(v, list) else round(v, 6) for v in values]


@oracle(NESTS + "lava_md.fut", *["[][]f32"] * 4)
def main(alpha, _x, _y, _z, places, _nx, _ny, _nz, neighbours, counts, vs, xs, ys, zs, charges):
    boxes = [list(zip(*rows)) for rows in zip(vs, xs, ys, zs)]

    def force(box, a):
        near = [box] + [row[box] for row in neighbours[:counts[box]]]
        parts = []
        for place in (places[other] for other in near):
            for b, charge in zip(boxes[place], charges[place]):
                distance = a[0] + b[0] - sum(p * q for p, q in zip(a[1:], b[1:]))
                strength = charge * math.exp(-2 * alpha**2 * distance)
                parts.append([strength] + [2 * strength * (p - q) for p, q in zip(a[1:], b[1:])])
        return [math.fsum(column) for column in zip(*parts)]

    forces = [[force(box, a) for a in particles] for box, particles in enumerate(boxes)]
    return [printed([[f[k] for f in row] for row in forces]) for k in range(4)]


def second_derivative(grid):
    """Factors of the previous, current and next grid point; 0 at both ends."""
    factors = [(0.0, 0.0, 0.0)]
    for a, b, c in zip(grid, grid[1:], grid[2:]):
        before, after = 2 / (b - a) / (c - a), 2 / (c - b) / (c - a)
        factors.append((before, -before - after, after))
    return factors + factors[:1]


def scaled(factors, by):
    return [tuple(c * f for f in fs) for fs, c in zip(factors, by)]


def applied(factors, row):
    padded = [0.0, *row, 0.0]
    return [sum(f * x for f, x in zip(fs, padded[i:])) for i, fs in enumerate(factors)]


def solved(rate, factors, row):
    """Solves the tridiagonal system `rate x - factors x / 2 = row` by Thomas's algorithm."""
    slopes, shifts = [0.0], [0.0]
    for (before, at, after), y in zip(factors, row):
        pivot = rate - at / 2 + before / 2 * slopes[-1]
        shifts.append((y + before / 2 * shifts[-1]) / pivot)
        slopes.append(-after / 2 / pivot)
    x = [0.0]
    for slope, shift in zip(slopes[:0:-1], shifts[:0:-1]):
        x.append(shift - slope * x[-1])
    return x[:0:-1]


def turned(rows):
    return [list(column) for column in zip(*rows)]


def local_volatility(nx, ny, nt, s0, t, alpha, nu, beta, strike):
    hx, hy = 20 * alpha * s0 * math.sqrt(t) / nx, 10 * nu * math.sqrt(t) / ny
    x0, y0 = int(s0 / hx), ny // 2
    xs = [s0 + (i - x0) * hx for i in range(nx)]
    ys = [math.log(alpha) + (i - y0) * hy for i in range(ny)]
    rate = (nt - 1) / t
    along_y = scaled(second_derivative(ys), [nu**2 / 2] * ny)
    values = [[max(x - strike, 0.0) for x in xs] for _ in ys]
    for step in reversed(range(nt - 1)):
        shift = nu**2 / 2 * step / rate
        along_x = [scaled(second_derivative(xs), [(math.exp(y - shift) * x**beta) ** 2 / 2 for x in xs]) for y in ys]
        from_y = turned([applied(along_y, column) for column in turned(values)])
        half = []
        for factors, row, other in zip(along_x, values, from_y):
            right = [rate * v + d / 2 + o for v, d, o in zip(row, applied(factors, row), other)]
            half.append(solved(rate, factors, right))
        rest = [[rate * u - v / 2 for u, v in zip(*rows)] for rows in zip(half, from_y)]
        values = turned([solved(rate, along_y, column) for column in turned(rest)])
    return values[y0][x0]


@oracle(NESTS + "local_volatility.fut", "[]f32")
def main_(strikes, *model):
    return printed([local_volatility(*model, 0.001 * k) for k in range(strikes)])


def sobol(directions, i):
    chosen = i ^ (i >> 1)
    number = 0
    for bit, direction in enumerate(directions):
        if chosen >> bit & 1:
            number ^= direction
    return number / 2 ** len(directions)


def motion(places, weights, noise):
    levels = {0: 0.0}
    for place, left, right, (deviation, *shares), x in zip(*places, zip(*weights), noise):
        levels[place] = deviation * x + shares[0] * levels[left] + shares[1] * levels[right]
    path = [levels[k] for k in range(len(levels))]
    return [b - a for a, b in zip(path, path[1:])]


def path_of(correlation, volatility, drift, start, steps):
    """A path of prices, whose logarithms are sums over the dates."""
    logarithms = []
    for step, vols, drifts in zip(steps, volatility, drift):
        shocks = [sum(s * c for s, c in zip(step[:j + 1], row)) for j, row in enumerate(correlation)]
        logarithms.append([d + s * v for d, s, v in zip(drifts, shocks, vols)])
    sums = zip(*map(accumulate, zip(*logarithms)))
    return [[s * math.exp(x) for s, x in zip(start, row)] for row in sums]


@oracle(NESTS + "option_pricing.fut", "[]f32")
def main__(contract, paths, directions, correlations, volatilities, drifts, starts, values, discounts, places, weights):
    assert contract == 1, "a call on one asset"
    dates, assets = len(places[0]), len(starts[0])
    models = list(zip(correlations, volatilities, drifts, starts))
    totals = [0.0] * len(models)
    for i in range(1, paths + 1):
        noise = [NormalDist().inv_cdf(sobol(d, i)) for d in directions]
        steps = turned([motion(places, weights, noise[k::assets]) for k in range(assets)])
        assert len(steps) == dates
        for m, model in enumerate(models):
            price = path_of(*model, steps)[0][0]
            totals[m] += max(0.0, (price - 4000) * values[m][0]) * discounts[m][0]
    return printed([total / paths for total in totals])


def laguerre(n):
    """Points and weights of Gauss-Laguerre quadrature; the points are found between sign changes
    of the polynomial."""

    def at(x, degree):
        this, before = 1.0, 0.0
        for k in range(degree):
            this, before = ((2 * k + 1 - x) * this - k * before) / (k + 1), this
        return this

    grid = [i / 64 for i in range(64 * 4 * n + 1)]
    points = []
    for low, high in zip(grid, grid[1:]):
        if at(low, n) * at(high, n) < 0:
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (low, middle) if at(low, n) * at(middle, n) <= 0 else (middle, high)
            points.append(low)
    assert len(points) == n
    return [(x, math.exp(x) * x / (n * at(x, n - 1)) ** 2) for x in points]


def characteristic(t, u, start, long, speed, volatility, correlation):
    beta = speed - correlation * volatility * 1j * u
    d = cmath.sqrt(beta**2 + volatility**2 * (1j * u + u**2))
    g, decay = (beta - d) / (beta + d), cmath.exp(-d * t)
    growth = (beta - d) * t - 2 * cmath.log((1 - g * decay) / (1 - g))
    today = (beta - d) * (1 - decay) / (1 - g * decay)
    return cmath.exp((speed * long * growth + start * today) / volatility**2)


def call(quadrature, t, strike, model):
    def term(x):
        return (characteristic(t, x - 0.5j, *model) * strike ** (-1j * x)).real / (x**2 + 0.25)

    price = 1 - math.sqrt(strike) / math.pi * sum(weight * term(x) for x, weight in quadrature)
    return max(0.0, 1 - strike, min(1.0, price))


def black_scholes(t, strike, volatility):
    normal, spread = NormalDist(), volatility * math.sqrt(t)
    d = spread / 2 - math.log(strike) / spread
    return normal.cdf(d) - strike * normal.cdf(d - spread), math.sqrt(t) * normal.pdf(d)


def day(number):
    return date(number // 10000, number // 100 % 100, number % 100)


@oracle(NESTS + "heston.fut", "[]f32")
def errors(points, today, maturities, strikes, volatilities):
    quadrature, model = laguerre(points), (0.1, 0.2, 1.0, 0.5, -0.5)
    results = []
    for maturity, strike, volatility in zip(maturities, strikes, volatilities):
        t = (day(maturity) - day(today)).days / 365
        price, vega = black_scholes(t, strike, volatility)
        results.append((call(quadrature, t, strike, model) - price) / max(0.1, vega))
    return printed(results)
