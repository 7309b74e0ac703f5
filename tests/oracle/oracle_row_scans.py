"""Scans along rows."""

from itertools import accumulate

from registry import oracle

PROGRAM = "tests/programs/features/row_scans.fut"


def rows(n, m):
    return [[(i * 31 + j * j * 7 + j) % 23 - 9 for j in range(m)] for i in range(n)]


def weigh(xss):
    return sum((i + 1) * (j + 3) % 101 * x for i, xs in enumerate(xss) for j, x in enumerate(xs))


def sums_of(xs):
    return list(accumulate(xs))


@oracle(PROGRAM, "i64", "i64")
def sums(n, m):
    def narrow(x):
        return (x + 2**15) % 2**16 - 2**15

    scanned = [sums_of(xs) for xs in rows(n, m)]
    return weigh(scanned), weigh([[narrow(x) for x in xs] for xs in scanned])


@oracle(PROGRAM, "i64")
def composed(n, m):
    out = []
    for xs in rows(n, m):
        value, line = 2, []
        for x in xs:
            value = ((x * x + 2) * value + x + 10) % 9973
            line.append(value)
        out.append(line)
    return weigh(out)


@oracle(PROGRAM, "i64", "i64", "i64")
def segmented(n, m):
    flags, totals, xss = [], [], rows(n, m)
    for xs in xss:
        total, seen, flag_line, line = 0, 0, [], []
        for x in xs:
            total = x if x > 8 else total + x
            seen = 1 if x > 8 else seen
            flag_line.append(seen)
            line.append(total)
        flags.append(flag_line)
        totals.append(line)
    return weigh(flags), weigh(totals), weigh([[3 * x for x in xs] for xs in xss])


@oracle(PROGRAM, "i64", "i64")
def searched(n, m):
    scanned = [sums_of(xs) for xs in rows(n, m)]
    return weigh([[xs[-1] + xs[m // 2] for xs in scanned]]), weigh([[max(xs) for xs in scanned]])


@oracle(PROGRAM, "[][]i64")
def gathered(iss):
    return [sums_of([10 + xs[i] for i in xs]) for xs in iss]


@oracle(PROGRAM, "i64", "i64")
def known(n):
    scanned = [sums_of(xs) for xs in rows(n, 48)]
    return weigh(scanned), weigh([list(accumulate(xs, max)) for xs in scanned])


@oracle(PROGRAM, "i64")
def again(n, m, k):
    out = []
    for xs in rows(n, m):
        for _ in range(k):
            xs = [x % 1009 for x in sums_of(xs)]
        out.append(xs)
    return weigh(out)


@oracle(PROGRAM, "f64", "f64")
def halves(n, m):
    def last(f):
        scanned = [list(accumulate((x * 0.5 for x in xs), f)) for xs in rows(n, m)]
        return sum(xs[-1] - xs[m // 3] for xs in scanned)

    return last(lambda x, y: x + y), last(min)
