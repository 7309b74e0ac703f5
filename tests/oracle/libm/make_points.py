"""Writes tests/programs/prelude/libm_f32.fut, special_f32.fut and so on. For each mathematical
function the files contain some hundred arguments with correctly rounded results of MPFR, all as
bits; the entry points return the arguments whose results are too far off. Functions on the parts
of a float have results of numpy. Needs what check.py needs, except the compiler."""

import ctypes
import tempfile
from pathlib import Path

import numpy as np

from check import BOUND, FORMATS, HERE, TWO, edges, expected, functions, pairs, pointer, reference_library, sample

OUT = HERE.parents[1] / "programs" / "prelude"

HEADER = """\
-- Tests of the mathematical functions of {ty}: each entry point takes arguments and correctly
-- rounded results, both as bits, and returns the arguments whose results have a larger error
-- ({bounds}), are not NaN, or have the wrong sign of zero.
-- (Made by tests/oracle/libm/make_points.py.)

{imports}-- The ordinal of a float: adjacent floats differ by 1.
def ordinal (b: u{bits}): i64 =
  let magnitude = i64.u{bits} (b & {mask})
  in if b > {mask} then -magnitude else magnitude

def good (got: {ty}) (want: u{bits}) (bound: i64): bool =
  if {ty}.isnan ({ty}.from_bits want) then {ty}.isnan got
  else if want == 0 || want == {mask} + 1 then {ty}.to_bits got == want
  else !({ty}.isnan got) && i64.abs (ordinal ({ty}.to_bits got) - ordinal want) <= bound
"""

ONE = """
-- ==
-- entry: {name}
-- input {{ {xs} {want} }}
-- output {{ empty([0]{int}) }}
entry {name} [n] (xs: [n]{int}) (want: [n]{int}): []{int} =
  let off (x, w) = !(good ({module}.{name} ({ty}.from_bits x)) w {bound})
  in (unzip (filter off (zip xs want))).0
"""

PAIR = """
-- ==
-- entry: {name}
-- input {{ {xs} {ys} {want} }}
-- output {{ empty([0]{int}) empty([0]{other}) }}
entry {name} [n] (xs: [n]{int}) (ys: [n]{other}) (want: [n]{int}): ([]{int}, []{other}) =
  let off (x, y, w) = !(good ({call}) w {bound})
  let (a, b, _) = unzip3 (filter off (zip3 xs ys want))
  in (a, b)
"""


# Functions on the parts of a float, whose results are exact.
EXACT = ("nextafter", "copysign", "ldexp")
# Functions that are not in a public module.
UNLISTED = ("exp2", "exp10", "expm1")


def rounded(reference, name, ty, args):
    """Returns the correctly rounded results."""
    if name in EXACT:
        with np.errstate(all="ignore"):
            found = getattr(np, name)(*args)
        # As in C, `nextafter` of equal arguments is the second one; numpy's half precision differs.
        return np.where(args[0] == args[1], args[1], found) if name == "nextafter" else found
    if ty != "f32":
        with np.errstate(all="ignore"):
            return expected(reference, name, args)[0].astype(FORMATS[ty][0])
    out = np.empty_like(args[0])
    reference.reference_single(name.encode(), ctypes.c_int64(len(out)), pointer(args[0]), pointer(args[-1]), pointer(out))
    return out


def listed(ty, reference):
    """The functions of one type, with their files."""
    if ty == "f16":
        found = [(name, stem) for name, stem in listed("f32", reference) if name not in UNLISTED and name not in EXACT]
    else:
        found = functions(ty, reference)
    return found + [(name, "special") for name in EXACT]


def arguments(name, ty, rng):
    """A selection of edge cases and random arguments."""
    float_type = FORMATS[ty][0]
    if name not in TWO and name not in EXACT:
        ends = edges(ty)
        first = [0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan]
        moderate = np.exp2(rng.uniform(-4, 4, 25)) * rng.choice([-1, 1], 25)
        chosen = [first, rng.choice(ends, 45, replace=False), rng.choice(sample(name, ty, 1000, rng), 35), moderate]
        found = np.concatenate(chosen).astype(float_type)
        # Near the zeros at negative arguments an error in ulp is not meaningful.
        return [found if name != "lgamma" or ty != "f64" else found[~((found < -2) & (found > -18))]]
    largest = np.finfo(float_type).max
    special = np.array([0.0, -0.0, 1, -1, 2, -2, 3, -3, 0.5, -0.5, np.inf, -np.inf, np.nan, largest, -largest / 2])
    if name == "ldexp":
        some = np.concatenate([special, [np.finfo(float_type).smallest_subnormal, np.finfo(float_type).tiny * 1.25], sample(name, ty, 10, rng)])
        xs, es = np.meshgrid(some.astype(float_type), [0, 1, -1, 7, -9, 15, -24, 100, -126, 127, -150, 276, -300, 1023, -1074, 2097, -2100, 2**31 - 1, -(2**31)])
        return [xs.ravel(), es.ravel().astype(np.int32)]
    xs, ys = np.meshgrid(special, special)
    xs, ys = [np.concatenate([a.ravel(), b]) for a, b in zip((xs, ys), choose(pairs(name, ty, 1000, rng), 80, rng))]
    return [xs.astype(float_type), ys.astype(float_type)]


def choose(columns, count, rng):
    rows = rng.integers(0, len(columns[0]), count)
    return [c[rows] for c in columns]


def shown(array):
    """The text of an array of bits or integers."""
    if array.dtype == np.int32:
        return "[" + ", ".join(f"{v}i32" for v in array) + "]"
    kind = f"u{8 * array.itemsize}"
    return "[" + ", ".join(f"{v}{kind}" for v in array.view(kind.replace("u", "uint"))) + "]"


def entry(reference, name, ty, bits, rng):
    """The test of one function."""
    args = arguments(name, ty, rng)
    want = rounded(reference, name, ty, args)
    want[np.isnan(want)] = np.nan
    bound = 0 if name in EXACT else 1 if ty == "f16" else BOUND.get(name, 2)
    fields = {"name": name, "ty": ty, "int": f"u{bits}", "bound": bound, "module": "libm" if name in UNLISTED else ty}
    x, y = f"{ty}.from_bits x", "y" if name == "ldexp" else f"({ty}.from_bits y)"
    if len(args) == 1:
        return ONE.format(xs=shown(args[0]), want=shown(want), **fields)
    call = f"({x}) {ty}.** {y}" if name == "pow" else f"{ty}.{name} ({x}) {y}"
    other = "i32" if name == "ldexp" else f"u{bits}"
    return PAIR.format(xs=shown(args[0]), ys=shown(args[1]), want=shown(want), call=call, other=other, **fields)


def main():
    FORMATS["f16"] = (np.float16, np.uint16, 11, -14)
    with tempfile.TemporaryDirectory() as folder:
        reference = reference_library(Path(folder))
        for ty, (_, int_type, bits, _) in FORMATS.items():
            width, rng = np.iinfo(int_type).bits, np.random.default_rng(1)
            texts = {}
            for name, stem in listed(ty, reference):
                stem = "libm" if ty == "f16" else stem.removesuffix(ty[1:])
                texts[stem] = texts.get(stem, "") + entry(reference, name, ty, width, rng)
            for stem, text in texts.items():
                bounds = "more than 1 ulp" if ty == "f16" else "more than 2 ulp, 8 for gamma and lgamma" if stem == "special" else "more than 2 ulp"
                imports = f'module libm = import "/prelude/libm{width}"\n\n' if "libm." in text else ""
                head = HEADER.format(ty=ty, bits=width, bounds=bounds, imports=imports, mask="0x" + "7" + "f" * (width // 4 - 1))
                (OUT / f"{stem}_{ty}.fut").write_text(head + text)


if __name__ == "__main__":
    main()
