"""The cases of the figure `ad`.

An argument is a function that takes a random source and returns values in the binary format.
"""

import array
import itertools
import math
from dataclasses import dataclass
from typing import Callable

from users_cases import f32, f64, steps, value
from values import matrix, vector

# The scalars of an argument of a reduction, scan or histogram, and the bins of a histogram.
SCALARS = 10_000_000
BINS = 1000
# Nuclides per material as in the small problem of XSBench.
MATERIALS = [34, 5, 4, 4, 27, 21, 21, 21, 21, 21, 9, 9]
NUCLIDES = 68
# The bones of a hand: two of the wrist, and five fingers of four bones.
PARENTS = [-1, 0] + [1 if bone % 4 == 2 else bone - 1 for bone in range(2, 22)]


@dataclass
class Case:
    """A program in `derivatives`, its arguments, its entry points, and the difference that results may have
    relative to the greatest element."""

    program: str
    arguments: list[Callable]
    primal: str = "primal"
    derivative: str = "derivative"
    tolerance: float = 1e-8

    @property
    def peer(self):
        """The name of the program in `peers/ad.py`."""
        return self.program if self.primal == "primal" else self.primal.removesuffix("_primal")


def integers(elem, code, shape, below):
    """Integers from 0 and below a bound."""
    def generate(source):
        data = source.randbytes(4 * math.prod(shape))
        return matrix(elem, shape, array.array(code, (number % below for number in memoryview(data).cast("I"))))

    return generate


def i32(*shape, below):
    return integers("i32", "i", shape, below)


def i64(*shape, below):
    return integers("i64", "q", shape, below)


def given(numbers):
    return lambda _source: vector("i32", array.array("i", numbers))


def labels(n):
    """Zeros and ones."""
    return lambda source: vector("f64", array.array("d", (byte & 1 for byte in source.randbytes(n))))


def clusters(n, k, d):
    """Points, and centres near the first points, so that each centre has points."""
    def generate(source):
        points = array.array("d", (source.random() for _ in range(n * d)))
        centres = array.array("d", (x + source.random() / 100 for x in points[:k * d]))
        return matrix("f64", (n, d), points) + matrix("f64", (k, d), centres)

    return generate


def energies(nuclides, points):
    """Ascending energies from 0 to 1 of each nuclide."""
    def generate(source):
        rows = ([0, *sorted(source.random() for _ in range(points - 2)), 1] for _ in range(nuclides))
        return matrix("f64", (nuclides, points), array.array("d", itertools.chain.from_iterable(rows)))

    return generate


def quantised(n):
    """Multiples of 1/64 from 1/4 to 1, whose sums are exact."""
    def generate(source):
        return vector("f32", array.array("f", ((16 + byte % 49) / 64 for byte in source.randbytes(n))))

    return generate


def factors(*shape):
    """Numbers whose logarithms are symmetric about 0: products neither overflow nor vanish."""
    def generate(source):
        entries = (math.exp((source.random() - 0.5) / 100) for _ in range(math.prod(shape)))
        return matrix("f32", shape, array.array("f", entries))

    return generate


def near_unit(n, size):
    """Matrices near the unit matrix: their products are well conditioned."""
    unit = [float(i == j) for i in range(size) for j in range(size)]

    def generate(source):
        entries = (x + (source.random() - 0.5) / 250 for _ in range(n) for x in unit)
        return matrix("f32", (n, size * size), array.array("f", entries))

    return generate


def lookups(n):
    """Energies and materials."""
    return [f64(n, low=0, high=1), i32(n, below=len(MATERIALS))]


def materials():
    """The first nuclide of each material, and the nuclides."""
    return [given(itertools.accumulate(MATERIALS, initial=0)), i32(sum(MATERIALS), below=NUCLIDES)]


def hand(vertices):
    """A model: parents, transforms and inverses of bones, weights and positions of vertices."""
    transforms = [f64(22, 3, 4), f64(22, 3, 4)]
    return [given(PARENTS), *transforms, f64(vertices, 22, low=0, high=0.1), f64(vertices, 3)]


def operator(kind, name, arguments):
    """A reduction, scan or histogram in single precision."""
    entry = f"{kind}_{name}"
    return Case("operators", arguments, entry, f"{entry}_derivative", tolerance=1e-3)


def seeds(*shape):
    return f32(*shape, low=0.5, high=1.5)


PAIRS, VECTORS = SCALARS // 2, SCALARS // 10
# The part of the entry point's name, the number of elements, their shape as far as it is the shape of bins, and the
# arguments.
OPERATORS = {
    "+": ("plus", SCALARS, [], [f32(SCALARS, low=0, high=1)]),
    "min": ("least", SCALARS, [], [f32(SCALARS)]),
    "*": ("product", SCALARS, [], [factors(SCALARS)]),
    "linear functions": ("linear", PAIRS, [], [f32(PAIRS), factors(PAIRS)]),
    "sums of products": ("pairs", PAIRS, [], [f32(PAIRS, low=0, high=1)] * 2),
    "vectors +": ("vector_plus", VECTORS, [10], [f32(VECTORS, 10, low=0, high=1)]),
    "vectors *": ("vector_product", VECTORS, [10], [factors(VECTORS, 10)]),
    "matrices 2x2": ("matrices2", SCALARS // 4, [4], [near_unit(SCALARS // 4, 2)]),
    "matrices 3x3": ("matrices3", SCALARS // 9, [9], [near_unit(SCALARS // 9, 3)]),
    "saturating +": ("saturating_plus", SCALARS, [], [quantised(SCALARS)]),
}
IN_REDUCTIONS = [name for name in OPERATORS if name != "saturating +"]
# Operators of histograms are commutative.
IN_HISTOGRAMS = ["+", "min", "*", "sums of products", "vectors +", "saturating +"]


def operators(kind, names):
    """Reductions or scans by operator."""
    return {f"{kind} {name}": operator(kind, OPERATORS[name][0], OPERATORS[name][3]) for name in names}


def histogram(name):
    """A histogram of an operator: bins, seeds and values."""
    entry, count, shape, values = OPERATORS[name]
    return operator("histogram", entry, [i64(count, below=BINS), seeds(BINS, *shape), *values])


# The goal on the geometric mean is on these.
MAIN = {
    "bundle adjustment": Case(
        "ba",
        [
            f64(21, 11), f64(11315, 3, low=3, high=5), f64(36455), f64(36455, 2), i32(36455, below=21),
            i32(36455, below=11315),
        ],
    ),
    "D-LSTM": Case("lstm", [f64(4, 2, 14), f64(4096, 14), f64(4, 2, 4, 14), f64(3, 14)]),
    "mixture": Case("gmm", [f64(1000, 64), f64(25), f64(25, 64), f64(25, 2080)]),
    "hand, simple": Case(
        "hand", [*hand(5000), i32(5000, below=5000), f64(5000, 3), f64(26)], "simple_primal", "simple_derivative"
    ),
    "hand, complicated": Case(
        "hand", [*hand(5000), i32(5000, 3, below=5000), f64(5000, 3), f64(26), f64(5000, 2, low=0)],
        "complicated_primal", "complicated_derivative",
    ),
    "RSBench": Case(
        "rsbench",
        [
            *lookups(20_000), i32(NUCLIDES, 100, 4, below=4), *materials(), f64(NUCLIDES, 100, 4, 8, low=0.1, high=1),
            f64(NUCLIDES, 100, 3), f64(NUCLIDES, 4, low=0.5, high=1), f64(sum(MATERIALS), low=0),
        ],
    ),
    "XSBench": Case(
        "xsbench",
        [
            *lookups(50_000), energies(NUCLIDES, 2000), *materials(), f64(NUCLIDES, 2000, 5, low=0),
            f64(sum(MATERIALS), low=0),
        ],
    ),
    "lattice Boltzmann": Case(
        "lbm", [steps(40), f64(100, 100, 9, low=0.1, high=0.2), f64(100, 100, low=0.8, high=1.2)],
    ),
    "k-means": Case("kmeans", [clusters(10_000, 100, 16)]),
    "logistic regression": Case("logistic", [f64(50_000, 32), labels(50_000), f64(32)]),
    "perceptron": Case(
        "mlp",
        [
            f32(1024, 784), i32(1024, below=10), f32(784, 128, low=-0.1, high=0.1), f32(128), f32(128, 10), f32(10),
        ],
        tolerance=1e-3,
    ),
    "Black-Scholes": Case(
        "black_scholes",
        [
            f64(500_000, low=50, high=150), f64(500_000, low=50, high=150), f64(500_000, low=0.1, high=0.5),
            f64(500_000, low=0.2, high=2), value("f64", 0.03),
        ],
    ),
    "heat": Case("heat", [steps(50), f64(256, 256), f64(256, 256), f64(256, 256, low=0.05, high=0.2)]),
}
OTHERS = {
    "least squares": Case("llsq", [value("i64", 16392), f64(128)]),
    "log-sum-exp": Case("lse", [f64(1_280_000, low=-5, high=5)]),
    "determinant": Case("det", [f64(8, 8)]),
    "differential equation": Case("ode", [value("i64", 100), f64(10_000, low=0.5, high=1.5)]),
}
def directions(function, arguments, forward, reverse):
    """A function's derivative in one direction as the primal, and in eight as the derivative."""
    for mode, shape in [("forward", forward), ("reverse", reverse)]:
        entry = f"{function}_{mode}"
        case = Case("directions", [*arguments, f64(8, *shape)], f"{entry}_primal", f"{entry}_derivative")
        yield f"{function.replace('_', ' ')}, {mode}", case


# Derivatives in eight directions, which the reference compiler lacks.
DIRECTIONS = {
    **dict(directions("heat", [f64(256, 256, low=0.05, high=0.2), f64(256, 256)], [256, 256], [256, 256])),
    **dict(directions("layer", [f64(2000, 500, low=-0.5, high=0.5), f64(500)], [500], [2000])),
    **dict(directions("log_sums", [f64(2000, 500, low=-0.5, high=0.5), f64(500)], [500], [2000])),
}
WITHOUT_REFERENCE = {"directions"}
# By the table of the report.
GROUPS = {
    "programs": MAIN, "other programs": OTHERS, "eight directions over one": DIRECTIONS,
    "reductions": operators("reduce", IN_REDUCTIONS), "scans": operators("scan", IN_REDUCTIONS),
    "histograms": {f"histogram {name}": histogram(name) for name in IN_HISTOGRAMS},
}
CASES = {name: case for group in GROUPS.values() for name, case in group.items()}
