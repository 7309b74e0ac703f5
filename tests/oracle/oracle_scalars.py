"""Scalar arithmetic of each type: integers of unbounded size wrapped at the end; floats in double
precision, rounded once at the end.

For the basic operations on f16 and f32 that is exactly the operation in the narrow type. For
functions it is the correctly rounded value, up to the error of the double-precision library.
"""

import math
import struct

from futdata import FLOATS, INTS, round_to, wrap
from registry import oracle

SCALARS = "tests/programs/scalars/"


def truncated(x, y):
    quotient = abs(x) // abs(y)
    return -quotient if (x < 0) != (y < 0) else quotient


def comparisons(a, b):
    pairs = list(zip(a, b))
    return (
        [x == y for x, y in pairs], [x != y for x, y in pairs], [x < y for x, y in pairs],
        [x <= y for x, y in pairs], [x > y for x, y in pairs], [x >= y for x, y in pairs],
    )


def sign(x):
    return (x > 0) - (x < 0)


def int_oracles(t):
    path, arrays = f"{SCALARS}{t}.fut", f"[]{t}"
    signed, width = INTS[t]
    top = 2 ** (width - 1) - 1 if signed else 2**width - 1
    low = -top - 1 if signed else 0

    def bits(x):
        return x & (2**width - 1)

    @oracle(path, *[arrays] * 8)
    def arithmetic(a, b):
        pairs = list(zip(a, b))
        return (
            [x + y for x, y in pairs], [x - y for x, y in pairs], [x * y for x, y in pairs],
            [-x for x in a], [abs(x) for x in a], [sign(x) for x in a],
            [min(p) for p in pairs], [max(p) for p in pairs],
        )

    @oracle(path, *[arrays] * 4)
    def division(a, b):
        pairs = list(zip(a, b))
        return (
            [x // y for x, y in pairs], [x % y for x, y in pairs],
            [truncated(x, y) for x, y in pairs], [x - y * truncated(x, y) for x, y in pairs],
        )

    @oracle(path, arrays)
    def powers(a, b):
        return [x**y for x, y in zip(a, b)]

    @oracle(path, *[arrays] * 4)
    def bits_(a, b):
        pairs = list(zip(a, b))
        return (
            [x & y for x, y in pairs], [x | y for x, y in pairs], [x ^ y for x, y in pairs],
            [~x for x in a],
        )

    @oracle(path, *[arrays] * 3)
    def shifts(a, s):
        pairs = list(zip(a, s))
        return [x << k for x, k in pairs], [x >> k for x, k in pairs], [bits(x) >> k for x, k in pairs]

    @oracle(path, "[]i32", "[]i32", "[]i32", "[]i32", arrays, "i32")
    def counts(a):
        texts = [f"{bits(x):0{width}b}" for x in a]
        return (
            [s.count("1") for s in texts],
            [width - len(s.lstrip("0")) for s in texts],
            [width - len(s.rstrip("0")) for s in texts],
            [int(s[-4]) for s in texts], [x & 127 | 4 for x in a], width,
        )

    @oracle(path, arrays, arrays)
    def high(a, b):
        upper = [x * y >> width for x, y in zip(a, b)]
        return upper, [u + y for u, y in zip(upper, b)]

    oracle(path, *["[]bool"] * 6)(comparisons)

    @oracle(path, *[t] * 6)
    def summaries(a):
        return sum(a), math.prod(a), max(a, default=low), min(a, default=top), top, low


def ieee(op, x, y):
    """Returns x op y, with inf or nan where Python raises."""
    try:
        return op(x, y)
    except (ZeroDivisionError, ValueError):
        if x == 0 or math.isnan(x):
            return math.nan
        return math.copysign(math.inf, x) * math.copysign(1, y)


def float_oracles(t):
    path, arrays = f"{SCALARS}{t}.fut", f"[]{t}"
    code = FLOATS[t]
    word = code.translate(str.maketrans("efd", "HIQ"))

    @oracle(path, *[arrays] * 5)
    def arithmetic(a, b):
        pairs = list(zip(a, b))
        return (
            [x + y for x, y in pairs], [x - y for x, y in pairs], [x * y for x, y in pairs],
            [ieee(lambda p, q: p / q, x, y) for x, y in pairs], [-x for x in a],
        )

    @oracle(path, *[arrays] * 5)
    def others(a, b):
        pairs = list(zip(a, b))
        return (
            [min(p) for p in pairs], [max(p) for p in pairs], [abs(x) for x in a],
            [float(sign(x)) for x in a], [math.fmod(x, y) for x, y in pairs],
        )

    @oracle(path, *[arrays] * 4)
    def rounding(a):
        def keep(f, x):
            return math.copysign(f(x), x)

        return (
            [keep(math.floor, x) for x in a], [keep(math.ceil, x) for x in a],
            [keep(math.trunc, x) for x in a], [keep(round, x) for x in a],
        )

    oracle(path, *["[]bool"] * 6)(comparisons)

    @oracle(path, "[]bool", "[]bool", "[]u" + t[1:], arrays)
    def classes(a):
        words = [
            0 if math.isnan(x) else struct.unpack(word, struct.pack(code, x))[0] for x in a
        ]
        return [math.isnan(x) for x in a], [math.isinf(x) for x in a], words, a

    @oracle(path, *[arrays] * 7)
    def elementary(a):
        return (
            *([f(x) for x in a] for f in (math.sqrt, math.exp, math.log, math.sin, math.cos)),
            [math.atan(2 - x) for x in a], [x**1.5 for x in a],
        )

    @oracle(path, *[t] * 6)
    def summaries(a):
        total, product = 0.0, 1.0
        for x in a:
            total, product = round_to(total + x, t), round_to(product * x, t)
        inf = math.inf
        return total, product, max(a, default=-inf), min(a, default=inf), inf, -inf


def function_oracles(t):
    path, arrays = f"{SCALARS}{t}_functions.fut", f"[]{t}"
    pi = math.pi

    def table(name, *functions):
        """An oracle that applies each function to all elements. A function of two arguments gets
        the reversed array as the second."""

        def apply(a):
            pairs = list(zip(a, a[::-1]))
            return [
                [f(x) if f in one or f.__code__.co_argcount == 1 else f(x, y) for x, y in pairs]
                for f in functions
            ]

        one = {f for f in functions if not hasattr(f, "__code__")}
        apply.__name__ = name
        oracle(path, *[arrays] * len(functions))(apply)

    table("logarithms", math.log2, math.log10, math.log1p)
    table("roots", lambda x: 1 / math.sqrt(x), math.cbrt, lambda x: 1 / x,
          lambda x, y: math.hypot(x, y))
    table("trigonometry", math.tan, math.asin, math.acos, lambda x, y: math.atan2(x, y), math.atan)
    table("half_turns", lambda x: math.sin(pi * x), lambda x: math.cos(pi * x),
          lambda x: math.tan(pi * x / 3), lambda x: math.asin(x) / pi, lambda x: math.acos(x) / pi,
          lambda x: math.atan(x) / pi, lambda x, y: math.atan2(x, y) / pi)
    table("hyperbolic", math.sinh, math.cosh, math.tanh, math.asinh,
          lambda x: math.acosh(round_to(x + 3, t)), math.atanh)
    table("special", math.gamma, math.lgamma, math.erf, math.erfc)
    table("combined", lambda x, y: x * x + y, lambda x, y: x * x + y,
          lambda x, y: x + (y - x) * abs(x), lambda x, y: math.copysign(x, y), lambda x: x * 8)


def convert(x, source, target):
    """Converts a scalar. A signed integer is zero-extended to a wider unsigned type."""
    if target == "bool":
        return x != 0
    if source in INTS and target in INTS and target.startswith("u"):
        return x & (1 << INTS[source][1]) - 1
    return math.trunc(x) if target in INTS else float(x)


def conversion_oracles():
    def register(name, source, kinds):
        def from_(a):
            results = [[convert(x, source, k) for x in a] for k in kinds]
            return results if len(kinds) > 1 else results[0]

        from_.__name__ = name
        oracle(SCALARS + "conversions.fut", *[f"[]{k}" for k in kinds])(from_)

    for t in [*INTS, *FLOATS, "bool"]:
        kinds = [k for k in [*INTS, *FLOATS] if k != t and not (k == "f16" and t in INTS)]
        register(f"from_{t}", t, kinds + ["bool"] * (t != "bool"))
    register("from_negative_f64", "f64", ["i8", "i16", "i32", "i64", "f32", "f16"])
    register("from_small_i32", "i32", ["f16"])


for name in INTS:
    int_oracles(name)
for name in FLOATS:
    float_oracles(name)
    function_oracles(name)
conversion_oracles()


LARGE = SCALARS + "large_literals.fut"


@oracle(LARGE, "f64", "f64", "f64", "f64")
def doubles(x):
    return x * float(2**64 - 1), x * float(2**63), x * 1e24, x * -float(2**63 + 1)


@oracle(LARGE, "f32", "f32")
def singles(x):
    return x * float(2**64), x * -float(2**63)


@oracle(LARGE, "u64", "u64")
def unsigned(x):
    return wrap(x * (2**64 - 1), "u64"), wrap(x * (2**63 + 1), "u64")


@oracle(LARGE, "i64")
def least(x):
    return wrap(x * -(2**63), "i64")


@oracle(LARGE, "[]i32")
def matched(xs):
    cases = [float(2**64 - 1), -1.0, -float(2**64 - 1), -float(2**63)]
    return [cases.index(x) + 1 if x in cases else 5 for x in xs]
