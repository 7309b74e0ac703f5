"""Scans and reductions of rows."""

from registry import oracle

PROGRAM = "tests/programs/features/row_operators.fut"


def rows(n, m):
    return [[(i * 31 + j * j * 7 + i * j) % 23 - 9 for j in range(m)] for i in range(n)]


def weigh(xs):
    return sum((j + 3) % 101 * x for j, x in enumerate(xs))


def weigh_all(xss):
    return weigh([weigh(xs) for xs in xss])


@oracle(PROGRAM, "i64", "i64", "i64")
def totals(n, m):
    columns = [[row[j] for row in rows(n, m)] for j in range(m)]
    most = [max([-100, *xs]) for xs in columns]
    places = [xs.index(x) if xs else -1 for xs, x in zip(columns, most)]
    return weigh([sum(xs) for xs in columns]), weigh(most), weigh(places)


def running_of(xss, m):
    total, out = [0] * m, []
    for xs in xss:
        total = [x + y for x, y in zip(total, xs)]
        out.append(total)
    return out


@oracle(PROGRAM, "i64", "i64")
def running(n, m):
    sums = running_of(rows(n, m), m)
    twice = running_of([[2 * x for x in xs] for xs in sums], m)
    return weigh_all(sums), weigh_all([[x % 1009 for x in xs] for xs in twice])


@oracle(PROGRAM, "i64", "i64")
def matrices(n):
    a, b, c, d = 1, 0, 0, 1
    out = []
    for i in range(n):
        p, q, r, s = i % 7 + 1, i % 5, i % 3, 2
        a, b, c, d = (a * p + b * r) % 9973, (a * q + b * s) % 9973, (c * p + d * r) % 9973, (c * q + d * s) % 9973
        out.append(weigh_all([[a, b], [c, d]]))
    return weigh_all([[a, b], [c, d]]), weigh(out)


@oracle(PROGRAM, "i64", "i64")
def heads(n, m):
    xss = [[x if x > 6 else 0 for x in xs] for xs in rows(n, m)]

    def first(xss):
        for xs in xss:
            if xs[0]:
                return [xs[0]] * m
        return xss[-1]

    return weigh(first(xss)), weigh_all([first(xss[k:]) for k in range(2)])
