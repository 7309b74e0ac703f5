"""Maps whose function returns arrays of different sizes."""

from itertools import accumulate, chain

from registry import oracle

FLAT = "tests/programs/features/flat_maps.fut"


def flat(parts):
    return list(chain.from_iterable(parts))


def begins(parts):
    return [0, *accumulate(map(len, parts))][: len(parts)]


def firsts(parts):
    return [j == 0 for part in parts for j in range(len(part))]


@oracle(FLAT, "[]i64", "[]bool", "[]i64", "[]i32", "[]i32")
def replicas(ks, xs):
    parts = [[x] * k for k, x in zip(ks, xs)]
    return list(ks), firsts(parts), begins(parts), flat(parts), [2 * x for x in xs]


@oracle(FLAT, "[]i64", "[]f64", "[]i64", "[]i64")
def ranges(ks, xs):
    parts = [[x + i * i for i in range(k)] for k, x in zip(ks, xs)]
    whole = flat(parts)
    return whole, [y / 2 for y in whole], list(map(sum, parts)), list(map(len, parts))


@oracle(FLAT, "[][]i32", "[][]i32", "[]i32", "[]i32")
def views(xss, cuts):
    n, m = len(xss), len(xss[0])
    columns = [list(column) for column in zip(*xss)]
    return (
        flat(xss[: c % (n + 1)] for c in cuts),
        flat(columns[: c % (m + 1)] for c in cuts),
        flat(xss[c % n][::-1] for c in cuts),
        flat(columns[c % m] for c in cuts),
    )


@oracle(FLAT, "[]i64", "[]i64", "[]i64")
def kept(xs):
    divisors = [d for x in xs for d in range(1, x + 1) if x % d == 0]
    return flat((x, -x) for x in xs), divisors, []


@oracle(FLAT, "[]i64", "[]i64", "[]i64", "[]i64")
def nested(kss):
    a, b, c = [], [], []
    for ks in kss:
        parts = [[i * k for i in range(k)] for k in ks]
        at = [i for i, first in enumerate(firsts(parts)) if first]
        a.append(sum(map(sum, parts)) + sum(ks))
        b.append(sum(at))
        c.append(sum(begins(parts)) - sum(k + 1 for k in ks))
    return a, b, c, [i for ks in kss for k in ks for i in range(k + 1)]


@oracle(FLAT, "[]i64")
def leaves(n):
    xs = [1]
    for i in range(n):
        level = []
        for x in xs:
            y = x + i
            level += [[y * 2 + 1], [y + 1, y * 2, y * 3], []][y % 3]
        xs = level
    return xs


@oracle(FLAT, "[]i64", "[]i64")
def updated(k, xs):
    return [100] + (xs * k)[1:], xs


@oracle(FLAT, "[]i32")
def by_parts(xs):
    return sorted(xs)


@oracle(FLAT, "i64", "i64", "i64", "i64", "i64")
def many(n):
    length = weighted = marked = begin = total = 0
    offsets = 0
    for i in range(n):
        size = 3000 if i % 1000 == 7 else i % 5
        offsets += begin * (i % 7)
        if size:
            marked += begin % 1009
        for j in range(size):
            weighted += (i * 31 + j) * ((begin + j) % 13)
            total += i * 31 + j
        begin += size
    length = begin
    return length, weighted, marked, offsets + length, total


@oracle(FLAT, "[]i64", "[]bool", "[]i64", "i64", "i64")
def empty_elements(ks):
    parts = [[()] * k for k in ks]
    return list(ks), firsts(parts), begins(parts), sum(ks), sum(ks)


@oracle(FLAT, "[]i64", "[]i64", "[]i64")
def in_order(ks):
    return (
        [i * k for k in ks for i in range(k)],
        [k * k for k in ks],
        [i + k for k in ks for i in range(k)],
    )
