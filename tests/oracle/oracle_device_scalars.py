"""Scalars computed from array elements."""

from functools import reduce

from registry import oracle

FILE = "tests/programs/features/device_scalars.fut"


def quotient(a, b):
    """The quotient, rounded down."""
    return a // b


@oracle(FILE, "i64")
def pick(xs, first):
    return xs[2] * xs[1 - int(first)]


@oracle(FILE, "i64", "i64")
def chase(following):
    way = [following[0]]
    while way[-1] != 0 and len(way) <= 20:
        way.append(following[way[-1]])
    return way[-1], len(way) - 1


@oracle(FILE, "i64")
def folded(xs):
    return reduce(lambda acc, x: (3 * acc + x) % 1009, xs, 7)


@oracle(FILE, "i64", "[]i64")
def through(xs):
    a, ys = xs[0], list(xs)
    for i in range(len(ys)):
        if i % 2:
            ys[i], a = a, 2 * a
        else:
            a += ys[i]
    return a, ys


@oracle(FILE, "[]i64")
def lowered(xs):
    down = 0
    for _ in range(3):
        down += quotient(max(xs) - down, 2) + xs[0] - down
    return [x - down for x in xs]


@oracle(FILE, "[]i64", "i64")
def bounded(xs):
    least = xs[0]
    sofar = [max(xs[: i + 1]) for i in range(len(xs))]
    # The first element is copied.
    scanned = [sofar[0]] + [max(least, x) for x in sofar[1:]]
    return scanned, max(least, max(xs) + xs[2])


@oracle(FILE, "[]i64", "[]i64", "[]i64", "[]i64")
def written(xs, a):
    i = xs[0]
    ys = xs[:2] + [xs[i] + a] + xs[3:]
    product = ys[i] * ys[2]
    zs = [ys[0], product] + ys[2:]
    return zs, [xs[1], a, 7, product + a], [xs[3] * a], [zs[2] - product] * len(xs)


@oracle(FILE, "i64")
def kept(xs, a):
    if len(xs) > 3:
        return a
    return xs[-1] if xs else a


@oracle(FILE, "[]i64")
def sized(xs):
    return [i * xs[2] for i in range(max(0, max(xs[:2]) - xs[2]))]


@oracle(FILE, "[]i64")
def checked(xs):
    return [xs[1] * xs[2]] + xs[1:]
