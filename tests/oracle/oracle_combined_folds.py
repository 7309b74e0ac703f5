"""Folds whose values a loop combines in arrays."""

from registry import oracle

PROGRAM = "tests/programs/features/combined_folds.fut"


def i32(x):
    return (x + 2**31) % 2**32 - 2**31


def i64(x):
    return (x + 2**63) % 2**64 - 2**63


def along(n, m, a, b, c):
    return [[(i * a + j * b + i * j) % c for j in range(m)] for i in range(n)]


def weigh(rows):
    terms = (x * ((i * 31 + j * 7) % 101 + 1) for i, row in enumerate(rows) for j, x in enumerate(row))
    return i64(sum(terms))


def sides(n, m, d):
    return along(n, d, 7, 3, 11), along(m, d, 5, 2, 13)


def distance(p, q):
    return i32(sum((x - y) ** 2 for x, y in zip(p, q)))


@oracle(PROGRAM, "i64")
def least(n, m, d):
    a, b = sides(n, m, d)
    rows = []
    for p in a:
        best = sorted(distance(p, q) for q in b)[:4]
        rows.append(best + [2**31 - 1] * (4 - len(best)))
    return weigh(rows)


@oracle(PROGRAM, "i64")
def counts(n, m, d):
    a, b = sides(n, m, d)
    rows = []
    for p in a:
        bins = [0] * 8
        for q in b:
            at = distance(p, q) % 8
            bins[at] = i32(bins[at] * 3 + 1)
        rows.append(bins)
    return weigh(rows)


@oracle(PROGRAM, "i64")
def feedback(n, m, d):
    a, b = sides(n, m, d)
    rows = []
    for p in a:
        state = list(p)
        for j, q in enumerate(b):
            state[j % d] = i32(sum(x * y + z for x, y, z in zip(p, q, state))) % 1000
        rows.append(state)
    return weigh(rows)


@oracle(PROGRAM, "i64")
def several(n, m, d):
    a, b = sides(n, m, d)
    total = 0
    for p in a:
        stored, last, best = [0] * m, [0] * 3, 0
        for j, q in enumerate(b):
            s, t = distance(p, q), i32(sum(x * y for x, y in zip(p, q)))
            stored[j] = i32(s - t)
            last[j % 3] = i32(last[(j + 1) % 3] + t)
            best = max(best, s ^ t)
        total += weigh([stored]) + best + 5 * last[0] + 7 * last[1] + last[2]
    return i64(total)
