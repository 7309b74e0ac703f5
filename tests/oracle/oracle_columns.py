"""Results computed column by column."""

from futdata import wrap
from registry import oracle

HERE = "tests/programs/features/columns.fut"
BENCH = "bench/programs/columns.fut"


def summed(rows):
    """Prefix sums of rows."""
    out = []
    for row in rows:
        out.append([x + y for x, y in zip(row, out[-1])] if out else list(row))
    return out


@oracle(HERE, "[][]i32")
def running(xs):
    return summed(xs)


@oracle(HERE, "i64", "i64")
def lowered(n, m):
    xs = [[(i * 7 + j * 5) % 11 for j in range(m)] for i in range(n)]
    least = [min(xs[i][j] for i in range(n)) for j in range(m)]
    ys = [[x - low for x, low in zip(row, least)] for row in xs]

    def weigh(zs):
        return sum((i + 1) * (j + 1) * z for i, row in enumerate(zs) for j, z in enumerate(row)) % 9973

    return weigh(ys), weigh(xs)


@oracle(HERE, "[][]i32", "[][]i32", "i32")
def both(xs):
    rows = summed(xs)
    return [list(column) for column in zip(*rows)], rows, rows[-1][-1]


@oracle(HERE, "[][][]i32")
def boxes(xs):
    return [summed(x) for x in xs]


@oracle(HERE, "[][][]i32")
def turned(xs):
    sums = []
    for plane in xs:
        before = sums[-1] if sums else [[0] * len(row) for row in plane]
        sums.append([[x + y for x, y in zip(*rows)] for rows in zip(plane, before)])
    return [[[row[k] for row in plane] for plane in sums] for k in range(len(xs[0][0]))]


@oracle(HERE, "[][]i32")
def again(xs, k):
    if k > 0:
        for _ in range(k):
            xs = summed(xs)
        return [list(row) for row in xs]
    before = [[0] * len(xs[0])] + [list(row) for row in xs[:-1]]
    return [[x - y for x, y in zip(*rows)] for rows in zip(xs, before)]


@oracle(BENCH, "[]i32")
def four(xss, ys):
    return [wrap(sum(x * x for x in column) + 3 * y, "i32") for column, y in zip(zip(*xss), ys)]
