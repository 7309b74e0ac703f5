"""Failing programs, on inputs for which they succeed."""

import math

from futdata import Empty, shape_of
from registry import oracle

BOUNDS = "tests/programs/failures/bounds.fut"
ARITHMETIC = "tests/programs/failures/arithmetic.fut"
SIZES = "tests/programs/failures/sizes.fut"
ASSERTIONS = "tests/programs/failures/assertions.fut"
CERTIFICATES = "tests/programs/failures/certificates.fut"
BEYOND = "tests/programs/failures/beyond_reference.fut"


def listed(path, entry, kinds, function):
    """Registers a short function as the oracle of an entry point."""

    def oracle_(*args):
        return function(*args)

    oracle_.__name__ = entry
    oracle(path, *kinds)(oracle_)


def tabled(table, places):
    """The inclusive prefixes of the operator that looks up the larger index."""
    out = []
    for i in places:
        out.append(table[max(out[-1] if out else 0, i)])
    return out


listed(BOUNDS, "index", ["i32"], lambda xs, i: xs[i])
listed(BOUNDS, "index_2d", ["i32"], lambda a, i, j: a[i][j])
listed(BOUNDS, "gather", ["[]i32"], lambda xs, places: [xs[i] for i in places])
listed(BOUNDS, "nested", ["[]i32"], lambda xss, d: [
    sum(xs[(j + d) // 2] for j in range(len(xs))) for xs in xss])
listed(BOUNDS, "in_reduction", ["i64"], lambda places, table: tabled(table, places)[-1])
listed(BOUNDS, "in_scan", ["[]i64"], lambda places, table: tabled(table, places))
listed(BOUNDS, "in_loop", ["[]i32"], lambda counts, xs: [sum(xs[:k]) for k in counts])
listed(BOUNDS, "slice", ["[]i32"], lambda xs, i, j, s: [xs[k] for k in range(i, j, s)])
listed(BOUNDS, "update", ["[]i32"], lambda xs, i: xs[:i] + [9] + xs[i + 1:])
listed(BOUNDS, "ends", ["i32", "i32"], lambda xs: (xs[0], xs[-1]))

listed(ARITHMETIC, "divide", ["i32"], lambda a, b: a // b)
listed(ARITHMETIC, "remainder", ["u16"], lambda a, b: a % b)
listed(ARITHMETIC, "power", ["i32"], lambda a, b: a**b)
listed(ARITHMETIC, "folded", ["i32"], lambda b: 0)
listed(ARITHMETIC, "divide_all", ["[]i32"], lambda a, b: [x // y for x, y in zip(a, b)])
listed(ARITHMETIC, "nested", ["i32"], lambda xss: sum(100 // x for xs in xss for x in xs) - 24)
listed(ARITHMETIC, "guarded", ["[]i32"], lambda xs: [100 // x if x else 0 for x in xs])
listed(ARITHMETIC, "floats", ["f64"], lambda a, b: math.inf if a else math.nan)

listed(SIZES, "make", ["[]i64"], lambda n: list(range(n)))
listed(BEYOND, "fill", ["[][]i32"], lambda n, m: [[7] * m] * n)
listed(SIZES, "add", ["[]i32"], lambda xs, ys: [x + y for x, y in zip(xs, ys)])
listed(SIZES, "dot", ["i32"], lambda xs, ys: sum(x * y for x, y in zip(xs, ys)))
listed(SIZES, "fold", ["[][]i32"], lambda n, m, xs: [xs[i * m:(i + 1) * m] for i in range(n)])
listed(SIZES, "unused", ["i64"], lambda k, _: k)
listed(SIZES, "unused_pair", ["[]i32"], lambda xs, _, __: xs)
listed(SIZES, "filters", ["[]i32"], lambda xs: [
    x * y for x, y in zip([x for x in xs if x > 0], [x for x in xs if x < 0])])
listed(SIZES, "range", ["[]i64"], lambda a, b, c: list(range(a, c + 1, b - a)))
listed(SIZES, "irregular", ["[][]i64"], lambda sizes: [list(range(k)) for k in sizes])
listed(SIZES, "taken", ["[]i32"], lambda xs, k: xs[:k])
listed(SIZES, "negative_inside", ["[]i64"], lambda n: list(range(n)))

listed(ASSERTIONS, "positive", ["i32"], lambda x: x)
listed(ASSERTIONS, "each", ["[]i32"], lambda xs: [2 * x for x in xs])
listed(ASSERTIONS, "nested", ["[]i32"], lambda xss: [2 * sum(xs) for xs in xss])
listed(ASSERTIONS, "bounded", ["i32"], lambda x: (16 - x) // 2)
listed(ASSERTIONS, "branches", ["[]i32"], lambda xs: [abs(x) for x in xs])
listed(ASSERTIONS, "function", ["i32"], lambda x, y: x + y)
listed(ASSERTIONS, "functions", ["i32"], lambda x, y: x + 4 + y)

listed(BEYOND, "overflow", ["[]i32", "[]i32"], lambda a, b: (
    [x // y for x, y in zip(a, b)], [x % y for x, y in zip(a, b)]))
listed(BEYOND, "identity", ["i32"], sum)
listed(BEYOND, "descending", ["[]i32"], lambda xs, i, j: [xs[k] for k in range(i, j, -1)])
listed(BEYOND, "rotated", ["[][]i32"], lambda xss, r: [
    xss[(i + r) % len(xss)] for i in range(len(xss))] or Empty(shape_of(xss, 2)))


@oracle(CERTIFICATES, "i64")
def known_element(xs):
    acc, elements = 0, [15] * len(xs)
    for _ in range(4):
        acc += 16 + len(xs) + elements[acc % 5]
    return acc


listed(CERTIFICATES, "sums_of_rows", ["[]i32"], lambda xss, indices: [sum(xss[i]) for i in indices])
listed(CERTIFICATES, "scaled_rows", ["[][][]i32"], lambda xss, iss, scale: [
    [[scale * x for x in xss[i]] for i in row] for row in iss])
listed(CERTIFICATES, "coerced_sums", ["[]i32"], lambda xs, n, k: [sum(xs)] * k)
listed(CERTIFICATES, "sums_of_slices", ["[]i32"], lambda xss, start, end: [sum(xs[start:end]) for xs in xss])
