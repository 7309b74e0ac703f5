#!/usr/bin/env python3
"""Writes operators.txt, which a test of the crate `prim` reads.

Needs `numpy` and `mpmath`. Integers are computed with unbounded precision and truncated to their width, floats
with numpy and exact fractions. Each line is

    KIND NAME.TYPE OPERAND... RESULT

with values as hexadecimal bits; a result `-` means that there is none. A fixed part of the pairs of
operands is used, to keep the file small.
"""
import math
from fractions import Fraction

import mpmath
import numpy as np

rng = np.random.default_rng(7)
WIDTHS = [8, 16, 32, 64]
FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
lines = []


def emit(kind, name, args, result):
    words = " ".join(f"{a:x}" for a in args)
    lines.append(f"{kind} {name} {words} " + ("-" if result is None else f"{result:x}"))


def eighths(j):
    """The f64 nearest to 2^(j/8): 2^j lies between the eighth powers of the midpoints to its
    neighbours."""
    near = np.float64(2 ** (j / 8))
    for x in (near, np.nextafter(near, np.float64(0)), np.nextafter(near, np.float64(3))):
        below = Fraction(float(np.nextafter(x, np.float64(0)))) + Fraction(float(x))
        above = Fraction(float(np.nextafter(x, np.float64(3)))) + Fraction(float(x))
        if (below / 2) ** 8 <= 2**j <= (above / 2) ** 8:
            return x
    raise ValueError(j)


def signed(x, w):
    return x - (1 << w) if x >> (w - 1) else x


def ints(w):
    edge = [0, 1, 2, 3, 7, w - 1, w, (1 << w) - 1, (1 << w) - 7, 1 << (w - 1), (1 << (w - 1)) - 1]
    more = [int.from_bytes(rng.bytes(w // 8), "little") for _ in range(3)]
    return edge + more


def trunc_div(a, b):
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


INT_BINARY = {
    "add": lambda a, b, ua, ub, w: a + b,
    "sub": lambda a, b, ua, ub, w: a - b,
    "mul": lambda a, b, ua, ub, w: a * b,
    "sdiv": lambda a, b, ua, ub, w: a // b if b else None,
    "smod": lambda a, b, ua, ub, w: a % b if b else None,
    "squot": lambda a, b, ua, ub, w: trunc_div(a, b) if b else None,
    "srem": lambda a, b, ua, ub, w: a - b * trunc_div(a, b) if b else None,
    "udiv": lambda a, b, ua, ub, w: ua // ub if ub else None,
    "umod": lambda a, b, ua, ub, w: ua % ub if ub else None,
    "smin": lambda a, b, ua, ub, w: min(a, b),
    "smax": lambda a, b, ua, ub, w: max(a, b),
    "umin": lambda a, b, ua, ub, w: min(ua, ub),
    "umax": lambda a, b, ua, ub, w: max(ua, ub),
    "shl": lambda a, b, ua, ub, w: ua << min(ub, w),
    "lshr": lambda a, b, ua, ub, w: ua >> min(ub, w),
    "ashr": lambda a, b, ua, ub, w: a >> min(ub, w),
    "and": lambda a, b, ua, ub, w: ua & ub,
    "or": lambda a, b, ua, ub, w: ua | ub,
    "xor": lambda a, b, ua, ub, w: ua ^ ub,
    "pow": lambda a, b, ua, ub, w: pow(ua, ub, 1 << w),
}
INT_UNARY = {
    "neg": lambda a, ua, w: -a,
    "not": lambda a, ua, w: ~a,
    "abs": lambda a, ua, w: abs(a),
    "ssignum": lambda a, ua, w: (a > 0) - (a < 0),
    "usignum": lambda a, ua, w: int(ua > 0),
    "clz": lambda a, ua, w: w - ua.bit_length(),
    "ctz": lambda a, ua, w: (ua & -ua).bit_length() - 1 if ua else w,
    "popc": lambda a, ua, w: bin(ua).count("1"),
}
INT_COMPARE = {
    "eq": lambda a, b, ua, ub: a == b,
    "slt": lambda a, b, ua, ub: a < b,
    "sle": lambda a, b, ua, ub: a <= b,
    "ult": lambda a, b, ua, ub: ua < ub,
    "ule": lambda a, b, ua, ub: ua <= ub,
}


def integers():
    for w in WIDTHS:
        mask = (1 << w) - 1
        for ua in ints(w):
            a = signed(ua, w)
            for name, f in INT_UNARY.items():
                emit("unary", f"{name}.i{w}", [ua], f(a, ua, w) & mask)
            for to in WIDTHS:
                emit("convert", f"sext.i{w}.i{to}", [ua], a & ((1 << to) - 1))
                emit("convert", f"zext.i{w}.i{to}", [ua], ua & ((1 << to) - 1))
            for name in FLOATS:
                emit("convert", f"sitofp.i{w}.{name}", [ua], nearest(Fraction(a), name))
                emit("convert", f"uitofp.i{w}.{name}", [ua], nearest(Fraction(ua), name))
        for i, ua in enumerate(ints(w)):
            for ub in ints(w)[i % 4 :: 4]:
                a, b = signed(ua, w), signed(ub, w)
                for name, f in INT_BINARY.items():
                    r = f(a, b, ua, ub, w)
                    emit("binary", f"{name}.i{w}", [ua, ub], None if r is None else r & mask)
                for name, f in INT_COMPARE.items():
                    emit("compare", f"{name}.i{w}", [ua, ub], int(f(a, b, ua, ub)))


def layout(name):
    return {"f16": (10, 15), "f32": (23, 127), "f64": (52, 1023)}[name]


def nearest(x, name, negative_zero=False):
    """Bits of the float nearest to a fraction, ties to even."""
    fraction_bits, bias = layout(name)
    width = np.dtype(FLOATS[name]).itemsize * 8
    sign = int(x < 0 or negative_zero) << (width - 1)
    x = abs(x)
    if x == 0:
        return sign
    top = x.numerator.bit_length() - x.denominator.bit_length()
    if x < Fraction(2) ** top:
        top -= 1
    scale = max(top, 1 - bias) - fraction_bits
    bits = (max(top + bias, 1) - 1 << fraction_bits) + round(x / Fraction(2) ** scale)
    return sign | min(bits, (2 * bias + 1) << fraction_bits)


def bits_of(x):
    return int.from_bytes(np.asarray(x).tobytes(), "little")


def special(name):
    t = FLOATS[name]
    info = np.finfo(t)
    values = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -7.0, 0.1, 100.25, 300.0,
              -129.5, 65504.0, math.inf, -math.inf, info.tiny, info.max, -info.max, info.smallest_subnormal]
    many = [t(v) for v in values]
    raw = np.frombuffer(rng.bytes(np.dtype(t).itemsize * 6), dtype=t)
    return many + [v for v in raw if np.isfinite(v)]


def rounded(x, mode):
    if not math.isfinite(x):
        return x
    return math.copysign(float(mode(x)), x)


def exact(name, x, y, f):
    """Bits of the rounded exact result if both operands are finite and it is not 0; else None."""
    if np.isfinite(x) and np.isfinite(y) and f(Fraction(float(x)), Fraction(float(y))) != 0:
        return nearest(f(Fraction(float(x)), Fraction(float(y))), name)
    return None


def floats():
    for j in range(8):
        for high in (0, 0x4338000000000800, 0xC0590000000000A8, 0x7FF8000000000000):
            emit("unary", "fexp2eighths.f64", [high + j], bits_of(eighths(j)))
    for name, t in FLOATS.items():
        xs = special(name)
        for x in xs:
            b = bits_of(x)
            wide = float(x)
            emit("unary", f"fneg.{name}", [b], bits_of(-x))
            emit("unary", f"fabs.{name}", [b], bits_of(np.abs(x)))
            emit("unary", f"fsignum.{name}", [b], bits_of(t((wide > 0) - (wide < 0))))
            if wide >= 0:
                emit("unary", f"fsqrt.{name}", [b], bits_of(np.sqrt(x)))
            for op, mode in (("ffloor", math.floor), ("fceil", math.ceil), ("fround", round),
                             ("ftrunc", math.trunc)):
                emit("unary", f"{op}.{name}", [b], bits_of(t(rounded(wide, mode))))
            for w in WIDTHS:
                top = 1 << (w - 1)
                whole = math.trunc(wide) if math.isfinite(wide) else 0
                s = max(-top, min(top - 1, whole))
                u = s if wide < 0 else min(2 * top - 1, whole)
                emit("convert", f"fptosi.{name}.i{w}", [b], s & (2 * top - 1))
                emit("convert", f"fptoui.{name}.i{w}", [b], u & (2 * top - 1))
            for to in FLOATS:
                if math.isfinite(wide):
                    r = nearest(Fraction(wide), to, math.copysign(1, wide) < 0)
                    emit("convert", f"fpconv.{name}.{to}", [b], r)
            emit("convert", f"ftob.{name}.bool", [b], int(wide != 0))
            emit("convert", f"tobits.{name}.i{t(0).nbytes * 8}", [b], b)
            emit("convert", f"frombits.i{t(0).nbytes * 8}.{name}", [b], b)
        for i, x in enumerate(xs):
            for y in xs[i % 5 :: 5]:
                a, b = bits_of(x), bits_of(y)
                for op, f in (("fadd", lambda p, q: p + q), ("fsub", lambda p, q: p - q),
                              ("fmul", lambda p, q: p * q),
                              ("fdiv", lambda p, q: p / q if q else Fraction(0))):
                    r = exact(name, x, y, f)
                    if r is not None:
                        emit("binary", f"{op}.{name}", [a, b], r)
                if np.isfinite(x) and y != 0:
                    r = math.fmod(float(x), float(y))
                    emit("binary", f"fmod.{name}", [a, b], bits_of(t(r)))
                low, high = sorted((x, y), key=lambda v: (v, math.copysign(1, v)))
                emit("binary", f"fmin.{name}", [a, b], bits_of(low))
                emit("binary", f"fmax.{name}", [a, b], bits_of(high))
                emit("compare", f"eq.{name}", [a, b], int(x == y))
                emit("compare", f"flt.{name}", [a, b], int(x < y))
                emit("compare", f"fle.{name}", [a, b], int(x <= y))
        nan = bits_of(t("nan"))
        one = bits_of(t(1))
        for op in ("fmin", "fmax"):
            emit("binary", f"{op}.{name}", [nan, one], one)
            emit("binary", f"{op}.{name}", [one, nan], one)
        for op in ("eq", "flt", "fle"):
            emit("compare", f"{op}.{name}", [nan, nan], 0)
        for w in WIDTHS:
            emit("convert", f"fptosi.{name}.i{w}", [nan], 0)
            emit("convert", f"fptoui.{name}.i{w}", [nan], 0)


def half_ties():
    """Between adjacent f16 numbers: the midpoint and its neighbours."""
    for low in list(range(0, 40)) + [0x3FF, 0x400, 0x3C00, 0x3C01, 0x7BFE, 0x7BFF]:
        a = float(np.uint16(low).view(np.float16))
        b = 65536.0 if low == 0x7BFF else float(np.uint16(low + 1).view(np.float16))
        middle = (a + b) / 2
        for x in (np.nextafter(middle, 0), middle, np.nextafter(middle, np.inf)):
            emit("convert", "fpconv.f64.f16", [bits_of(x)], nearest(Fraction(float(x)), "f16"))


def half_turns(part):
    """`sin` (0), `cos` (1) or `tan` (2) of half turns: by quarters, so that zeros are exact."""
    def value(x):
        quarters = round(2 * x)
        angle = math.pi * (x - quarters / 2)
        s, c = math.sin(angle), math.cos(angle)
        s, c = [(s, c), (c, -s), (-s, -c), (-c, s)][quarters % 4]
        if part == 2 and c == 0:
            raise OverflowError
        return (s, c, c and s / c)[part]
    return value


def polygamma(order):
    """A derivative of digamma, rounded once."""
    return lambda x: float(mpmath.polygamma(order, mpmath.mpf(x)))


MATH = {
    "exp": math.exp, "exp2": lambda x: 2.0 ** x, "exp10": lambda x: 10.0 ** x,
    "expm1": math.expm1, "log": math.log, "log2": math.log2, "log10": math.log10,
    "log1p": math.log1p, "sin": math.sin, "cos": math.cos, "tan": math.tan, "asin": math.asin,
    "acos": math.acos, "atan": math.atan, "sinh": math.sinh, "cosh": math.cosh,
    "tanh": math.tanh, "asinh": math.asinh, "acosh": math.acosh, "atanh": math.atanh,
    "cbrt": lambda x: math.copysign(abs(x) ** (1 / 3), x), "erf": math.erf, "erfc": math.erfc,
    "gamma": math.gamma, "lgamma": math.lgamma, "digamma": polygamma(0), "trigamma": polygamma(1),
    "tetragamma": polygamma(2),
    "sinpi": half_turns(0), "cospi": half_turns(1), "tanpi": half_turns(2),
    "asinpi": lambda x: math.asin(x) / math.pi, "acospi": lambda x: math.acos(x) / math.pi,
    "atanpi": lambda x: math.atan(x) / math.pi, "atan2pi": lambda y, x: math.atan2(y, x) / math.pi,
    "atan2": math.atan2, "pow": math.pow, "hypot": math.hypot, "copysign": math.copysign,
    "ldexp": lambda x, e: math.ldexp(x, int(e)),
}


def functions():
    """Results in binary64 for operands that are exact in every type."""
    for name, f in MATH.items():
        two = name in ("atan2", "atan2pi", "pow", "hypot", "copysign", "ldexp")
        for x in (0.25, 0.75, 1.0, 1.5, 3.0, -0.5, -2.0):
            args = [x, 2.0] if two else [x]
            try:
                r = f(*args)
            except (ValueError, OverflowError, ZeroDivisionError):
                continue
            emit("math", name, [bits_of(np.float64(a)) for a in args], bits_of(np.float64(r)))


with np.errstate(all="ignore"):
    integers()
    floats()
    half_ties()
    functions()
with open("operators.txt", "w") as out:
    out.write("\n".join(lines) + "\n")
