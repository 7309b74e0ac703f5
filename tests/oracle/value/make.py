#!/usr/bin/env python3
"""Writes the files beside it, which the tests of the crate `value` read.

Needs the packages `futhark-data` and `numpy`. Run it in this folder:

    python3 make.py

values.bin    values of every type and of rank 0 to 3, written by futhark-data
values.txt    the same values in the text format, written by futhark-data
printed.txt   floats: type, hexadecimal bits, and the text printed by C's printf
literals.txt  literals: type, hexadecimal bits, and the literal

To make futhark-data read the output of the crate:

    cargo run -p value --example convert -- binary < values.bin > /tmp/ours.bin
    cargo run -p value --example convert -- text < values.bin > /tmp/ours.txt
    python3 make.py check /tmp/ours.bin /tmp/ours.txt

To send the same values through executables in both formats:

    python3 make.py executables ../../../build/bindrune
"""
import io
import subprocess
import sys
import tempfile

import futhark_data
import numpy as np

if not hasattr(np, "product"):
    np.product = np.prod  # futhark-data 1.0 uses the old name.

INTS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
FLOATS = [np.float16, np.float32, np.float64]
SHAPES = [(), (1,), (7,), (0,), (2, 3), (0, 3), (3, 0), (2, 1, 4), (2, 0, 3)]
rng = np.random.default_rng()


def bits_of(x):
    return int.from_bytes(x.tobytes(), "little")


def name_of(t):
    d = np.dtype(t)
    return {"i": "i", "u": "u", "f": "f"}[d.kind] + str(d.itemsize * 8)


def random_bits(t, shape):
    """Arbitrary bits, so all magnitudes occur; NaN becomes 0.5, because text has a single NaN."""
    d = np.dtype(t)
    count = int(np.prod(shape))
    raw = rng.integers(0, 256, size=count * d.itemsize, dtype=np.uint8)
    x = raw.view(d).reshape(shape) if count else np.zeros(shape, d)
    if d.kind == "f":
        x = np.where(np.isfinite(x), x, d.type(0.5)).astype(d)
    return x


def values():
    global rng
    rng = np.random.default_rng(20240607)
    for t in INTS + FLOATS:
        info = np.iinfo(t) if np.dtype(t).kind in "iu" else np.finfo(t)
        yield np.array([info.min, info.max, 0, 1], dtype=t)
        for shape in SHAPES:
            x = random_bits(t, shape)
            yield x if shape else t(x)
    for shape in SHAPES:
        x = rng.integers(0, 2, size=shape) == 1
        yield np.array(x) if shape else np.bool_(x)


def printf(t, x):
    digits = 17 if t == np.float64 else 9
    x = float(x)
    name = name_of(t)
    if x != x:
        return name + ".nan"
    if x in (float("inf"), -float("inf")):
        return ("-" if x < 0 else "") + name + ".inf"
    return "%.*g%s" % (digits, x, name)


def printed():
    for t in FLOATS:
        special = ["0", "-0", "1", "-1", "0.1", "1e-5", "1e-4", "123456789", "1234567890",
                   "999999999.5", "inf", "-inf", "nan", "3.14159265358979", "65504", "1e16",
                   "1e17", "123456789012345678", "100000", "1e10", "0.0001", "0.00001234"]
        with np.errstate(over="ignore"):
            yield from ((t, t(s)) for s in special)
        yield from ((t, x) for x in random_bits(t, (150,)))
        tiny = np.arange(1, 4, dtype=np.dtype("u%d" % np.dtype(t).itemsize)).view(t)
        yield from ((t, x) for x in tiny)
    # 18 significant digits ending in 5: the 17th is a tie.
    for _ in range(60):
        odd = int(rng.integers(5 * 10**9, 10**10)) * 2 + 1
        yield np.float64, np.float64(odd / 1024)


def literals():
    for t in INTS:
        info = np.iinfo(t)
        name = name_of(t)
        for n in {int(info.min), int(info.max), 0, 1, 17, 100}:
            b = bits_of(t(n))
            yield t, b, str(n)
            yield t, b, f"{n}{name}"
            yield t, b, f"{n:_}"
            if n >= 0:
                for form in ("{:#x}", "{:#b}", "{:#_x}", "{:#_b}"):
                    yield t, b, form.format(n) + name
                yield t, b, "0X" + f"{n:x}".upper()
                yield t, b, f"+{n}"
                yield t, b, f"00{n}"
    for t in FLOATS:
        name = name_of(t)
        texts = ["0", "-0", "1", "1.5", "-2.25", "1e3", "1E+3", "1e-3", "1_000.25", "0.1",
                 "3.", "0.3333333333333333333333333", "65519", "65520", "1e39", "1e309", "-1e400",
                 "1e-7", "5.9604645e-8", "2.98e-8", "1e-45", "7e-46", "5e-324", "2e-324", "1e-400",
                 "12345678901234567890123", "9007199254740993", "16777217"]
        # Rounded once, through binary64, which is exact enough for these.
        for s in texts:
            with np.errstate(over="ignore", under="ignore"):
                x = t(float(s.replace("_", ""))) if t != np.float32 else np.float32(s.replace("_", ""))
            yield t, bits_of(x), s
            yield t, bits_of(x), s + name
        hexes = ["0x1p0", "0x1.8p3", "-0x1.8p-3", "0x1.FFFp4", "0xABC", "0x.8p1", "0x1.p2",
                 "0x1p-14", "0x1p-15", "0x1p-24", "0x1p-25", "0x1.8p-25", "0x1.004p0", "0x1.006p0",
                 "0x1.00000000000008p0", "0x1.000000000000080000000000001p0",
                 "0x1.00000000000018p0", "0x1.ffep15", "0x1.ffdp15", "0x123456789abcdef01p-4",
                 "0x0.0000000000000000000001p80", "0x1p-149", "0x1.8p-149", "0x1p-150", "0x1p-1074",
                 "0x1p-1075", "0x1.8p-1074", "0x0p999999999999999999999", "0x1p-99999999999999999"]
        for s in hexes:
            exact = exact_hex(s)
            yield t, round_exact(exact, t, s.startswith("-")), s
            if "p" in s:
                yield t, round_exact(exact, t, s.startswith("-")), s + name
        for s, x in (("nan", "nan"), ("inf", "inf"), ("-inf", "-inf"), (f"{name}.nan", "nan"),
                     (f"{name}.inf", "inf"), (f"-{name}.inf", "-inf")):
            yield t, bits_of(t(x)), s


def exact_hex(s):
    """The number as a fraction, without rounding."""
    from fractions import Fraction

    s = s.lstrip("-")[2:]
    digits, _, exponent = s.partition("p")
    whole, _, fraction = digits.partition(".")
    value = Fraction(int(whole + fraction or "0", 16), 16 ** len(fraction))
    if value == 0:
        return value
    e = max(-5000, min(5000, int(exponent or "0")))
    return value * Fraction(2) ** e


def round_exact(value, t, negative):
    """Bits of the float nearest to a fraction, ties to even."""
    d = np.dtype(t)
    fraction_bits = {2: 10, 4: 23, 8: 52}[d.itemsize]
    exponent_bits = d.itemsize * 8 - 1 - fraction_bits
    bias = 2 ** (exponent_bits - 1) - 1
    sign = int(negative) << (d.itemsize * 8 - 1)
    if value == 0:
        return sign
    top = value.numerator.bit_length() - value.denominator.bit_length()
    if value < 2 ** top if top >= 0 else value * 2 ** -top < 1:
        top -= 1
    scale = max(top, 1 - bias) - fraction_bits
    n = value / 2 ** scale if scale >= 0 else value * 2 ** -scale
    q = round(n)  # Fraction rounds ties to even
    bits = (max(top + bias, 1) - 1 << fraction_bits) + q
    infinity = (2 ** exponent_bits - 1) << fraction_bits
    return sign | min(bits, infinity)


def make():
    with open("values.bin", "wb") as b, open("values.txt", "w") as t:
        for x in values():
            b.write(futhark_data.dumpb(x))
            t.write(futhark_data.dumps(x) + "\n")
    with open("printed.txt", "w") as f:
        for t, x in printed():
            f.write(f"{name_of(t)} {bits_of(t(x)):x} {printf(t, x)}\n")
    with open("literals.txt", "w") as f:
        for t, b, s in literals():
            f.write(f"{name_of(t)} {b:x} {s}\n")


def check(paths):
    for path in paths:
        with open(path, "rb") as f:
            found = list(futhark_data.load(f))
        compare(path, list(values()), found)
        print(f"{path}: {len(found)} values as expected")


def compare(place, expected, found):
    assert len(found) == len(expected), (place, len(found), len(expected))
    for x, y in zip(expected, found):
        assert np.shape(x) == np.shape(y), (place, x, y)
        assert np.asarray(x).dtype == np.asarray(y).dtype, (place, x, y)
        assert np.asarray(x).tobytes() == np.asarray(y).tobytes(), (place, x, y)


def executables(compiler):
    """Passes each value through an entry point that returns it unchanged."""
    sent = list(values())
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/same.fut", "w") as f:
            for i, x in enumerate(sent):
                d = np.asarray(x).dtype
                ty = "[]" * np.ndim(x) + ("bool" if d == np.bool_ else name_of(d))
                f.write(f"entry same{i} (x: {ty}) : {ty} = x\n")
        program = f"{folder}/same"
        subprocess.run([compiler, "build", f.name, "-o", program], check=True)
        for i, x in enumerate(sent):
            for stdin in [futhark_data.dumpb(x), futhark_data.dumps(x).encode()]:
                # Text written by the package may have lost digits.
                sent_as = list(futhark_data.load(io.BytesIO(stdin)))
                for options in [[], ["-b"]]:
                    args = [program, "-e", f"same{i}", *options]
                    got = subprocess.run(args, input=stdin, capture_output=True, check=True)
                    compare(args, sent_as, list(futhark_data.load(io.BytesIO(got.stdout))))
    print(f"{len(sent)} values, there and back in both formats")


if sys.argv[1:2] == ["check"]:
    check(sys.argv[2:])
elif sys.argv[1:2] == ["executables"]:
    executables(sys.argv[2])
else:
    make()
