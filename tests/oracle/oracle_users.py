"""`bench/programs/users.fut` except its stencils: products, layers, k-means, Cholesky, in doubles."""

import math
from fractions import Fraction
from statistics import fmean, pvariance

from registry import oracle

USERS = "bench/programs/users.fut"


def transposed(rows):
    return [list(column) for column in zip(*rows)]


def dot(xs, ys):
    return math.fsum(x * y for x, y in zip(xs, ys))


def product(a, b):
    """The matrix product as a sum of outer products."""
    result = [[0.0] * len(b[0]) for _ in a]
    for column, row in zip(transposed(a), b):
        for i, x in enumerate(column):
            for j, y in enumerate(row):
                result[i][j] += x * y
    return result


@oracle(USERS, "[][]f32")
def multiply(a, b):
    return product(a, b)


@oracle(USERS, "[][]f64")
def multiply_f64(a, b):
    return product(a, b)


@oracle(USERS, "[][]f32")
def multiply_left_transposed(a, b):
    return product(transposed(a), b)


@oracle(USERS, "[][]f32")
def multiply_right_transposed(a, b):
    return product(a, transposed(b))


@oracle(USERS, "[][][]f32")
def multiply_batch(a, b):
    return [product(*matrices) for matrices in zip(a, b)]


@oracle(USERS, "[][]f32")
def least_sums(a, b):
    result = [[math.inf] * len(b[0]) for _ in a]
    for column, row in zip(transposed(a), b):
        result = [[min(z, x + y) for z, y in zip(zs, row)] for zs, x in zip(result, column)]
    return result


def layer(x, weights, bias):
    """A product plus a bias: the bias is the last row of the weights, for a constant input 1."""
    return product([row + [1.0] for row in x], weights + [bias])


@oracle(USERS, "[][]f32")
def perceptron(x, w1, b1, w2, b2):
    hidden = [[value if value > 0 else 0.0 for value in row] for row in layer(x, w1, b1)]
    return layer(hidden, w2, b2)


@oracle(USERS, "[][][]f32")
def convolution(image, kernel):
    """Adds each pixel to the results whose windows contain it."""
    height, width = len(image[0]) - 2, len(image[0][0]) - 2
    result = [[[0.0] * width for _ in range(height)] for _ in kernel]
    pixels = [(c, y, x, v) for c, rows in enumerate(image) for y, row in enumerate(rows) for x, v in enumerate(row)]
    for o, channels in enumerate(kernel):
        for c, y, x, value in pixels:
            for i in range(max(0, y - 2), min(height, y + 1)):
                for j in range(max(0, x - 2), min(width, x + 1)):
                    result[o][i][j] += value * channels[c][y - i][x - j]
    return result


@oracle(USERS, "[][]f32")
def attention(q, k, v):
    rows = []
    for query in q:
        weights = [math.exp(dot(query, key) / math.sqrt(len(query))) for key in k]
        rows.append([dot(weights, column) / sum(weights) for column in transposed(v)])
    return rows


@oracle(USERS, "[][]f32")
def layer_norm(x, gain, bias):
    rows = []
    for row in x:
        mean, deviation = fmean(row), math.sqrt(pvariance(row) + 1e-5)
        rows.append([(a - mean) / deviation * g + b for a, g, b in zip(row, gain, bias)])
    return rows


@oracle(USERS, "[][]f32")
def distances(xs, ys):
    return [[math.dist(x, y) for y in ys] for x in xs]


@oracle(USERS, "[]f32")
def kernel_sums(xs, ys, weights):
    return [math.fsum(w * math.exp(-math.dist(x, y) ** 2) for y, w in zip(ys, weights)) for x in xs]


@oracle(USERS, "[][]f32", "[]i32")
def kmeans_step(points, centres):
    clusters = [[] for _ in centres]
    for point in points:
        squares = [sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(point, centre)) for centre in centres]
        clusters[squares.index(min(squares))].append(point)
    means = [[fmean(column) for column in zip(*c)] if c else [0.0] * len(centres[0]) for c in clusters]
    return means, [len(cluster) for cluster in clusters]


@oracle(USERS, "[][]f64")
def cholesky(a):
    """By elimination in fractions: a row of the upper triangle over the root of its pivot is a column
    of the result."""
    rows = [[Fraction(x) for x in row] for row in a]
    columns = []
    for k, pivot_row in enumerate(rows):
        for row in rows[k + 1:]:
            factor = row[k] / pivot_row[k]
            row[:] = [x - factor * p for x, p in zip(row, pivot_row)]
        columns.append([float(x) / math.sqrt(pivot_row[k]) for x in pivot_row])
    return transposed(columns)
