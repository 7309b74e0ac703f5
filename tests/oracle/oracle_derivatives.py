"""Derivatives by complex steps, and by hand where a function is not analytic."""

import cmath
import math
from itertools import accumulate

from registry import oracle

REVERSE = "tests/programs/derivatives/reverse.fut"
FORWARD = "tests/programs/derivatives/forward.fut"
STEP = 1e-200


def gradient(f, xs):
    """The gradient of an analytic function of a list, to the last digit."""
    result = []
    for i in range(len(xs)):
        moved = list(xs)
        moved[i] = complex(xs[i], STEP)
        result.append(complex(f(moved)).imag / STEP)
    return result


def gradients(f, xss, ys):
    """The gradients by a matrix and a list."""
    n, m = len(xss), len(ys)
    flat = [x for xs in xss for x in xs] + list(ys)

    def of_flat(flat):
        return f([flat[i * m : (i + 1) * m] for i in range(n)], flat[n * m :])

    found = gradient(of_flat, flat)
    return [found[i * m : (i + 1) * m] for i in range(n)], found[n * m :]


def real(x):
    return x.real if isinstance(x, complex) else x


@oracle(REVERSE, "[]f64")
def of_map(xs):
    return gradient(
        lambda xs: 2 * sum(cmath.sin(x) * cmath.exp(x / 2) + x * x * x / (x * x + 1) for x in xs), xs
    )


@oracle(REVERSE, "[]f64")
def of_product(xs):
    return [1.5 * math.prod(x for j, x in enumerate(xs) if j != i) for i in range(len(xs))]


@oracle(REVERSE, "[]f64")
def of_extremes(xs):
    result = [0.0] * len(xs)
    if xs:
        squares = [x * x for x in xs]
        at = squares.index(max(squares))
        result[at] += 2 * xs[at]
        result[list(xs).index(min(xs))] -= 3
    return result


@oracle(REVERSE, "[]f64")
def of_linear_recurrence(xs):
    def f(xs):
        a, b, total = 1, 0, 0
        for x in xs:
            a, b = a * cmath.cos(x), b * cmath.cos(x) + x
            total += a + b * x
        return total

    return gradient(f, xs)


@oracle(REVERSE, "[]f64")
def of_matrix_scan(xs):
    def f(xs):
        a, b, c, d = 1, 0, 0, 1
        total = 0
        for x in xs:
            e, g, h, k = 1 + x / 8, x, -x / 4, 1 - x / 8
            a, b, c, d = a * e + b * h, a * g + b * k, c * e + d * h, c * g + d * k
            total += a + 2 * b - c * d
        return total

    return gradient(f, xs)


@oracle(REVERSE, "[]f64")
def of_sums(xs):
    return gradient(lambda xs: sum(x * s * s for x, s in zip(xs, accumulate(xs))), xs)


@oracle(REVERSE, "[]f64")
def of_loop(xs):
    def f(xs):
        ys = list(xs)
        for i in range(len(ys)):
            ys[i] = cmath.sin(ys[i] + ys[i - 1])
        return sum(x * y for x, y in zip(xs, ys))

    return gradient(f, xs)


@oracle(REVERSE, "[]f64")
def of_updates(xs):
    def f(xs):
        ys = list(xs)
        for _ in range(3):
            for i in range(len(ys) - 2):
                if real(ys[i]) > 0:
                    ys[i + 1] = (ys[i] * ys[i + 2] + ys[i + 1]) / 3
                elif i % 3 != 0:
                    ys[i] = ys[i + 1] * 2
                    ys[i + 2] = ys[i] * ys[i + 1]
        return sum(y * y for y in ys)

    return gradient(f, xs)


@oracle(REVERSE, "[][]f64", "[]f64")
def of_elimination(xss, ys):
    def f(xss, ys):
        n = len(xss)
        a = [
            [sum(x * z * y * y for x, z, y in zip(xss[i], xss[j], ys)) + 2 * (i == j) for j in range(n)]
            for i in range(n)
        ]
        for k in range(n):
            for i in range(k + 1, n):
                a[i][k] = a[i][k] / a[k][k]
                for j in range(k + 1, n):
                    a[i][j] = a[i][j] - a[i][k] * a[k][j]
        return sum(cmath.log(a[i][i]) for i in range(n)) + a[n - 1][0]

    return gradients(f, xss, ys)


@oracle(REVERSE, "f64", "f64")
def of_poles(x):
    derivative = 1.0 if x <= 0 else 0.5 / math.sqrt(x) - 1 / (x * x)
    return derivative, derivative


@oracle(REVERSE, "[][]f64", "[][]f64")
def of_products(xs):
    n = len(xs)

    def others(*indices):
        return math.prod(x for k, x in enumerate(xs) if k not in indices)

    hessian = [[0.0 if i == j else float(others(i, j)) for j in range(n)] for i in range(n)]
    even = [x for k, x in enumerate(xs) if k % 2 == 0]
    of_bins = [
        [
            0.0
            if i == j or i % 2 or j % 2
            else float(math.prod(x for k, x in enumerate(even) if 2 * k not in (i, j)))
            for j in range(n)
        ]
        for i in range(n)
    ]
    return hessian, of_bins


@oracle(REVERSE, "[][]f64", "[]f64")
def of_triangle(xss, ys):
    def f(xss, ys):
        a, m = [list(xs) for xs in xss], len(ys)
        for i in range(len(a)):
            for j in range(i):
                a[i][j % m] = a[j][i % m] * ys[0] + a[j][j % m]
        return sum(x * x for xs in a for x in xs)

    return gradients(f, xss, ys)


@oracle(REVERSE, "[][]f64", "[]f64")
def of_states(xss, ys):
    def f(xss, ys):
        a, g, n, m = [list(xs) for xs in xss], list(ys), len(xss), len(ys)
        for i in range(4):
            for j in range(n):
                if j % 2 == 0:
                    a[i % n][j % m] = a[j % n][i % m] * g[0] + a[0][0]
            c = a[0][0] / 10
            g = [y * y / 4 + c for y in g]
        return sum(x for xs in a for x in xs) + sum(g)

    return gradients(f, xss, ys)


@oracle(REVERSE, "[]f64")
def of_branches(xs):
    def g(x, xs):
        if real(x) > 0:
            return x * x + xs[0]
        return x * xs[-1] if real(x) < -1 else 3 * x

    return gradient(lambda xs: sum(g(x, xs) for x in xs), xs)


@oracle(REVERSE, "[]f64")
def of_powers(xs):
    def f(xs):
        total, power = 0, 1
        while real(power) < 30:
            total, power = total + power * xs[0], power * 2 + xs[-1]
        return total

    return gradient(f, xs)


@oracle(REVERSE, "[]f64")
def of_gather(xs, indices):
    n = len(xs)
    return gradient(
        lambda xs: sum(x * xs[i % n] + cmath.sin(xs[(i * 3) % n]) for x, i in zip(xs, indices)), xs
    )


@oracle(REVERSE, "[]f64")
def of_scatter(xs, indices):
    def f(xs):
        result = [2 * x for x in xs]
        for x, i in zip(xs, indices):
            if 0 <= i < len(xs):
                result[i] = x * x
        return sum(i * x for i, x in enumerate(result))

    return gradient(f, xs)


def bins(start, op, indices, values):
    result = list(start)
    for i, x in zip(indices, values):
        if i < len(result):
            result[i] = op(result[i], x)
    return sum((i + 1) * x for i, x in enumerate(result))


@oracle(REVERSE, "[]f64")
def of_sum_bins(xs, indices):
    return gradient(
        lambda xs: bins([2 * x for x in xs], lambda x, y: x + y, indices, [x * x for x in xs]), xs
    )


@oracle(REVERSE, "[]f64")
def of_least_bins(xs, indices):
    def least(x, y):
        return x if real(x) <= real(y) else y

    return gradient(lambda xs: bins([1.75] * len(xs), least, indices, xs), xs)


@oracle(REVERSE, "[]f64")
def of_product_bins(xs, indices):
    return gradient(lambda xs: bins([x + 1 for x in xs], lambda x, y: x * y, indices, xs), xs)


@oracle(REVERSE, "[]f64")
def of_general_bins(xs, indices):
    return gradient(
        lambda xs: bins(xs, lambda x, y: x * y + x + y, indices, [2 * x for x in xs]), xs
    )


@oracle(REVERSE, "[][]f64", "[]f64")
def of_matrix_product(xss, ys):
    def f(xss, ys):
        return sum(
            cmath.sin(sum(x * z * y for x, z, y in zip(xs, zs, ys))) for xs in xss for zs in xss
        )

    return gradients(f, xss, ys)


@oracle(REVERSE, "[][]f64", "[]f64")
def of_rows(xss, ys):
    def f(xss, ys):
        columns = list(zip(*xss))
        sums = [y + sum(column) for column, y in zip(columns, ys)]
        products = [math.prod(column) for column in columns]
        return sum(s * p for s, p in zip(sums, products)) + sum(sum(c) * sum(c) for c in columns)

    return gradients(f, xss, ys)


@oracle(REVERSE, "[][]f64", "[]f64")
def of_softmax(xss, ys):
    def f(xss, ys):
        total = 0
        for xs in xss:
            es = [cmath.exp(x) for x in xs]
            total += cmath.log(sum(e / sum(es) * y * y for e, y in zip(es, ys)))
        return total

    return gradients(f, xss, ys)


def example(xs):
    y, ys = 0, []
    for x in xs:
        s = cmath.sin(x)
        y = y * s / 2 + y + s
        ys.append(y)
    z = 1
    for y in ys:
        z = z * cmath.cos(y) + y
    return z * sum(y * x for y, x in zip(ys, xs))


@oracle(FORWARD, "[]f64", "[]f64")
def gradients_(xs):
    return gradient(example, xs), gradient(example, xs)


@oracle(FORWARD, "[]f64", "[][]f64")
def directions(xs):
    rows = [
        gradient(lambda xs, i=i: math.prod(cmath.sin(x) for x in xs[: i + 1]), xs)
        for i in range(len(xs))
    ]
    return gradient(example, xs), rows


class Dual:
    """A value with its derivative, over complex numbers."""

    def __init__(self, x, dx=0):
        self.x, self.dx = x, dx

    def __add__(self, other):
        other = dual(other)
        return Dual(self.x + other.x, self.dx + other.dx)

    __radd__ = __add__

    def __mul__(self, other):
        other = dual(other)
        return Dual(self.x * other.x, self.x * other.dx + self.dx * other.x)

    __rmul__ = __mul__

    def __truediv__(self, number):
        return Dual(self.x / number, self.dx / number)


def dual(x):
    return x if isinstance(x, Dual) else Dual(x)


def dual_example(xs):
    y, ys = Dual(0), []
    for x in xs:
        s = Dual(cmath.sin(x.x), cmath.cos(x.x) * x.dx)
        y = y * s / 2 + y + s
        ys.append(y)
    z = Dual(1)
    for y in ys:
        z = z * Dual(cmath.cos(y.x), -cmath.sin(y.x) * y.dx) + y
    return z * sum((y * x for y, x in zip(ys, xs)), Dual(0))


@oracle(FORWARD, "[][]f64", "[][]f64", "[][]f64")
def hessians(xs):
    rows = [
        gradient(lambda xs, i=i: dual_example([Dual(x, float(i == j)) for j, x in enumerate(xs)]).dx, xs)
        for i in range(len(xs))
    ]
    return rows, rows, rows


@oracle(FORWARD, "[]f64", "f64")
def own_derivative(xs, c):
    return [c * x for x in xs], 0.0


@oracle(FORWARD, "[]f64", "[]f64")
def of_calls(xs):
    def f(xs):
        return sum(cmath.exp(-x * x * xs[0]) for x in xs) * xs[-1] * xs[-1] * xs[-1]

    return gradient(f, xs), gradient(f, xs)


@oracle(FORWARD, "f64", "f64")
def of_sums_types(is_circle, a, b):
    return (2 * math.pi * a, 0.0) if is_circle else (b, a)


EULER = 0.5772156649015329
APERY = 1.2020569031595942


@oracle(FORWARD, *["[]f64"] * 4)
def of_gamma(xs):
    """Closed forms at half-integers."""
    results = [[], [], [], []]
    for x in xs:
        n = round(abs(x - 0.5))
        odd = [2 * k - 1 for k in range(1, n + 1)]
        digamma = -EULER - 2 * math.log(2) + sum(2 / k for k in odd)
        trigamma = math.pi**2 / 2 - sum(4 / k**2 for k in odd)
        tetragamma = -14 * APERY + sum(16 / k**3 for k in odd)
        if x < 0:
            trigamma = math.pi**2 - trigamma
        own = [digamma, trigamma, tetragamma, math.gamma(x) * digamma]
        for result, value in zip(results, own):
            result.append(value)
    return tuple(results)


@oracle(REVERSE, "[]f64")
def of_largest_in_bins(bins, xs):
    result = [0.0] * len(xs)
    for bin in range(len(xs)):
        inside = [i for i, own in enumerate(bins) if own == bin]
        if inside:
            result[max(inside, key=lambda i: (xs[i], -i))] = 1.0
    return result


@oracle(REVERSE, "[]f64")
def of_polynomials(xs, ts):
    return gradient(lambda xs: sum(x * t**i for t in ts for i, x in enumerate(xs[:-1])), xs)


@oracle(REVERSE, "f64", "[]f64")
def of_open_operator(bins, c, xs):
    def f(cxs):
        c, xs = cxs[0], cxs[1:]
        found = [0, 0, 0]
        for i, x in zip(bins, xs):
            if 0 <= i < 3:
                found[i] += x + c * found[i] * x
        return sum(found)

    found = gradient(f, [c, *xs])
    return found[0], found[1:]
