"""Nests whose iterations have different amounts of work."""

from itertools import permutations

from registry import oracle

IRREGULAR = "bench/programs/irregular.fut"


def both(name, *kinds):
    """Registers a function for an entry point and its sequential variant."""

    def tied(function):
        for entry in (name, f"{name}_sequential"):
            function.__name__ = entry
            oracle(IRREGULAR, *kinds)(function)
        return function

    return tied


@both("quicksort", "[]i32")
def _quicksort(xs):
    return sorted(xs)


@both("queens", "i64")
def _queens(n):
    def non_attacking(rows):
        return len({r + c for c, r in enumerate(rows)}) == n == len({r - c for c, r in enumerate(rows)})

    return sum(map(non_attacking, permutations(range(n))))


@both("mandelbrot", "[][]i32")
def _mandelbrot(n, limit):
    def iterations(point):
        z, i = 0j, 0
        while i < limit and z.real * z.real + z.imag * z.imag < 4:
            z, i = z * z + point, i + 1
        return i

    return [[iterations(complex(-2 + 3 * j / n, -1.5 + 3 * i / n)) for j in range(n)] for i in range(n)]


@both("sparse", "[]f64")
def _sparse(begins, columns, values, xs):
    ends = [*begins[1:], len(values)]
    spans = [range(a, b) for a, b in zip(begins, ends)]
    return [float(sum(values[i] * xs[columns[i]] for i in span)) for span in spans]


@both("collatz", "[]i64")
def _collatz(ks):
    def steps(x):
        return 0 if x == 1 else 1 + steps(x // 2 if x % 2 == 0 else 3 * x + 1)

    return [sum(steps(i + 1) for i in range(k)) for k in ks]


@both("expand", "[]i64")
def _expand(ks):
    return [i * k for k in ks for i in range(k)]
