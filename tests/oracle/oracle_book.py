"""Segmented operations and the minimal basis, by plain loops over lists."""

from futdata import Empty, shape_of, wrap
from registry import oracle

SEGMENTED = "tests/programs/book/segmented.fut"
STREAK = "tests/programs/book/longest_streak.fut"
BASIS = "tests/programs/prelude/minimal_basis.fut"


def running(op, xs, restart=None):
    """Inclusive prefixes of `op`, restarted where `restart` is true."""
    out = []
    for i, x in enumerate(xs):
        fresh = i == 0 or (restart and restart[i])
        out.append(x if fresh else op(out[-1], x))
    return out


@oracle(SEGMENTED, "[]i32")
def scan_sum(flags, xs):
    return running(lambda a, b: a + b, xs, flags)


@oracle(SEGMENTED, "[]f64")
def scan_max(flags, xs):
    return running(max, xs, flags)


@oracle(SEGMENTED, "[]i64")
def repl_iota(reps):
    return [i for i, r in enumerate(reps) for _ in range(r)]


@oracle(SEGMENTED, "[]i32")
def repl(reps, data):
    return [x for r, x in zip(reps, data) for _ in range(r)]


@oracle(SEGMENTED, "[]i64")
def seg_iota(flags):
    count, out = 0, []
    for flag in flags:
        count = 0 if flag else count
        out.append(count)
        count += 1
    return out


@oracle(SEGMENTED, "[]bool")
def to_flags(sizes):
    flags = [i == 0 for s in sizes for i in range(s)]
    return [False] + flags[1:] if flags else flags


@oracle(SEGMENTED, "[]i32")
def reduce_sum(sizes, xs):
    ends = [sum(sizes[:i + 1]) for i in range(len(sizes))]
    return [sum(xs[end - size:end]) for end, size in zip(ends, sizes)]


@oracle(SEGMENTED, "[]i64")
def map_iota(sizes):
    return [i for s in sizes for i in range(s)]


@oracle(SEGMENTED, "[][]i32")
def regular_scan(xss):
    return [running(lambda a, b: a + b, xs) for xs in xss] or Empty(shape_of(xss, 2))


@oracle(SEGMENTED, "[][]i32")
def map_scan(xss):
    return regular_scan(xss)


@oracle(STREAK, "i32")
def by_reduction(xs):
    best = steps = 0
    for a, b in zip(xs, xs[1:]):
        steps = steps + 1 if a < b else 0
        best = max(best, steps)
    return best


@oracle(STREAK, "i32")
def by_scan(xs):
    return by_reduction(xs)


def twice(*names):
    """Registers one function for several entry points."""

    def register(kinds, function):
        for name in names:
            def same(*args, function=function):
                return function(*args)
            same.__name__ = name
            oracle(BASIS, *kinds)(same)

    return register


def affine(p, q):
    return wrap(p[0] * q[0], "i32"), wrap(p[1] * q[0] + q[1], "i32")


def affine_all(xs, ys):
    out = (1, 0)
    for pair in zip(xs, ys):
        out = affine(out, pair)
    return out


def affine_scan(xs, ys):
    pairs = running(affine, list(zip(xs, ys)))
    return [p[0] for p in pairs], [p[1] for p in pairs]


def shapes(xss, r):
    n, m = shape_of(xss, 2)
    turned = [[xss[i][j] for i in range(n)] for j in range(m)] or Empty([m, n])
    rotated = [xss[(i + r) % n] for i in range(n)] or Empty([n, m])
    return turned, rotated, list(xss) * 2 or Empty([n, m]), [r] * n


twice("sum_tree", "sum_strided", "sum_chunked", "sum_builtin")(["i32"], sum)
twice("affine_tree", "affine_chunked", "affine_builtin")(["i32", "i32"], affine_all)
twice("scan_ours", "scan_builtin")(["[]i32", "[]i32"], affine_scan)
twice("filter_ours", "filter_builtin")(
    ["[]i32"], lambda xs: [x for x in xs if x % 2 == 0])
twice("stream_map_ours", "stream_map_builtin")(
    ["[]i32"], lambda xs: [x * x + 1 for x in xs])
twice("stream_red_ours", "stream_red_builtin")(
    ["i32"], lambda xs: sum(x * x for x in xs))
twice("dotprod_ours", "dotprod_builtin")(
    ["i32"], lambda xs, ys: sum(x * y for x, y in zip(xs, ys)))
twice("shapes_ours", "shapes_builtin")(
    ["[][]i32", "[][]i32", "[][]i32", "[]i64"], shapes)
