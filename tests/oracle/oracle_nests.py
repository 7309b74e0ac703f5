"""The programs of `bench/programs/nests`, by other methods: brute force, sums in doubles."""

from collections import deque
from itertools import accumulate, permutations
from math import exp

from registry import oracle

NESTS = "bench/programs/nests/"


def steps(x):
    count = 0
    while x != 1:
        x, count = (3 * x + 1 if x & 1 else x >> 1), count + 1
    return count


@oracle(NESTS + "collatz.fut", "[]i32")
def main(k, n):
    return [sum(steps(p + i) for i in range(1, n + 1)) for p in range(k)]


@oracle(NESTS + "matmul.fut", "[][]f32")
def main_(a, b):
    return [[float(sum(x * row[j] for x, row in zip(xs, b))) for j in range(len(b[0]))] for xs in a]


@oracle(NESTS + "queens.fut", "i64")
def main__(n):
    boards = permutations(range(n))
    return sum(
        len({i + c for i, c in enumerate(b)}) == n == len({i - c for i, c in enumerate(b)}) for b in boards
    )


@oracle(NESTS + "mandelbrot.fut", "[][]i32")
def main___(height, width, limit):
    rows = []
    for y in range(height):
        row = []
        for x in range(width):
            c, z, iterations = complex(-2 + 2.5 * x / width, -0.5 + y / height), 0j, 0
            while iterations < limit and z.real**2 + z.imag**2 <= 4:
                z, iterations = z * z + c, iterations + 1
            row.append(iterations)
        rows.append(row)
    return rows


@oracle(NESTS + "row_operators.fut", "[]f32")
def reduce_rows(rows):
    return [float(sum(column)) for column in zip(*rows)]


@oracle(NESTS + "row_operators.fut", "[][]f32")
def scan_rows(rows):
    return [list(map(float, row)) for row in zip(*map(accumulate, zip(*rows)))]


@oracle(NESTS + "row_operators.fut", "[][]f32")
def softmax(rows):
    return [[1 / sum(exp(y - x) for y in row) for x in row] for row in rows]


@oracle(NESTS + "segments.fut", "[]f32")
def sums(segments):
    return [float(sum(xs)) for xs in segments]


@oracle(NESTS + "segments.fut", "[][]f32")
def scans(segments):
    return [list(map(float, accumulate(xs))) for xs in segments]


@oracle(NESTS + "segments.fut", "[]i32")
def largest(segments):
    return [max(x * x for x in xs) for xs in segments]


def distances(starts, edges):
    far, queue = {0: 0}, deque([0])
    while queue:
        node = queue.popleft()
        for to in edges[starts[node]:starts[node + 1]]:
            if to not in far:
                far[to] = far[node] + 1
                queue.append(to)
    return [far.get(node, -1) for node in range(len(starts) - 1)]


@oracle(NESTS + "bfs.fut", "[]i32")
def by_flags(starts, edges):
    return distances(starts, edges)


@oracle(NESTS + "bfs.fut", "[]i32")
def by_frontier(starts, edges):
    return distances(starts, edges)


@oracle(NESTS + "sparse.fut", "[]f64")
def by_index(n, rows, columns, values, x):
    return [sum((v * x[c] for r, c, v in zip(rows, columns, values) if r == i), 0.0) for i in range(n)]


@oracle(NESTS + "sparse.fut", "[]f64")
def by_rows(starts, columns, values, x):
    spans = zip(starts, starts[1:])
    return [sum((values[k] * x[columns[k]] for k in range(a, b)), 0.0) for a, b in spans]


@oracle(NESTS + "quicksort.fut", "[]i64")
def main____(starts, xs):
    segments = (sorted(xs[a:b]) for a, b in zip(starts, starts[1:]))
    return [sum(place * x for place, x in enumerate(ordered)) for ordered in segments]
