"""Derives the constants of prelude/libm32.fut, libm64.fut, special32.fut and special64.fut.

`python coefficients.py [NAME...]` prints them with the approximation error of
each polynomial (log2, relative to the function unless noted);
`python coefficients.py --check` tests that the prelude has them.
"""

import re
import struct
import sys
from pathlib import Path

from mpmath import ldexp, mp, mpf, sqrt, exp, log, log1p, sin, cos, tan, atan, asin, sinh, tanh, atanh, erf, erfc, gamma, loggamma

from minimax import fit, split

PRELUDE = Path(__file__).resolve().parents[3] / "prelude"


def text(x, bits):
    """The shortest decimal text that rounds to a float."""
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
SIXTEENTH_LN2 = HALF_LN2 / 8


def tail(f, known, power):
    """`f` without the terms `known` (from power 0), divided by `x**power`; near 0, its Taylor
    coefficient."""

    def g(x):
        if abs(x) < mpf(10) ** -25:
            x = mpf(10) ** -25
        return (f(x) - sum(c * x**i for i, c in enumerate(known))) / x**power

    return g


def in_square(f, lead, power):
    """The odd function `f(sqrt s) - lead sqrt s` divided by `sqrt(s)**power`, as a function of
    s."""

    def g(s):
        x = sqrt(max(s, mpf(10) ** -40))
        return (f(x) - lead * x) / x**power

    return g


def poly(f, count, a, b, weight, bits, **more):
    return lambda: fit(f, range(count), a, b, weight, bits, **more)


def exp_tail(bits, count, most=HALF_LN2):
    return poly(tail(exp, [1, 1], 2), count, -most, most, lambda x: x * x / exp(x), bits)


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


def near_zero(f, limit, low="1e-30"):
    """`f`, with its limit near 0, where its terms cancel."""
    return lambda x: f(x) if abs(x) > mpf(low) else limit


def power_of(base, count, half, bits):
    """`base**r = 1 + r p(r)` for |r| <= half."""
    f = near_zero(lambda r: (mpf(base) ** r - 1) / r, log(base))
    return poly(f, count, -mpf(half), mpf(half), lambda r: r, bits)


def sinpi(count, bits, most="0.0625"):
    """`sin (pi s) = s (pi + s^2 p(s^2))` for s^2 <= most."""
    f = near_zero(lambda s: (sin(pi * sqrt(s)) / sqrt(s) - pi) / s, -(pi**3) / 6)
    return poly(f, count, 0, most, near_zero(lambda s: s * sqrt(s) / sin(pi * sqrt(s)), 0), bits)


def cospi(count, bits):
    """`cos (pi s) = 1 + s^2 p(s^2)` for |s| <= 1/4."""
    f = near_zero(lambda s: (cos(pi * sqrt(s)) - 1) / s, -(pi**2) / 2)
    return poly(f, count, 0, "0.0625", lambda s: s / cos(pi * sqrt(s)), bits)


def erf_small(count, b, bits):
    """`erf x = x (2 / sqrt pi + x^2 p(x^2))` for |x| <= b."""
    lead = 2 / sqrt(pi)
    f = near_zero(lambda s: (erf(sqrt(s)) / sqrt(s) - lead) / s, -lead / 3)
    return poly(f, count, 0, mpf(b) ** 2, near_zero(lambda s: s * sqrt(s) / erf(sqrt(s)), 0), bits)


def erfc_middle(k):
    k = mpf(k)
    return exp(k * k) * erfc(k) * 2 * k


def erfc_tail(count, k, a, b, bits):
    """`exp(x^2) erfc(x) (x + k) = c + t p(t)`, t = (x - k) / (x + k), for a <= x <= b;
    c is `erfc_middle(k)`."""
    k, place = mpf(k), lambda x: (mpf(x) - mpf(k)) / (mpf(x) + mpf(k))
    f = lambda t: (lambda x: exp(x * x) * erfc(x) * (x + k))(k * (1 + t) / (1 - t))
    middle = f(mpf(0))
    slope = near_zero(lambda t: (f(t) - middle) / t, (f(mpf(10) ** -20) - middle) * mpf(10) ** 20)
    return poly(slope, count, place(a), place(b), lambda t: t / f(t), bits)


def stirling(h, b):
    """`gamma z = exp((z - 1/2) log (z + h) - (z + h)) f(1 / (z + h))`: this is f, for z <= b."""
    h = mpf(h)

    def f(u):
        z = 1 / max(u, 1 / mpf(b)) - h
        return exp(loggamma(z) + z + h - (z - mpf(1) / 2) * log(z + h))

    return f


def gamma_poly(count, h, b, bits):
    f = stirling(h, b)
    return poly(f, count, 1 / mpf(b), 1 / (1 + mpf(h)), lambda u: 1 / f(u), bits)


def lgamma_poly(count, h, a, bits):
    """The logarithm of the above, for z >= a; absolute error."""
    f = stirling(h, "1e9")
    return poly(lambda u: log(f(u)), count, mpf("1e-9"), 1 / (mpf(a) + mpf(h)), lambda u: mpf(1), bits)


def lgamma_near(count, c, bits):
    """`lgamma z = (z - 1) (z - 2) p((z - c) / (z + c))` for 1 <= z <= 3."""
    c = mpf(c)

    def f(t):
        z = c * (1 + t) / (1 - t)
        z += mpf(10) ** -25 if min(abs(z - 1), abs(z - 2)) < mpf(10) ** -26 else 0
        return loggamma(z) / ((z - 1) * (z - 2))

    return poly(f, count, (1 - c) / (1 + c), (3 - c) / (3 + c), lambda t: 1 / f(t), bits)


POLYNOMIALS = {
    # exp r = 1 + r + r^2 p(r)
    "exp32": (24, exp_tail(24, 5)),
    "exp64": (53, exp_tail(53, 10)),
    "exp64 eighths": (53, exp_tail(53, 6, SIXTEENTH_LN2)),
    # log (1 + f) = f - f^2 / 2 + f^3 p(f)
    "log32": (24, log_tail(24, 8)),
    # atanh s = s + s^3 p(s^2)
    "log64": (53, odd(atanh, 7, "0.2001", 53)),
    # f x = x + x^3 p(x^2)
    # The polynomial is lowered by 2^-26 at pi / 2, so that no result rounds to more than 1.
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
    # s (pi + s^2 p(s^2)) in special32, up to 1/2
    "sinpi for f32": (53, sinpi(5, 53, "0.25")),
    # s (pi + s^2 p(s^2)), 1 + s^2 p(s^2)
    "sinpi32": (24, sinpi(3, 24)),
    "sinpi64": (53, sinpi(6, 53)),
    "cospi32": (24, cospi(4, 24)),
    "cospi64": (53, cospi(7, 53)),
    # b^r = 1 + r p(r)
    "exp2_32": (24, power_of(2, 6, "0.5001", 24)),
    "exp10_32": (24, power_of(10, 6, "0.1506", 24)),
    "exp10_64": (53, power_of(10, 12, "0.1506", 53)),
    # x (2 / sqrt pi + x^2 p(x^2)); 1 - exp(-p(x)); and in f64
    "erf32": (24, erf_small(6, 1, 24)),
    "erf32 far": (24, poly(lambda x: -log(erfc(x)), 7, 1, 4, erfc, 24)),
    "erfc32": (53, erfc_tail(11, "2.5", 0, "10.1", 53)),
    "erf64": (53, erf_small(8, "0.5", 53)),
    "erfc64": (53, erfc_tail(22, "3.75", "0.45", "27.3", 53)),
    "gamma32": (53, gamma_poly(9, "0.3", 46, 53)),
    "gamma64": (53, gamma_poly(18, "0.4", 180, 53)),
    "lgamma64": (53, lgamma_poly(13, "0.4", 3, 53)),
    "lgamma64 near": (53, lgamma_near(20, "1.732", 53)),
    "powexp": (53, poly(tail(lambda r: exp(r * LN2), [1], 1), 6, -mpf("0.5001"), mpf("0.5001"), lambda r: r, 53)),
}

SPLITS = {
    "ln2 32": (LN2, 24, 2),
    "ln2 64": (LN2, 53, 2),
    "ln2/8 64": (LN2 / 8, 53, 2),
    "8 log2e 64": (8 / LN2, 53, 1),
    "log2e 32": (1 / LN2, 24, 2),
    "log2e 64": (1 / LN2, 53, 2),
    "log10e 32": (1 / log(10), 24, 2),
    "log10e 64": (1 / log(10), 53, 2),
    "log10 of 2 32": (LN2 / log(10), 24, 2),
    "log10 of 2 64": (LN2 / log(10), 53, 2),
    "2 log2e 64": (2 / LN2, 53, 2),
    "2/sqrt pi 32": (2 / sqrt(pi), 24, 2),
    "2/sqrt pi 64": (2 / sqrt(pi), 53, 2),
    "erfc32 middle": (erfc_middle("2.5"), 53, 1),
    "erfc64 middle": (erfc_middle("3.75"), 53, 2),
    "log2 10 32": (log(10) / LN2, 24, 1),
    "log2 10 64": (log(10) / LN2, 53, 1),
    "ln2 for f32": (LN2, 53, 1),
    "third 64": (mpf(1) / 3, 53, 2),
    "pi 32": (pi, 24, 3),
    "pi 64": (pi, 53, 3),
    "half pi 32": (pi / 2, 24, 3),
    "half pi 64": (pi / 2, 53, 3),
    "1/pi 32": (1 / pi, 24, 2),
    "1/pi 64": (1 / pi, 53, 2),
    "2/pi 32": (2 / pi, 24, 1),
    "2/pi 64": (2 / pi, 53, 1),
    "pi/2^64 64": (pi / 2**64, 53, 2),
    "pi/2^65 64": (pi / 2**65, 53, 2),
}


# Binary digits of 1 / pi, the first of weight 2^(start - 1): start, number, bits per word.
WORDS = {
    "words32": (9, 7, 32),
    "words64": (25, 19, 64),
}


def numbers(name):
    """The texts of one entry's constants, and a remark."""
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
        for file in ("libm32.fut", "libm64.fut", "special32.fut", "special64.fut"):
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
