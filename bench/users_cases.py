"""The cases of the figure `users`.

An argument is a function that takes a random source and returns values in the binary format.
"""

import array
import itertools
import math
from dataclasses import dataclass
from typing import Callable

from values import matrix, scalar


@dataclass
class Case:
    """A program below `programs`, its entry point, its arguments, the number of operations if it is a measure of
    speed, and the relative difference that results may have."""

    program: str
    entry: str
    arguments: list[Callable]
    operations: int | None = None
    tolerance: float = 1e-3


# Results are equal.
EXACT = 0


def value(elem, number):
    return lambda _source: scalar(elem, number)


def steps(number):
    return value("i32", number)


def f32(*shape, low=-0.5, high=0.5):
    """Floats between bounds."""
    return floats("f32", "f", shape, low, high)


def f64(*shape, low=-0.5, high=0.5):
    return floats("f64", "d", shape, low, high)


def floats(elem, code, shape, low, high):
    def generate(source):
        entries = (low + (high - low) * source.random() for _ in range(math.prod(shape)))
        return matrix(elem, shape, array.array(code, entries))

    return generate


def i32(count, below=None):
    """Integers from 0 and below a bound, or of the whole range."""
    def generate(source):
        data = source.randbytes(4 * count)
        if below is not None:
            data = array.array("i", (number % below for number in memoryview(data).cast("I")))
        return matrix("i32", (count,), data)

    return generate


def bits(*shape):
    return lambda source: matrix("u8", shape, bytes(byte & 1 for byte in source.randbytes(math.prod(shape))))


def characters(count, letters):
    """A text of these letters, each as frequent as it is in `letters`."""
    table = bytes(ord(letters[byte % len(letters)]) for byte in range(256))

    def generate(source):
        blocks = [source.randbytes(min(1 << 24, count - at)) for at in range(0, count, 1 << 24)]
        return matrix("u8", (count,), b"".join(blocks).translate(table))

    return generate


def positive_definite(n):
    def generate(_source):
        entries = array.array("d", (1 / (1 + abs(i - j)) + (i == j) * 2 for i in range(n) for j in range(n)))
        return matrix("f64", (n, n), entries)

    return generate


def sparse_rows(rows, columns, most):
    """The beginnings of rows, and columns and values of up to `most` entries per row."""
    def generate(source):
        counts = [source.randrange(most + 1) for _ in range(rows)]
        begins = array.array("i", itertools.accumulate(counts, initial=0))
        entries = begins[-1]
        return matrix("i32", (rows + 1,), begins) + i32(entries, columns)(source) + f64(entries)(source)

    return generate


def square(n, elem=f32):
    return [elem(n, n), elem(n, n)]


def product(entry, arguments, operations):
    # Peers add in another order, and compute distances by a product.
    return Case("users", entry, arguments, operations, tolerance=2e-2)


SIZES = (32, 64, 100, 128, 256, 512, 1000, 1024, 2048, 4096)
CASES = {f"product {n}": product("multiply", square(n), 2 * n**3) for n in SIZES}
CASES |= {f"product f64 {n}": product("multiply_f64", square(n, f64), 2 * n**3) for n in (256, 1024, 2048)}
CASES |= {
    "product 4096x64x4096": product("multiply", [f32(4096, 64), f32(64, 4096)], 2 * 64 * 4096**2),
    "product 64x4096x64": product("multiply", [f32(64, 4096), f32(4096, 64)], 2 * 4096 * 64**2),
    "product 16x2048x2048": product("multiply", [f32(16, 2048), f32(2048, 2048)], 2 * 16 * 2048**2),
    "product A'B 1024": product("multiply_left_transposed", square(1024), 2 * 1024**3),
    "product AB' 1024": product("multiply_right_transposed", square(1024), 2 * 1024**3),
    "products 1000 of 32": product("multiply_batch", [f32(1000, 32, 32), f32(1000, 32, 32)], 2 * 1000 * 32**3),
    "least sums 512": product("least_sums", square(512), 2 * 512**3),
    "perceptron": product(
        "perceptron", [f32(1024, 784), f32(784, 512), f32(512), f32(512, 10), f32(10)], 827_000_000
    ),
    "convolution": product("convolution", [f32(32, 130, 130), f32(32, 32, 3, 3)], 2 * 128 * 128 * 32 * 32 * 9),
    "attention": product("attention", [f32(1024, 64)] * 3, 4 * 1024**2 * 64),
    "layer norm": product("layer_norm", [f32(4096, 768), f32(768), f32(768)], 8 * 4096 * 768),
    "distances": product("distances", [f32(2000, 32), f32(2000, 32)], 3 * 2000**2 * 32),
    "kernel sums": product("kernel_sums", [f32(2000, 8), f32(2000, 8), f32(2000)], 3 * 2000**2 * 8),
    "k-means step": product("kmeans_step", [f32(100_000, 16), f32(64, 16)], 3 * 100_000 * 64 * 16),
    "heat": Case("users", "heat", [steps(100), f32(1000, 1000)], 4 * 100 * 1000**2),
    "life": Case("users", "life", [steps(100), bits(1000, 1000)], 10 * 100 * 1000**2, EXACT),
    "cholesky 500": Case("users", "cholesky", [positive_definite(500)], 500**3 // 3),
}
CASES |= {
    "gauss-jordan 500": Case("users/linear_algebra", "gauss_jordan", [f64(500, 500)], 4 * 500**3),
    "tridiagonal": Case(
        "users/linear_algebra", "tridiagonal",
        [f64(10_000, 100), f64(10_000, 100, low=2, high=3), f64(10_000, 100), f64(10_000, 100)], 8 * 10_000 * 100,
    ),
    "sparse product": Case(
        "users/linear_algebra", "sparse_product", [sparse_rows(100_000, 100_000, 80), f64(100_000)], 2 * 40 * 100_000
    ),
    "radix sort i32": Case("users/sorting", "radix_sort_i32", [i32(1_000_000)], tolerance=EXACT),
    "radix sort f32": Case("users/sorting", "radix_sort_f32", [f32(1_000_000)], tolerance=EXACT),
    "merge sort": Case("users/sorting", "merge_sort", [i32(1_000_000)], tolerance=EXACT),
    "filter": Case("users/sorting", "even_numbers", [i32(10_000_000)], tolerance=EXACT),
    "page rank": Case(
        "users/graphs", "page_rank",
        [value("i64", 100_000), steps(20), i32(1_000_000, 100_000), i32(1_000_000, 100_000)], 2 * 20 * 1_000_000,
    ),
    "floyd-warshall 500": Case("users/graphs", "floyd_warshall", [f32(500, 500, low=0, high=1)], 2 * 500**3),
    "fft 2^20": Case("users/signals", "fft", [f32(1 << 20), f32(1 << 20)], 5 * 20 * (1 << 20)),
    "box blur": Case("users/signals", "box_blur", [f32(2000, 2000)], 25 * 2000**2),
    "integral image": Case("users/signals", "integral_image", [f32(2000, 2000)], 2 * 2000**2),
    "words": Case("users/text", "words", [characters(50_000_000, "eeettaaooiinnsshhrdlu      \n")], tolerance=EXACT),
    "levenshtein 4000": Case(
        "users/text", "levenshtein", [characters(4000, "acgt"), characters(4000, "acgt")], 4 * 4000**2, EXACT
    ),
    "pi": Case("users/statistics", "pi", [value("i64", 10_000_000)]),
    "option": Case("users/statistics", "asian_option", [value("i64", 1_000_000), steps(16)]),
    "group by": Case(
        "users/statistics", "group_by", [value("i64", 100_000), i32(10_000_000, 100_000), f64(10_000_000)]
    ),
    "nearest neighbours": Case(
        "users/statistics", "nearest_neighbours", [f32(1000, 8), f32(10_000, 8)], 3 * 1000 * 10_000 * 8
    ),
    "kalman": Case(
        "users/statistics", "kalman", [f32(100_000, low=0.5, high=1.5), f32(100_000, 64)], 25 * 100_000 * 64
    ),
    "jacobi": Case("users/stencils", "jacobi", [steps(100), f32(1000, 1000), f32(1000, 1000)], 5 * 100 * 1000**2),
    "wave": Case("users/stencils", "wave", [steps(100), f32(1000, 1000)], 9 * 100 * 1000**2),
    "diffusion": Case("users/stencils", "diffusion", [steps(50), f32(128, 128, 128)], 8 * 50 * 128**3),
}

# The goal is on the geometric mean over these.
MAIN = [
    "product 512", "product 1024", "product 2048", "product 4096x64x4096", "product A'B 1024",
    "product f64 1024", "products 1000 of 32", "perceptron", "convolution", "attention", "layer norm",
    "cholesky 500", "gauss-jordan 500", "radix sort f32", "radix sort i32", "merge sort", "life", "pi", "fft 2^20",
    "group by", "nearest neighbours", "page rank", "sparse product", "words", "floyd-warshall 500",
    "levenshtein 4000", "tridiagonal", "box blur", "integral image", "kalman", "filter", "option",
]
