"""Derives the constants of prelude/libm32.fut and prelude/libm64.fut.

`python coefficients.py [NAME...]` prints them with the approximation error of
each polynomial (log2, relative to the function unless noted);
`python coefficients.py --check` tests that the prelude has them.
"""

import re
import struct
import sys
from pathlib import Path

from mpmath import ldexp, mp, mpf, sqrt, exp, log, log1p, sin, cos, tan, atan, asin, sinh, tanh, atanh

from minimax import fit, split

PRELUDE = Path(__file__).resolve().parents[3] / "prelude"


def text(x, bits):
    """The shortest decimal text of a float."""
    if bits == 53:
        return repr(float(x))
    for digits in range(1, 18):
        shown = f"{float(x):.{digits}g}"
        if struct.pack("f", float(shown)) == struct.pack("f", float(x)):
            return repr(float(shown))
    raise ValueError(x)


LN2 = log(2)
pi = +mp.pi
HALF_LN2 = LN2 / 2 * mpf("1.0005")


def tail(f, known, power):
    """`f` without the terms `known` (from power 0), over `x**power`; its Taylor
    value stands in near 0."""

    def g(x):
        if abs(x) < mpf(10) ** -25:
            x = mpf(10) ** -25
        return (f(x) - sum(c * x**i for i, c in enumerate(known))) / x**power

    return g


def in_square(f, lead, power):
    """The odd function `f(sqrt s) - lead sqrt s` over `sqrt(s)**power`, of s."""

    def g(s):
        x = sqrt(max(s, mpf(10) ** -40))
        return (f(x) - lead * x) / x**power

    return g


def poly(f, count, a, b, weight, bits, **more):
    return lambda: fit(f, range(count), a, b, weight, bits, **more)


def exp_tail(bits, count):
    return poly(tail(exp, [1, 1], 2), count, -HALF_LN2, HALF_LN2, lambda x: x * x / exp(x), bits)


def log_tail(bits, count):
    third = mpf(1) / 3
    w = lambda x: abs(x**3 / log1p(x)) if x else mpf(0)
    return poly(tail(log1p, [0, 1, -mpf(1) / 2], 3), count, -third, third, w, bits)


def odd(f, count, b, bits):
    """`f x = x + x^3 p(x^2)` for |x| <= b, relative to f."""
    return poly(in_square(f, 1, 3), count, 0, mpf(b) ** 2, lambda s: sqrt(s) ** 3 / f(sqrt(s)) if s else mpf(0), bits)


def scaled(f, count, b, bits):
    """`f x = x p(x)` for |x| <= b, relative to f."""
    return poly(tail(f, [], 1), count, -b, b, lambda x: abs(x / f(x)) if x else mpf(1), bits)


POLYNOMIALS = {
    # exp r = 1 + r + r^2 p(r)
    "exp32": (24, exp_tail(24, 5)),
    "exp64": (53, exp_tail(53, 10)),
    # log (1 + f) = f - f^2 / 2 + f^3 p(f)
    "log32": (24, log_tail(24, 8)),
    # atanh s = s + s^3 p(s^2)
    "log64": (53, odd(atanh, 7, "0.2001", 53)),
    # f x = x + x^3 p(x^2)
    # Bent down by 2^-26 at pi / 2, so that no result rounds to more than 1.
    "sin32": (24, odd(lambda x: sin(x) - mpf(2) ** -26 * (2 * x / pi) ** 9, 4, pi / 2 * mpf("1.0005"), 24)),
    "sin64": (53, odd(sin, 9, pi / 2 * mpf("1.0005"), 53)),
    "tan32": (24, odd(tan, 7, pi / 4 * mpf("1.0005"), 24)),
    "tan64": (53, odd(tan, 14, pi / 4 * mpf("1.0005"), 53)),
    "atan32": (24, odd(atan, 8, 1, 24)),
    "atan64": (53, odd(atan, 20, 1, 53)),
    "asin32": (24, odd(asin, 5, "0.5", 24)),
    "asin64": (53, odd(asin, 12, "0.5", 53)),
    "sinh32": (24, odd(sinh, 4, 1, 24)),
    "sinh64": (53, odd(sinh, 8, 1, 53)),
    "tanh32": (24, odd(tanh, 5, "0.55", 24)),
    "tanh64": (53, odd(tanh, 10, "0.55", 53)),
    # atanh s = s + s^3 (1/3 + s^2 p(s^2)) and 2^r = 1 + r p(r), for pow_f64
    "powlog64": (53, poly(lambda z: (atanh(sqrt(z)) / sqrt(z) - 1 - z / 3) / z**2 if z > mpf(10) ** -20 else mpf(1) / 5, 8, 0, mpf("0.0401"), lambda z: z**2, 53)),
    "powexp64": (53, poly(tail(lambda r: exp(r * LN2), [1], 1), 12, -mpf("0.5001"), mpf("0.5001"), lambda r: r, 53)),
    # log2 (1 + f) = f p(f) and 2^r = 1 + r p(r), in double precision, for pow_f32
    "powlog": (53, scaled(lambda f: log1p(f) / LN2, 13, mpf(1) / 3, 53)),
    "powexp": (53, poly(tail(lambda r: exp(r * LN2), [1], 1), 6, -mpf("0.5001"), mpf("0.5001"), lambda r: r, 53)),
}

SPLITS = {
    "ln2 32": (LN2, 24, 2),
    "ln2 64": (LN2, 53, 2),
    "log2e 32": (1 / LN2, 24, 2),
    "log2e 64": (1 / LN2, 53, 2),
    "log10e 32": (1 / log(10), 24, 2),
    "log10e 64": (1 / log(10), 53, 2),
    "log10 of 2 32": (LN2 / log(10), 24, 2),
    "log10 of 2 64": (LN2 / log(10), 53, 2),
    "2 log2e 64": (2 / LN2, 53, 2),
    "third 64": (mpf(1) / 3, 53, 2),
    "pi 32": (pi, 24, 3),
    "pi 64": (pi, 53, 3),
    "half pi 32": (pi / 2, 24, 3),
    "half pi 64": (pi / 2, 53, 3),
    "1/pi 32": (1 / pi, 24, 1),
    "1/pi 64": (1 / pi, 53, 1),
    "2/pi 32": (2 / pi, 24, 1),
    "2/pi 64": (2 / pi, 53, 1),
    "pi/2^64 64": (pi / 2**64, 53, 2),
    "pi/2^65 64": (pi / 2**65, 53, 2),
}


# Binary digits of 1 / pi, the first of weight 2^(start - 1): start, count, bits of a word.
WORDS = {
    "words32": (9, 7, 32),
    "words64": (25, 19, 64),
}


def numbers(name):
    """The texts of one entry's constants and a note."""
    if name in POLYNOMIALS:
        bits, run = POLYNOMIALS[name]
        values, error = run()
        return [text(c, bits) for c in values], f"error 2^{error:.1f}"
    if name in WORDS:
        start, count, bits = WORDS[name]
        with mp.workprec(count * bits + 64):
            digits = int(mp.floor(ldexp(1 / mp.pi, count * bits - start)))
        return [hex(digits >> bits * (count - 1 - i) & (1 << bits) - 1) for i in range(count)], f"from bit 2^{start - 1}"
    x, bits, parts = SPLITS[name]
    return [text(c, bits) for c in split(x, bits, parts)], "sum"


def main(args):
    check = "--check" in args
    names = [a for a in args if not a.startswith("-")] or [*POLYNOMIALS, *SPLITS, *WORDS]
    known = set()
    if check:
        for file in ("libm32.fut", "libm64.fut"):
            known |= set(re.findall(r"0x[0-9a-f]+|\d[\d.]*(?:e-?\d+)?", (PRELUDE / file).read_text()))
    missing = 0
    for name in names:
        values, note = numbers(name)
        print(f"{name} ({note}):", *values)
        for value in values if check else []:
            if value.lstrip("-") not in known and value.lstrip("-").removesuffix(".0") not in known:
                print(f"  not in the prelude: {value}")
                missing += 1
    return missing > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
