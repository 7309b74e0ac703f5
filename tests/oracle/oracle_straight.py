"""Short vectors and loops over an array. Numbers are rounded after each step, because many steps
add up."""

from math import sqrt

from futdata import f32
from registry import oracle

STRAIGHT = "bench/programs/straight.fut"
MAP_LOOPS = "bench/programs/map_loops.fut"


def norm(xs):
    total = 0.0
    for x in xs:
        total = f32(total + f32(f32(x) ** 2))
    return f32(sqrt(total))


def iterate(x, y, more):
    for _ in range(20):
        x = norm([x, y, x + y, x - y, x * y, x + 1, y + 1, x - 1] + [y - 1] * more)
    return x


@oracle(STRAIGHT, "[]f32")
def eight(xs, ys):
    return [iterate(x, y, 0) for x, y in zip(xs, ys)]


@oracle(STRAIGHT, "[]f32")
def nine(xs, ys):
    return [iterate(x, y, 1) for x, y in zip(xs, ys)]


@oracle(MAP_LOOPS, "[]f32")
def ten(xs):
    factor, results = f32(0.999), []
    for x in xs:
        y = x
        for i in range(10):
            y = f32(f32(y * factor) + f32(x * i))
        results.append(y)
    return results
