"""Programs for one language feature each."""

from futdata import Empty, shape_of
from registry import oracle

FEATURES = "tests/programs/features/"
TUPLES = FEATURES + "tuples_records.fut"
FUNCTIONS = FEATURES + "functions.fut"
SIZES = FEATURES + "sizes.fut"
SELECTION = FEATURES + "selection.fut"
SHAPES = FEATURES + "shapes.fut"
RANGES = FEATURES + "ranges_slices.fut"
LOOPS = FEATURES + "loops_updates.fut"
UNIQUENESS = FEATURES + "uniqueness.fut"
GUARDS = FEATURES + "nested_guards.fut"
MIN, MAX = -(2**31), 2**31 - 1


def columns(rows, n, m):
    """The transpose of an n by m matrix, which may be empty."""
    return [[rows[i][j] for i in range(n)] for j in range(m)] or Empty([m, n])


@oracle(TUPLES, "[]i32", "[]i32")
def shift_all(d, xs, ys):
    return [x + d for x in xs], [y - d for y in ys]


@oracle(TUPLES, "i64", "i32", "i32", "bool")
def swap_fields(a, b, c, d):
    return c + 1, 10 * a + a, b, not d


@oracle(TUPLES, "i32", "i32", "i32", "i64")
def statistics(xs):
    return min(xs), max(xs), sum(xs), len(xs)


@oracle(TUPLES, "i64")
def fibonacci(n):
    return n if n < 2 else (lambda a: [a.append(a[-1] + a[-2]) for _ in range(n - 1)] and a[-1])([0, 1])


@oracle(TUPLES, "[]i32", "[]i32", "[][]bool")
def nested(xss):
    totals = [sum(r) for r in xss]
    flags = [[t == max(totals) and v > 0 for v in r] for t, r in zip(totals, xss)]
    return totals, [sum(c) for c in zip(*xss)], flags


@oracle(TUPLES, "i32", "i32")
def choose(c, a, b):
    return (2 * a, b) if c else (2 * b, a)


@oracle(TUPLES, "i32")
def shadow(x):
    f = (x + 1) ** 2
    return (f + 1 + 0 + 1 + 2) ** 2


@oracle(TUPLES, *["i32"] * 20, "[]i64")
def many_results(k, xs):
    return (*(i * k for i in range(20)), [k * x for x in xs])


@oracle(FUNCTIONS, "i32", "i32", "i32", "i32", "f64", "bool")
def applications(x, y):
    return (x + 2 * y + 3, x + 2 + 3 * y, x + 2 * y, x * x + 2 * y, x / 4, x > y)


@oracle(FUNCTIONS, "[]i32", "[]i32", "[]i32", "[]i32", "[]bool", "[]i32")
def sections(xs, ys):
    return (
        [x + 1 for x in xs], [100 - x for x in xs], [y - x for x, y in zip(xs, ys)],
        ys, [0 < x < 2 for x in xs], xs[::-1],
    )


@oracle(FUNCTIONS, "i32", "f64", "bool", "i64", "f64")
def polymorphic(a, b, c):
    def pick(xs):
        return xs[1] if len(xs) > 1 else xs[0]

    return pick(a), pick(b), pick(c), int(len(a) > 1), pick(b) if pick(b) > 0 else 7


@oracle(FUNCTIONS, "i32", "i32")
def pipeline(xs):
    return sum(x * x for x in xs if x > 2), sum(x * x + 1 for x in xs)


@oracle(FUNCTIONS, "i32", "i32", "i32")
def operators(a, b, c):
    # `+^` has the precedence of `+`, so `*` binds tighter; both are left-associative.
    return a + b + c, b * c * a, 10 * (10 * a + b * c) + 1


@oracle(FUNCTIONS, *["i32"] * 6)
def combinators(x, y):
    return y - x, x * y, x - y, x, x * 16, (x + y) * 2 + 1


@oracle(FUNCTIONS, "[][]i32", "i32")
def closures(table, places):
    x = 1
    while x <= 100:
        x = 2 * x + table[0]
    return [[t + 10 * table[i] for t in table] for i in places], x


@oracle(FUNCTIONS, "i32", "i32", "bool", "bool")
def folds(xs):
    return (
        sum(x * 10**i for i, x in enumerate(reversed(xs))),
        sum(x * 10**i for i, x in enumerate(xs)),
        all(x > 0 for x in xs), any(x > 3 for x in xs),
    )


@oracle(SIZES, "[]i32", "[]i32", "i64", "i64")
def split_middle(xs):
    k = len(xs) // 2
    return xs[:k], xs[k:], k, len(xs) - k


@oracle(SIZES, "i64", "i64", "i64")
def dims(xss):
    n, m = shape_of(xss, 2)
    return n, m, n * m


@oracle(SIZES, "[][]i32")
def filtered_outer(xs):
    ups, downs = [x for x in xs if x > 0], [x for x in xs if x < 0]
    return [[x * y for y in downs] for x in ups] or Empty([0, len(downs)])


@oracle(SIZES, "[]i64", "i64")
def triangle(n):
    rows = [i for i in range(n) for _ in range(i + 1)]
    return rows, len(rows)


@oracle(SIZES, "[]i32", "[]i32")
def joined(xs, ys):
    return xs, ys


@oracle(SIZES, "[]i32")
def doubling(k, xs):
    for i in range(k):
        xs = xs + [x * (i + 2) for x in xs]
    return xs


@oracle(SIZES, "[]i32", "i64")
def either(c, xs, ys):
    chosen = xs if c else ys
    return [x + 1 for x in chosen], len(chosen)


@oracle(SIZES, "[]i32", "[]i32")
def padding(xs):
    return xs + [-1, -1], (xs + [-1, -1])[:2]


@oracle(SELECTION, "[]i32", "i64")
def evens(xs):
    kept = [x for x in xs if x % 2 == 0]
    return kept, len(kept)


@oracle(SELECTION, "[]i32", "[]i32")
def two_ways(xs):
    return [x for x in xs if x < 0], [x for x in xs if x >= 0]


@oracle(SELECTION, "[]i32", "[]i32", "[]i32")
def three_ways(xs):
    return [x for x in xs if x < 0], [x for x in xs if x == 0], [x for x in xs if x > 0]


@oracle(SELECTION, "[]i64", "[]f64")
def positions(xs):
    kept = [i for i, x in enumerate(xs) if x > 0]
    return kept, [xs[i] for i in kept]


@oracle(SELECTION, "[][]i32")
def rows(xss):
    return [r for r in xss if sum(r) > 0] or Empty([0, shape_of(xss, 2)[1]])


@oracle(SELECTION, "i32")
def chain(xs):
    return sum(3 * x + 1 for x in xs if 3 * x % 2 == 0 and 3 * x > 10)


@oracle(SELECTION, "[]i32")
def distinct(xs):
    return xs[:1] + [b for a, b in zip(xs, xs[1:]) if a != b]


@oracle(SHAPES, "[]i32", "[][]i32", "[]i32")
def flattening(xss):
    n, m = shape_of(xss, 2)
    turned = columns(xss, n, m)
    return [x for r in xss for x in r], turned, [x for c in turned for x in c]


@oracle(SHAPES, "[][]i32")
def unflattening(n, m, xs):
    return [xs[i * m:(i + 1) * m] for i in range(n)] or Empty([n, m])


@oracle(SHAPES, "[][][]i32", "[][][]i32", "[][][]i32", "[]i32")
def cube(x):
    a, b, c = (range(k) for k in shape_of(x, 3))
    return (
        [[[x[i][j][k] for k in c] for i in a] for j in b],
        [[[x[i][j][k] for j in b] for k in c] for i in a],
        [[[x[i][j][k] for i in a] for j in b] for k in c],
        [x[i][j][k] for i in a for j in b for k in c],
    )


def turn(r, xs):
    return [xs[(i + r) % len(xs)] for i in range(len(xs))]


@oracle(SHAPES, "[]i32", "[]i32", "[]i32")
def rotations(r, xs):
    return turn(r, xs), xs[::-1], turn(-r, xs)


@oracle(SHAPES, "[][]i32")
def rotate_both(r, s, xss):
    return turn(r, [turn(s, row) for row in xss])


@oracle(SHAPES, "[]i32")
def concatenation(xs, ys):
    return xs + ys + ys + xs


@oracle(SHAPES, "[][]i32", "[][]i32")
def stacked(a, b):
    turned = columns(a, *shape_of(a, 2))
    return list(a) + list(b), list(turned) * 2


@oracle(SHAPES, "i32", "i32", "[]i32", "[]i32", "[]i32", "[]i32")
def pieces(k, xs):
    return xs[0], xs[-1], xs[:k], xs[k:], xs[:-1], xs[1:]


@oracle(SHAPES, "[]i32", "[]f64", "[]bool", "[]f64")
def zips(a, b, c):
    return a[::-1], b[::-1], c[::-1], [x + y for x, y in zip(a, b)]


@oracle(SHAPES, "[]i64", "[][]i32", "[]bool", "[]i64", "[][]i64")
def makers(n, xs):
    m = len(xs)
    table = [[10 * i - j for j in range(m)] for i in range(n)] or Empty([n, m])
    return list(range(n)), [xs] * n or Empty([n, m]), [True] * n, list(range(m)), table


@oracle(SHAPES, "i64", "i64", "bool")
def lengths(xss):
    n, m = shape_of(xss, 2)
    return n, n * m, n == 0


@oracle(RANGES, *["[]i64"] * 6)
def ranges(a, b):
    return (
        list(range(a, b + 1)), list(range(a, b)), list(range(a, b + 1, 2)),
        list(range(a, b, 3)), list(range(b, a - 1, -1)), list(range(b, a, -1)),
    )


@oracle(RANGES, "[]i16", "[]i8", "[]i32")
def small_ranges(a, b, c):
    return list(range(a, b)), list(range(c, 4)), [5, 3, 1, -1, -3]


@oracle(RANGES, *["[]i32"] * 4)
def slices(i, j, xs):
    return xs[i:j], xs[i:], xs[:j], xs


@oracle(RANGES, *["[]i32"] * 4)
def strides(xs):
    return xs[::2], xs[::-1], xs[::3], xs[::-2]


@oracle(RANGES, "[]i32")
def bounded_strides(xs, i, j, s):
    return [xs[k] for k in range(i, j, s)]


@oracle(RANGES, "[]i32", "[]i32")
def extreme_strides(xs, s):
    updated = list(xs)
    for k in range(len(xs))[::s]:
        updated[k] *= 10
    return xs[::s], updated


@oracle(RANGES, "[]i32")
def extreme_bounds(xs, i, j, s):
    return [xs[k] for k in range(i, j, s)]


@oracle(RANGES, "[]i32", "[]i32", "[][]i32", "[][]i32", "i32")
def matrix_slices(a):
    return (
        a[1], [r[2] for r in a], [r[::2] for r in a[1:]],
        [r[:0:-1] for r in a[::-1]], a[-1][0],
    )


@oracle(RANGES, "[][]i32", "i32")
def composed(a):
    turned = [list(c) for c in zip(*a)][::-1]
    cut = [r[::3] for r in turned[1:4]]
    return [[x + 100 for x in r] for r in cut], sum(sum(r) for r in cut[::2])


@oracle(RANGES, "[]i32", "[]i32")
def gather(xs, places):
    return [xs[i] for i in places], [xs[-1 - i] for i in places]


@oracle(LOOPS, "i32")
def gcd(a, b):
    return next(d for d in range(max(a, b), 0, -1) if a % d == 0 and b % d == 0)


@oracle(LOOPS, "i32", "i32")
def collatz(n):
    path = [n]
    while path[-1] != 1:
        path.append(3 * path[-1] + 1 if path[-1] % 2 else path[-1] // 2)
    return len(path) - 1, max(path)


@oracle(LOOPS, "f64", "f64")
def horner(cs, x):
    value = float(sum(c * x**i for i, c in enumerate(cs)))
    return value, value


@oracle(LOOPS, "[][]i64")
def pascal(n):
    from math import comb

    return [[comb(i, j) for j in range(n)] for i in range(n)] or Empty([0, 0])


@oracle(LOOPS, "[]i32")
def updates(xs, i):
    xs = xs[:]
    xs[i] = 10
    xs[-1] = xs[0] + xs[i]
    return xs


@oracle(LOOPS, "[][]i32")
def slice_updates(a, v):
    n = len(a)
    a = [v[:]] + [r[:] for r in a[1:]]
    for i in range(n):
        a[i][n - 1] = v[i] + 1
    for i, pair in enumerate([[-1, -2], [-3, -4]]):
        a[1 + i][0:2] = pair
    for k, j in enumerate(range(n - 1, 0, -1)):
        a[n - 1][j] = a[0][k]
    return a


@oracle(LOOPS, "[]i32")
def insertion_sort(xs):
    return sorted(xs)


@oracle(LOOPS, "[][]i32")
def digit_counts(xs):
    return [
        [str(x).count(str(d)) if x else 0 for d in range(10)] for x in xs
    ] or Empty([0, 10])


@oracle(LOOPS, "[]f64", "f64")
def smoothing(k, xs):
    total = 0.0
    for _ in range(k):
        xs = [(xs[i] + xs[(i + 1) % len(xs)]) / 2 for i in range(len(xs))]
        total += max(xs)
    return xs, total


@oracle(LOOPS, "i8", "i32")
def counters(n):
    up, down = 1, 0
    for i in range(n):
        up = up * 2 + i
    for i in range(3, -4, -1):
        down = down * 3 + i
    return up, down


@oracle(UNIQUENESS, "[]i32", "i64", "[]i32")
def one_of_two(p, q, as_, bs, cs):
    return [100] + (as_ if p else bs)[1:], len(bs if q else cs), cs


@oracle(UNIQUENESS, "[]i32", "[]i32")
def in_branches(p, as_, bs):
    return (bs, [7] + as_[1:]) if p else (as_, bs[:-1] + [9])


@oracle(UNIQUENESS, "[]i64", "[]i64")
def alternating(k, as_, bs):
    pair = [as_, bs]
    for i in range(k):
        first = list(pair[i % 2])
        first[i % len(first)] += i + 1
        pair[i % 2] = first
    return pair[k % 2], pair[1 - k % 2]


@oracle(UNIQUENESS, "[]i32")
def smallest_row(rows):
    return min(rows, key=lambda r: r[0], default=[MAX, 0, 0, 0])


@oracle(UNIQUENESS, "[][]i32", "[][][]i32")
def smallest_rows(matrices):
    def smallest(rows):
        return min(rows, key=lambda r: r[0], default=[MAX, 0])

    scans = [[smallest(m[:i + 1]) for i in range(len(m))] or Empty([0, 2]) for m in matrices]
    return [smallest(m) for m in matrices], scans


@oracle(UNIQUENESS, "[]i32", "[][]i32")
def changed_copy(i, rows):
    return [-1] + rows[i][1:], rows


@oracle(FUNCTIONS, "[]i64")
def tabled(xs):
    return [i * sum(3 * j for j in range(i % 100)) for i in xs]


@oracle(GUARDS, "[]i32")
def sums(n, m, xs):
    rows = [row for planes in xs for plane in planes for row in plane]
    return [sum(row[p + i + j] for row in rows for j in range(m) for p in range(len(row))) for i in range(n)]


@oracle(LOOPS, "[]i32", "[]i32", "[]i32")
def read_before_update(xss, indices):
    read, squares, last = [], [], []
    for xs, i in zip(xss, indices):
        m = len(xs)
        ys = list(xs)
        for k in range(i):
            ys[k % m] = ys[(k + 1) % m] * 2
        a = ys[i % m]
        ys[i % m] = 7
        ys[0] = 9
        read.append(a)
        squares.append(sum(x * x for x in xs))
        last.append(ys[i % m] * a + a)
    return read, squares, last
