"""Reductions, scans, scatters and histograms with unusual operators."""

import math
from fractions import Fraction
from functools import reduce

from futdata import Empty, shape_of, wrap
from registry import oracle

SCANS = "tests/programs/features/scans_reductions.fut"
WRITES = "tests/programs/features/scatter_hist.fut"
HISTOGRAMS = "tests/programs/features/histograms.fut"
MIN, MAX = -(2**31), 2**31 - 1


@oracle(SCANS, *["i32"] * 5)
def sums(xs):
    return (
        sum(xs), math.prod(xs), max(xs, default=MIN), min(xs, default=MAX),
        reduce(lambda a, b: a ^ b, xs, 0),
    )


@oracle(SCANS, "bool", "bool", "[]bool", "[]bool")
def logic(bs):
    n = range(len(bs))
    return all(bs), any(bs), [all(bs[:i + 1]) for i in n], [any(bs[:i + 1]) for i in n]


@oracle(SCANS, "[]i64", "[][]i64", "i64")
def beside_nothing(xs):
    return [x + 1 for x in xs], [[] for _ in xs], wrap(sum(xs), "i64")


def compositions(xs, ys):
    """All prefixes of the composition of x -> a x + b, the first function applied first."""
    out = []
    for i in range(1, len(xs) + 1):
        a, b = 1, 0
        for c, d in zip(xs[:i], ys[:i]):
            a, b = a * c, c * b + d
        out.append((a, b))
    return out


@oracle(SCANS, "i32", "i32", "[]i32", "[]i32")
def linear(xs, ys):
    all_ = compositions(xs, ys)
    a, b = all_[-1] if all_ else (1, 0)
    return a, b, [p[0] for p in all_], [p[1] for p in all_]


@oracle(SCANS, "[]f64")
def recurrence(x, xs, ys):
    out = []
    for a, b in zip(xs, ys):
        x = a * x + b
        out.append(x)
    return out


@oracle(SCANS, "f64", "i64", "f64", "i64")
def extremes(xs):
    return max(xs), xs.index(max(xs)), min(xs), xs.index(min(xs))


@oracle(SCANS, "[]i32", "[]i32", "i32", "[]i32")
def matrix_sums(a):
    n, m = shape_of(a, 2)
    down = [sum(a[i][j] for i in range(n)) for j in range(m)]
    return [sum(r) for r in a], down, sum(map(sum, a)), down


@oracle(SCANS, "[][]i32", "[][]i32")
def matrix_scans(a):
    n, m = shape_of(a, 2)
    return (
        [[sum(a[i][:j + 1]) for j in range(m)] for i in range(n)],
        [[sum(a[k][j] for k in range(i + 1)) for j in range(m)] for i in range(n)],
    )


@oracle(SCANS, "f64", "f64", "[]f64", "[]f64")
def redomap(xs):
    ys = [x * x + 1 for x in xs]
    zs = [x / y for x, y in zip(xs, ys)]
    return sum(ys), max(zs, default=-math.inf), ys, zs


@oracle(SCANS, "[]i32", "i32")
def scanomap(xs):
    ys = [2 * sum(xs[:i + 1]) for i in range(len(xs))]
    return [y + 1 for y in ys], max((y - x for x, y in zip(xs, ys)), default=MIN)


@oracle(SCANS, "[]i32", "[][]i32", "[][]i32", "[][][]i32")
def nests(x):
    totals = [[sum(r) for r in m] for m in x]
    layers = [[sum(v) for v in zip(*rs)] for rs in zip(*x)]
    scanned = [
        [[sum(map(sum, m)) + sum(r[:j + 1]) for j in range(len(r))] for r in m] for m in x
    ]
    return [max(t) for t in totals], totals, layers, scanned


def written(dest, places, values):
    dest = list(dest)
    for i, v in zip(places, values):
        if 0 <= i < len(dest):
            dest[i] = v
    return dest


@oracle(WRITES, "[]i32")
def write(dest, places, values):
    return written(dest, places, values)


@oracle(WRITES, "[]i32", "bool", "bool")
def meet(n, m):
    return [7 if i < n else 0 for i in range(m)], True, True


@oracle(WRITES, "[][]i32")
def write_rows(dest, places, rows):
    return written(dest, places, rows)


@oracle(WRITES, "[][]i32")
def write_2d(dest, rows, cols, values):
    dest = [r[:] for r in dest]
    for i, j, v in zip(rows, cols, values):
        if 0 <= i < len(dest) and 0 <= j < len(dest[0]):
            dest[i][j] = v
    return dest


@oracle(WRITES, "[]i32", "[]f64")
def permute(places, xs, ys):
    n = len(xs)
    return written([0] * n, places, xs), written([0.0] * n, places, ys)


@oracle(WRITES, *["[]i32"] * 5)
def operators(places, values):
    own = [[v for i, v in zip(places, values) if i == b] for b in range(4)]
    return (
        [sum(o) for o in own], [max(o, default=MIN) for o in own],
        [wrap(math.prod(o), "i32") for o in own],
        [reduce(lambda a, b: a | b, o, 0) for o in own], [min([10] + o) for o in own],
    )


@oracle(WRITES, "[]f64")
def accumulate(dest, places, values):
    return [
        d + sum(v for i, v in zip(places, values) if i == b) for b, d in enumerate(dest)
    ]


@oracle(WRITES, "[]i32", "[]i64")
def largest(k, places, values):
    best = [
        max(((v, -i) for i, (p, v) in enumerate(zip(places, values)) if p == b), default=(MIN, 1))
        for b in range(k)
    ]
    return [b[0] for b in best], [-b[1] for b in best]


@oracle(WRITES, "[][]i32")
def row_sums(k, places, rows):
    m = shape_of(rows, 2)[1]
    return [
        [sum(r[j] for p, r in zip(places, rows) if p == b) for j in range(m)] for b in range(k)
    ]


@oracle(WRITES, "[][]i32")
def bins_2d(h, w, rows, cols, values):
    return [
        [sum(v for i, j, v in zip(rows, cols, values) if (i, j) == (a, b)) for b in range(w)]
        for a in range(h)
    ]


@oracle(WRITES, "[][]i32")
def per_row(xss):
    return [[xs.count(b) for b in range(3)] for xs in xss] or Empty([0, 3])


@oracle(SCANS, "[]i32")
def rows_behind(m, xs):
    return [sum(xs[:i + 1]) - x for i, x in enumerate(xs)]


def spread(k, i):
    return (i * 7919 + i // 13) % k


def term(i):
    return Fraction(i % 1009 - 500, i % 89 + 1)


def exact_sums(n, k, start, place):
    """Exact sums, which any order of addition approximates."""
    out = [Fraction(x) for x in start]
    for i in range(n):
        if 0 <= place(i) < k:
            out[place(i)] += term(i)
    return [float(x) for x in out]


@oracle(HISTOGRAMS, "[]f32")
def single(n, k):
    return exact_sums(n, k, [0] * k, lambda i: spread(k, i))


@oracle(HISTOGRAMS, "[]f64")
def double(n, k):
    return exact_sums(n, k, [0] * k, lambda i: spread(k, i))


@oracle(HISTOGRAMS, "[]f32")
def many_bins(n, k, last):
    return exact_sums(n, k, [0] * k, lambda i: spread(k, i))[-last:]


@oracle(HISTOGRAMS, "[]f32")
def onto(n, dest):
    k = len(dest)
    return exact_sums(n, k, dest, lambda i: spread(k + 3, i) - 1)


@oracle(HISTOGRAMS, "[][]f64", "[][]f64")
def grid(n, h, w):
    total = [[Fraction(0)] * w for _ in range(h)]
    logs = [[[] for _ in range(w)] for _ in range(h)]
    for i in range(n):
        y, x = spread(h, i), spread(w + 1, i // 2)
        if x < w:
            total[y][x] += term(i)
            logs[y][x].append(math.log1p(term(i) / 100000))
    return (
        [[float(x) for x in row] for row in total],
        [[math.exp(math.fsum(x)) for x in row] for row in logs],
    )


def steps(x):
    k = 0
    while x > 1 and k < 60:
        x = x // 2 if x % 2 == 0 else 3 * x + 1
        k += 1
    return k


@oracle(SCANS, "i64", "i32", "i32", "i64")
def branching(n):
    xs = [i * 7919 % 1013 - 300 for i in range(n)]
    first = sum(x * 3 if x > 400 else -1 if x < 0 else 10 for x in xs)
    most = max([steps(x) for x in xs], default=-(2**31))
    third = sum(sum(i * x for i in range(x % 5)) for x in xs)
    total, sums = 0, 0
    for x in xs:
        total += steps(x)
        sums += total
    return first, most, (third + 2**31) % 2**32 - 2**31, sums


@oracle(SCANS, "[]i32", "[]i32", "[]i32", "[]i32", "[]u32", "[]i8")
def halves(xs):
    def toward_zero(x):
        return -(-x // 8) if x < 0 else x // 8

    wide = [x % 2**32 for x in xs]
    narrow = [(x + 128) % 256 - 128 for x in xs]
    return (
        [x // 8 for x in xs],
        [x % 8 for x in xs],
        [toward_zero(x) for x in xs],
        [x - 8 * toward_zero(x) for x in xs],
        [x // 2**31 + x % 16 for x in wide],
        [x // 64 for x in narrow],
    )
