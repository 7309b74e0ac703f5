"""Branches and calls with common subexpressions."""

import futdata
from registry import oracle

PROGRAM = "tests/programs/features/common_subexpressions.fut"


def w(value):
    return futdata.wrap(value, "i64")


def wave(x, k):
    if x % 3 == 0:
        a = w(x * k + 7)
        b = a ^ a >> 3
        c = w(b * 31 + (b >> 5))
        d = c ^ w(c << 7)
        e = w(d * 17 + (d >> 11))
        return e ^ w(e << 3)
    if x < k:
        a = w((x + k) * 13)
        b = a ^ a >> 2
        c = w(b * 5 + (b >> 7))
        return w((c ^ w(c << 9)) * 3 + 1)
    a = w((x - k) * 11)
    b = a ^ a >> 4
    c = w(b * 7 - (b >> 3))
    return w((c ^ w(c << 5)) * 5 - 1)


def small(x):
    return w(x) & 0xFFFFF


@oracle(PROGRAM, "i64", "i64")
def loops(x, k, n):
    total = 0
    for i in range(max(n, 0)):
        total = small(total * 3 + wave(x, k) + wave(k, x) * i)
    return small(wave(x, k)), total


@oracle(PROGRAM, "[]i64")
def points(xs, k, m):
    results = []
    for x in xs:
        s = small(wave(x, k)) + small(wave(k, m))
        for i in range(m):
            s = small(s * 5 + wave(x, k) + wave(x, i) + wave(k, m))
        results.append(s)
    return results


@oracle(PROGRAM, "i64", "i64")
def changes(x, k, n):
    for _ in range(n):
        y = small(wave(x, k))
        x, k = small(wave(small(wave(y, k)), k)), y
    return x, k


@oracle(PROGRAM, "i64", "i64")
def reads(xs, i, m):
    def at(j):
        return xs[j] * 100 // (xs[j] + j) if 0 <= j < len(xs) else -1

    total = 0
    for j in range(m):
        total = total * 3 + at(i) + at(j)
    return at(i) + total, at(i) - at(i + 1)
