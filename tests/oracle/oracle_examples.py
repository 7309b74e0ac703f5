"""The programs in `examples`."""

import math

from registry import oracle

DOT = "examples/dot_product.fut"
MANDELBROT = "examples/mandelbrot.fut"
NBODY = "examples/nbody.fut"
CENTERS = "examples/centers.fut"


def named(path, entry, *kinds):
    """Registers a function for an entry point name that several programs share."""

    def register(function):
        def same(*args):
            return function(*args)

        same.__name__ = entry
        oracle(path, *kinds)(same)
        return function

    return register


@named(DOT, "main", "f64")
def dot(xs, ys):
    return math.fsum(x * y for x, y in zip(xs, ys))


@named(DOT, "waves", "f64")
def waves(n):
    """The mean of sin^2 over whole periods is 1/2, and that of sin is 0."""
    if n == 0:
        return math.nan
    exact = 0.5
    wave = [math.sin(6 * math.pi * i / n) for i in range(n)]
    assert abs(dot(wave, [w + 0.5 for w in wave]) / n - exact) < 1e-12
    return exact


def escape_steps(h, w, limit, y, x):
    scale = 2.5 / h
    c = complex((x - w / 2) * scale - 0.5, (h / 2 - y) * scale)
    z = c
    for i in range(limit):
        assert abs(abs(z) ** 2 - 4) > 1e-6
        if abs(z) > 2:
            return i
        z = z * z + c
    return limit


@named(MANDELBROT, "main", "[][][]u8")
def picture(h, w, limit):
    def colour(n):
        ramp = min(n % 32, 31 - n % 32)
        return [0, 0, 0] if n >= limit else [16 * ramp, 40 + 12 * ramp, 96 + 10 * ramp]

    return [[colour(escape_steps(h, w, limit, y, x)) for x in range(w)] for y in range(h)]


@named(MANDELBROT, "black", "f64")
def black(h, w, limit):
    inside = sum(escape_steps(h, w, limit, y, x) >= limit for y in range(h) for x in range(w))
    return inside / (h * w)


def minus(a, b):
    return [x - y for x, y in zip(a, b)]


def energy(ps, vs, mass):
    motion = sum(0.5 * mass * sum(c * c for c in v) for v in vs)
    pairs = [(i, j) for i in range(len(ps)) for j in range(i)]
    return motion - sum(
        mass * mass / math.sqrt(sum(c * c for c in minus(ps[i], ps[j])) + 0.05) for i, j in pairs
    )


@named(NBODY, "main", "f64", "f64", "[]f64")
def nbody(n, steps):
    def spread(irrational, i):
        return 2 * ((i + 1) * irrational % 1) - 1

    ps = [
        [spread(0.7548776662466927, i), spread(0.5698402909980532, i),
         0.2 * spread(0.6180339887498949, i)]
        for i in range(n)
    ]
    vs = [[-0.6 * y, 0.6 * x, 0.0] for x, y, _ in ps]
    start = energy(ps, vs, 1 / n)
    for _ in range(steps):
        for v, p in zip(vs, ps):
            for q in ps:
                r = minus(q, p)
                d2 = sum(c * c for c in r) + 0.05
                for k in range(3):
                    v[k] += 0.01 / n * r[k] / d2**1.5
        ps = [[a + 0.01 * b for a, b in zip(p, v)] for p, v in zip(ps, vs)]
    return start, energy(ps, vs, 1 / n), [sum(c) / n for c in zip(*ps)]


@named(CENTERS, "centers", "[]f32", "[]f32")
def centers(cx, cy, xs, ys):
    def nearest(x, y):
        dist = [(a - x) ** 2 + (b - y) ** 2 for a, b in zip(cx, cy)]
        return dist.index(min(dist))

    near = [nearest(x, y) for x, y in zip(xs, ys)]

    def mean(vs):
        return [sum(v for v, at in zip(vs, near) if at == i) / near.count(i) for i in range(len(cx))]

    return mean(xs), mean(ys)
