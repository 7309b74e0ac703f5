"""`bench/programs/users/*.fut` except stencils, in doubles and fractions."""

import cmath
import heapq
import math
import re
from fractions import Fraction
from functools import cache

from futdata import f32, wrap
from registry import oracle

TOPICS = "bench/programs/users/"
ALGEBRA = TOPICS + "linear_algebra.fut"
GRAPHS = TOPICS + "graphs.fut"
SIGNALS = TOPICS + "signals.fut"
SORTING = TOPICS + "sorting.fut"
STATISTICS = TOPICS + "statistics.fut"
TEXT = TOPICS + "text.fut"


def minor(rows, i, j):
    """The rows without row `i` and column `j`."""
    return [row[:j] + row[j + 1:] for row in rows[:i] + rows[i + 1:]]


def determinant(rows):
    """By expansion along the first row, in fractions."""
    if not rows:
        return Fraction(1)
    return sum((-1) ** j * Fraction(x) * determinant(minor(rows, 0, j)) for j, x in enumerate(rows[0]) if x)


def solved(rows, right):
    """The solution of a linear system by Cramer's rule."""
    whole = determinant(rows)

    def replaced(j):
        return [row[:j] + [x] + row[j + 1:] for row, x in zip(rows, right)]

    return [determinant(replaced(j)) / whole for j in range(len(rows))]


@oracle(ALGEBRA, "[][]f64")
def gauss_jordan(a):
    """By cofactors."""
    whole, indices = determinant(a), range(len(a))
    return [[float((-1) ** (i + j) * determinant(minor(a, j, i)) / whole) for j in indices] for i in indices]


@oracle(ALGEBRA, "[][]f64")
def tridiagonal(lower, diagonal, upper, right):
    solutions = []
    for low, middle, up, values in zip(lower, diagonal, upper, right):
        indices = range(len(middle))
        bands = [{i - 1: low[i], i: middle[i], i + 1: up[i]} for i in indices]
        rows = [[band.get(j, 0.0) for j in indices] for band in bands]
        solutions.append([float(x) for x in solved(rows, values)])
    return solutions


@oracle(ALGEBRA, "[]f64")
def sparse_product(begins, columns, values, xs):
    matrix = [[0.0] * len(xs) for _ in begins[1:]]
    for i, row in enumerate(matrix):
        for k in range(begins[i], begins[i + 1]):
            row[columns[k]] += values[k]
    return [math.fsum(r * x for r, x in zip(row, xs)) for row in matrix]


@oracle(GRAPHS, "[]f64")
def page_rank(n, iterations, sources, targets):
    """By powers of the dense matrix of transitions."""
    damping = Fraction(85, 100)
    matrix = []
    for vertex in range(n):
        ends = [t for s, t in zip(sources, targets) if s == vertex] or range(n)
        shares = [Fraction(ends.count(t), len(ends)) for t in range(n)]
        matrix.append([damping * share + (1 - damping) / n for share in shares])
    ranks = [Fraction(1, n)] * n
    for _ in range(iterations):
        ranks = [sum(r * row[t] for r, row in zip(ranks, matrix)) for t in range(n)]
    return [float(rank) for rank in ranks]


@oracle(GRAPHS, "[][]f32")
def floyd_warshall(weights):
    """By Dijkstra's algorithm from each vertex; the diagonal is 0."""
    rows = []
    for start in range(len(weights)):
        done, queue = {}, [(0.0, start)]
        while queue:
            length, vertex = heapq.heappop(queue)
            if vertex not in done:
                done[vertex] = length
                for end, weight in enumerate(weights[vertex]):
                    heapq.heappush(queue, (length + weight, end))
        rows.append([done[end] for end in range(len(weights))])
    return rows


@oracle(SIGNALS, "[]f32", "[]f32")
def fft(real, imaginary):
    """By the definition of the discrete Fourier transform."""
    xs = list(map(complex, real, imaginary))
    n = len(xs)
    sums = [sum(x * cmath.exp(-2j * cmath.pi * (i * k % n) / n) for i, x in enumerate(xs)) for k in range(n)]
    return [z.real for z in sums], [z.imag for z in sums]


def window_sums(row):
    """Sums of five elements, of a row extended by its first and last elements."""
    extended = row[:1] * 2 + row + row[-1:] * 2
    return [math.fsum(extended[i:i + 5]) for i in range(len(row))]


@oracle(SIGNALS, "[][]f32")
def box_blur(image):
    """One axis after the other."""
    columns = [window_sums(list(column)) for column in zip(*map(window_sums, image))]
    return [[total / 25 for total in row] for row in zip(*columns)]


@oracle(SIGNALS, "[][]f32")
def integral_image(image):
    def sum_to(y, x):
        return math.fsum(value for row in image[:y + 1] for value in row[:x + 1])

    return [[sum_to(y, x) for x in range(len(row))] for y, row in enumerate(image)]


@oracle(SORTING, "[]i32")
def radix_sort_i32(xs):
    return sorted(xs)


@oracle(SORTING, "[]f32")
def radix_sort_f32(xs):
    return sorted(xs)


@oracle(SORTING, "[]i32")
def merge_sort(xs):
    return sorted(xs)


@oracle(SORTING, "[]i32")
def even_numbers(xs):
    return [x for x in xs if not x & 1]


@oracle(TEXT, "i64", "i64")
def words(text):
    lengths = [len(word) for word in re.findall(rb"[^ \n\t]+", bytes(text))]
    return len(lengths), max(lengths, default=0)


@oracle(TEXT, "i32")
def levenshtein(a, b):
    """By recursion on the lengths of the prefixes."""

    @cache
    def distance(i, j):
        if i == 0 or j == 0:
            return i + j
        replaced = distance(i - 1, j - 1) + (a[i - 1] != b[j - 1])
        return min(replaced, distance(i - 1, j) + 1, distance(i, j - 1) + 1)

    return distance(len(a), len(b))


def xorshift(seed):
    """The numbers of the generator xorshift32 after a seed."""
    state = seed
    while True:
        for shift in (13, -17, 5):
            state ^= wrap(state << shift if shift > 0 else state >> -shift, "u32")
        yield state


def generator(i):
    """The generator of iteration `i`."""
    return xorshift(wrap((i + 1) * 2654435769, "u32"))


@oracle(STATISTICS, "f64")
def pi(n):
    """In integers."""
    inside = 0
    for i in range(n):
        numbers = generator(i)
        inside += next(numbers) ** 2 + next(numbers) ** 2 < 2**64
    return 4 * inside / n


@oracle(STATISTICS, "f32")
def asian_option(paths, steps):
    strike, rate, volatility = 100, 0.05, 0.2
    payoffs = []
    for i in range(paths):
        numbers, motion, prices = generator(i), 0.0, []
        for step in range(1, steps + 1):
            first, second = (f32(next(numbers)) / 2**32 for _ in range(2))
            motion += math.sqrt(-2 * math.log(first) / steps) * math.cos(2 * math.pi * second)
            prices.append(100 * math.exp((rate - volatility**2 / 2) * step / steps + volatility * motion))
        payoffs.append(max(0.0, math.fsum(prices) / steps - strike))
    return math.exp(-rate) * math.fsum(payoffs) / paths


@oracle(STATISTICS, "[]f64", "[]i32")
def group_by(k, keys, values):
    groups = [[v for key, v in zip(keys, values) if key == group] for group in range(k)]
    return [math.fsum(group) for group in groups], [len(group) for group in groups]


@oracle(STATISTICS, "[][]i32", "[][]f32")
def nearest_neighbours(queries, points):
    """By sorting all points; the input has five or more."""
    indices, squares = [], []
    for query in queries:
        by_distance = sorted((sum((a - b) ** 2 for a, b in zip(query, p)), i) for i, p in enumerate(points))
        squares.append([square for square, _ in by_distance[:5]])
        indices.append([i for _, i in by_distance[:5]])
    return indices, squares


def last_state(variance, measurements):
    """The expected position and velocity given all measurements at once: both have a joint normal
    distribution."""
    noise, steps = Fraction(1, 100), len(measurements)
    xx, xv, vv = Fraction(1), Fraction(0), Fraction(1)
    known = []
    for _ in range(steps):
        xx, xv, vv = xx + 2 * xv + vv + noise, xv + vv, vv + noise
        known.append((xx, xv))

    def covariance(i, j):
        """Of the positions after two steps."""
        xx, xv = known[min(i, j)]
        return xx + abs(i - j) * xv

    rows = [[covariance(i, j) + (i == j) * Fraction(variance) for j in range(steps)] for i in range(steps)]
    weights = solved(rows, measurements)
    position = sum(w * covariance(i, steps - 1) for i, w in enumerate(weights))
    return float(position), float(sum(w * xv for w, (_, xv) in zip(weights, known)))


@oracle(STATISTICS, "[]f32", "[]f32")
def kalman(variances, measurements):
    states = list(map(last_state, variances, measurements))
    return [x for x, _ in states], [v for _, v in states]
