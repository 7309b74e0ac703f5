"""Classic algorithms, by another method than the Futhark program where there is one (sorting by
`sorted`, primes by division, ...)."""

import math

from futdata import Empty, f32, shape_of, wrap
from registry import oracle

ALGEBRA = "tests/programs/classic/linear_algebra.fut"
SORTING = "tests/programs/classic/sorting.fut"
SIEVE = "tests/programs/classic/sieve.fut"
LINES = "tests/programs/classic/lines.fut"
STENCILS = "tests/programs/classic/stencils.fut"
MANDELBROT = "tests/programs/classic/mandelbrot.fut"
SIMULATION = "tests/programs/classic/simulation.fut"


@oracle(ALGEBRA, "i32")
def dotprod(xs, ys):
    return sum(x * y for x, y in zip(xs, ys))


@oracle(ALGEBRA, "f64")
def dotprod_f64(xs, ys):
    return math.fsum(x * y for x, y in zip(xs, ys))


@oracle(ALGEBRA, "[][]i32")
def matmul(a, b):
    (n, m), p = shape_of(a, 2), shape_of(b, 2)[1]
    return [
        [sum(a[i][k] * b[k][j] for k in range(m)) for j in range(p)] for i in range(n)
    ] or Empty([n, p])


@oracle(ALGEBRA, "[][]f32")
def gram(a):
    return [[sum(r[i] * r[j] for r in a) for j in range(len(a[0]))] for i in range(len(a[0]))]


@oracle(ALGEBRA, "[]f64")
def matvec(a, x):
    return [sum(p * q for p, q in zip(row, x)) for row in a]


@oracle(ALGEBRA, "[][]f64")
def lu(a):
    """Doolittle's formulas, one element of the result at a time."""
    n = len(a)
    out = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            rest = a[i][j] - sum(out[i][k] * out[k][j] for k in range(min(i, j)))
            out[i][j] = rest / out[j][j] if j < i else rest
    return out or Empty([0, 0])


@oracle(ALGEBRA, "f64")
def determinant(a):
    if not a:
        return 1.0
    minors = ([row[:j] + row[j + 1:] for row in a[1:]] for j in range(len(a)))
    return sum((-1) ** j * a[0][j] * determinant(m) for j, m in enumerate(minors))


@oracle(SORTING, "[]u32")
def radix_sort(xs):
    return sorted(xs)


@oracle(SORTING, "[]i32")
def radix_sort_i32(xs):
    return sorted(xs)


@oracle(SORTING, "[]u32", "[]i64")
def radix_sort_pairs(keys, values):
    pairs = sorted(zip(keys, values), key=lambda p: p[0])
    return [p[0] for p in pairs], [p[1] for p in pairs]


@oracle(SORTING, "[]i32")
def quicksort(xs):
    return sorted(xs)


@oracle(SORTING, "[]i32")
def quicksort_segmented(xs):
    return sorted(xs)


def is_prime(k):
    return k >= 2 and all(k % d for d in range(2, math.isqrt(k) + 1))


@oracle(SIEVE, "[]i64")
def primes(n):
    return [k for k in range(n + 1) if is_prime(k)]


@oracle(SIEVE, "[]i64")
def primes_by_division(n):
    return primes(n)


@oracle(SIEVE, "i64")
def count(n):
    return len(primes(n - 1))


def line(x1, y1, x2, y2):
    steps = max(abs(x2 - x1), abs(y2 - y1))

    def along(a, b, i):
        return a if steps == 0 else a + math.floor(i * (b - a) / steps + 0.5)

    return [(along(x1, x2, i), along(y1, y2, i)) for i in range(steps + 1)]


@oracle(LINES, "[][]i32")
def draw(h, w, x1, y1, x2, y2):
    grid = [[0] * w for _ in range(h)]
    for ends in zip(x1, y1, x2, y2):
        for x, y in line(*ends):
            if 0 <= x < w and 0 <= y < h:
                grid[y][x] = 1
    return grid


@oracle(LINES, "[]i64", "[]i64")
def line_points(x1, y1, x2, y2):
    points = [p for ends in zip(x1, y1, x2, y2) for p in line(*ends)]
    return [p[0] for p in points], [p[1] for p in points]


@oracle(STENCILS, "[][]f64")
def jacobi(steps, grid):
    n, m = shape_of(grid, 2)
    for _ in range(steps):
        new = [row[:] for row in grid]
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                new[i][j] = 0.25 * (
                    grid[i - 1][j] + grid[i + 1][j] + grid[i][j - 1] + grid[i][j + 1]
                )
        grid = new
    return grid


@oracle(STENCILS, "i32", "[]f32")
def relax(tolerance, rod):
    steps, change = 0, math.inf
    while change > tolerance:
        new = rod[:]
        for i in range(1, len(rod) - 1):
            new[i] = f32(f32(rod[i - 1] + rod[i + 1]) / 2)
        change = max(abs(f32(a - b)) for a, b in zip(rod, new))
        steps, rod = steps + 1, new
    return steps, rod


@oracle(STENCILS, "[][]i8")
def life(steps, world):
    n, m = shape_of(world, 2)
    alive = {(i, j) for i in range(n) for j in range(m) if world[i][j]}
    around = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b]

    def lives(i, j):
        near = sum(((i + a) % n, (j + b) % m) in alive for a, b in around)
        return near == 3 or (near == 2 and (i, j) in alive)

    for _ in range(steps):
        alive = {(i, j) for i in range(n) for j in range(m) if lives(i, j)}
    return [[int((i, j) in alive) for j in range(m)] for i in range(n)]


def escape(limit, c):
    z = 0
    for i in range(limit):
        # A count that depends on the last digits would differ between machines.
        assert abs(abs(z) ** 2 - 4) > 1e-6
        if abs(z) > 2:
            return i
        z = z * z + c
    return limit


@oracle(MANDELBROT, "[][]i32")
def counts(h, w, limit, left, right, bottom, top):
    return [
        [
            escape(limit, complex(left + (right - left) * x / w, top - (top - bottom) * y / h))
            for x in range(w)
        ]
        for y in range(h)
    ] or Empty([h, w])


@oracle(MANDELBROT, "[][][]u8")
def image(h, w, limit):
    def colour(steps):
        level = 255 * steps // limit
        return [0, 0, 0] if steps >= limit else [level, level // 2, 255 - level]

    return [[colour(s) for s in row] for row in counts(h, w, limit, -2.07, 0.73, -1.17, 1.19)]


@oracle(SIMULATION, "[][]f64", "[][]f64")
def nbody(steps, dt, positions, velocities, masses):
    for _ in range(steps):
        new_velocities = []
        for p, v in zip(positions, velocities):
            force = [0.0, 0.0, 0.0]
            for q, mass in zip(positions, masses):
                r = [b - a for a, b in zip(p, q)]
                d2 = sum(c * c for c in r) + 0.01
                force = [f + mass * c / d2**1.5 for f, c in zip(force, r)]
            new_velocities.append([a + dt * f for a, f in zip(v, force)])
        velocities = new_velocities
        positions = [[a + dt * b for a, b in zip(p, v)] for p, v in zip(positions, velocities)]
    return positions, velocities


@oracle(SIMULATION, "[][]f64", "[]i64")
def kmeans(k, rounds, points):
    centres = [p[:] for p in points[:k]]

    def nearest(p):
        return min(range(k), key=lambda i: (math.dist(centres[i], p), i))

    for _ in range(rounds):
        owners = [nearest(p) for p in points]
        for c in range(k):
            own = [p for p, o in zip(points, owners) if o == c]
            if own:
                centres[c] = [sum(col) / len(own) for col in zip(*own)]
    return centres, [nearest(p) for p in points]


@oracle(SIMULATION, "[]i32")
def histogram(k, xs):
    return [xs.count(i) for i in range(k)]


@oracle(SIMULATION, "[]i32", "[]i32", "[]i64")
def bins(k, places, xs):
    sums, tops, firsts = [], [], []
    for b in range(k):
        own = [(x, i) for i, (p, x) in enumerate(zip(places, xs)) if p == b]
        sums.append(wrap(sum(x for x, _ in own), "i32"))
        tops.append(max((x for x, _ in own), default=-(2**31)))
        firsts.append(min((i for _, i in own), default=2**63 - 1))
    return sums, tops, firsts
