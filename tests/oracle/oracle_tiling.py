"""Iterations that share the data read by their loops."""

from registry import oracle

PROGRAM = "tests/programs/features/tiling.fut"


def i32(x):
    return (x + 2**31) % 2**32 - 2**31


def i64(x):
    return (x + 2**63) % 2**64 - 2**63


def along(n, m, a, b, c):
    return [[(i * a + j * b) % c - 3 for j in range(m)] for i in range(n)]


def weigh(rows):
    return i64(
        sum(
            x * ((i * 31 + j * 17) % 101 + 1)
            for i, row in enumerate(rows)
            for j, x in enumerate(row)
        )
    )


def columns(rows):
    return list(zip(*rows))


@oracle(PROGRAM, "i64")
def matrices(n, m, l):
    a, b = along(n, l, 7, 3, 11), columns(along(l, m, 5, 2, 13))
    return weigh([[i32(sum(x * y for x, y in zip(r, c))) for c in b] for r in a])


@oracle(PROGRAM, "i64")
def rows(n, m, l):
    a, b = along(n, l, 7, 3, 11), along(m, l, 5, 2, 13)
    return weigh([[i32(sum(x * y for x, y in zip(r, c))) for c in b] for r in a])


@oracle(PROGRAM, "i64")
def shortest(n, m):
    a, b = along(n, m, 7, 3, 101), columns(along(m, n, 7, 3, 101))
    return weigh([[min(x + y for x, y in zip(r, c)) for c in b] for r in a])


@oracle(PROGRAM, "i64")
def batch(q, n, m, l):
    out = []
    for h in range(q):
        a = [[(h * 3 + i * 7 + k * 5) % 17 for k in range(l)] for i in range(n)]
        b = [[(h * 2 + k * 3 + j * 11) % 19 for k in range(l)] for j in range(m)]
        for r in a:
            row = []
            for c in b:
                s = r[0]
                for k in range(l):
                    s = s * 3 + r[k] * c[k] - k % 5
                row.append(i32(s) ^ c[l - 1])
            out.append(row)
    return weigh(out)


@oracle(PROGRAM, "[]f32")
def floats(n, m, l):
    def one(i, j):
        s = 0.0
        for k in range(l):
            s = s * 0.75 + 1 / (i + 2 * k + 1) / (3 * k + j + 2)
        return s

    return [one(p * 17, p * 13) for p in range(12)]


@oracle(PROGRAM, "i64")
def bodies(n, m):
    xs = [k * 7 % 31 for k in range(m)]
    ys = [k * 5 % 37 for k in range(m)]
    out = []
    for i in range(n):
        x = i * 13 % 29
        s, t = 0, x
        for a, b in zip(xs, ys):
            s, t = i32(s + (a - t) * (b + x)), t ^ a
        for b in ys:
            s = max(i32(s - t), x * b)
        out.append([s])
    return weigh(out)


@oracle(PROGRAM, "i64")
def checked(n, m, l, bound):
    a, b = along(n, l, 7, 3, 11), columns(along(l, m, 5, 2, 13))
    picked = sum(k * 3 % l for k in range(l))
    return weigh([[i32(sum(x * y for x, y in zip(r, c)) + picked) for c in b] for r in a])


@oracle(PROGRAM, "i64")
def picked(n, m, bound):
    out = []
    for i in range(n):
        s = i * 7 % n
        for k in range(m):
            s = i32(s * 3 + k * 7 % 31)
        out.append([s])
    return weigh(out)


@oracle(PROGRAM, "i64")
def stripes(n, m, l):
    a = along(n, l, 7, 3, 11)
    out = []
    for i in range(n):
        row = []
        for j in range(m):
            s = j
            for x in reversed(a[i]):
                s = i32(s * 3) ^ x
            row.append(s)
        out.append(row)
    return weigh(out)
