"""Reductions whose segments share their inputs in two dimensions."""

from oracle_tiling import along, columns, i32, weigh
from registry import oracle

PROGRAM = "tests/programs/features/tiled_reductions.fut"


@oracle(PROGRAM, "i64")
def products(n, m, l):
    a, b = along(n, l, 7, 3, 11), along(l, m, 5, 2, 13)
    b = columns(b) if l else [()] * m
    return weigh([[sum(x * y for x, y in zip(r, c)) for c in b] for r in a])


@oracle(PROGRAM, "i64")
def batch(q, n, m, l):
    out = []
    for h in range(q):
        a = [[(h * 3 + i * 7 + k * 5) % 17 for k in range(l)] for i in range(n)]
        b = [[(h * 2 + k * 3 + j * 11) % 19 for k in range(l)] for j in range(m)]
        out += [
            [sum(x * y - k % 5 for k, (x, y) in enumerate(zip(r, c))) for c in b] for r in a
        ]
    return weigh(out)


@oracle(PROGRAM, "i64")
def ways(n, m, l):
    a, b = along(n, l, 7, 3, 11), along(m, l, 5, 2, 13)

    def way(r, c):
        s, t = 1, 0
        for x, y in zip(r, c):
            u, v = x * 2 + 1, x - y
            s, t = i32(u * s), i32(u * t + v)
        return s ^ t

    return weigh([[way(r, c) for c in b] for r in a])


@oracle(PROGRAM, "i64")
def two(n, m, l):
    a, b = along(n, l, 7, 3, 11), columns(along(l, m, 5, 2, 13))

    def value(x, y):
        z = x * y
        for _ in range(x & 3):
            z = z * 3 - y
        return z

    def both(r, c):
        values = [value(x, y) for x, y in zip(r, c)]
        return sum(values) ^ min(values)

    return weigh([[both(r, c) for c in b] for r in a])


@oracle(PROGRAM, "i64")
def kept(n, m, l):
    a, b = along(n, l, 7, 3, 11), columns(along(l, m, 5, 2, 13))
    c = [[sum(x * y for x, y in zip(r, c)) for c in b] for r in a]
    return weigh(c) + weigh([[x * y for x, y in zip(r, c)] for r in a for c in b])


@oracle(PROGRAM, "i64")
def checked(n, m, l, bound):
    a, b = along(n, l, 7, 3, 11), columns(along(l, m, 5, 2, 13))
    table = [k * 3 % 100 for k in range(l)]
    return weigh([[sum(x * y + z for x, y, z in zip(r, c, table)) for c in b] for r in a])
