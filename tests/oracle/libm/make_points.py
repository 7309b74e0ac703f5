"""Writes tests/programs/prelude/libm_f32.fut and libm_f64.fut: for each
mathematical function some hundred arguments with the results of MPFR, correctly
rounded, all as bits; the entry points give back the arguments whose result is
more than 2 ulp off. Needs what check.py needs but the Futhark compiler.
"""

import ctypes
import tempfile
from pathlib import Path

import numpy as np

from check import FORMATS, HERE, TWO, edges, expected, functions, pairs, pointer, reference_library, sample

OUT = HERE.parents[1] / "programs" / "prelude"

HEADER = """\
-- Mathematical functions of {ty} at given arguments, which are bits like the
-- correctly rounded results beside them: entry points give the arguments whose
-- result is more than 2 ulp off, or is not NaN or the sign of a zero where it should be.
-- (Made by tests/oracle/libm/make_points.py.)

-- Floats in order, as integers one ulp apart.
def place (b: u{bits}): i64 =
  let magnitude = i64.u{bits} (b & {mask})
  in if b > {mask} then -magnitude else magnitude

def good (got: {ty}) (want: u{bits}): bool =
  if {ty}.isnan ({ty}.from_bits want) then {ty}.isnan got
  else if want == 0 || want == {mask} + 1 then {ty}.to_bits got == want
  else !({ty}.isnan got) && i64.abs (place ({ty}.to_bits got) - place want) <= 2
"""

ONE = """
-- ==
-- entry: {name}
-- input {{ {xs} {want} }}
-- output {{ empty([0]{int}) }}
entry {name} [n] (xs: [n]{int}) (want: [n]{int}): []{int} =
  let off (x, w) = !(good ({ty}.{name} ({ty}.from_bits x)) w)
  in (unzip (filter off (zip xs want))).0
"""

PAIR = """
-- ==
-- entry: {name}
-- input {{ {xs} {ys} {want} }}
-- output {{ empty([0]{int}) empty([0]{int}) }}
entry {name} [n] (xs: [n]{int}) (ys: [n]{int}) (want: [n]{int}): ([]{int}, []{int}) =
  let off (x, y, w) = !(good ({call}) w)
  let (a, b, _) = unzip3 (filter off (zip3 xs ys want))
  in (a, b)
"""


def rounded(reference, name, ty, args):
    """The correctly rounded results."""
    if ty == "f64":
        return expected(reference, name, False, args)[0]
    out = np.empty_like(args[0])
    ys = args[1] if len(args) > 1 else args[0]
    assert reference.reference_single(name.encode(), ctypes.c_int64(len(out)), pointer(args[0]), pointer(ys), pointer(out))
    return out


def arguments(name, ty, rng):
    """A choice of edge cases and random arguments."""
    if name not in TWO:
        ends = edges(ty)
        first = [0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan]
        moderate = np.exp2(rng.uniform(-4, 4, 30)) * rng.choice([-1, 1], 30)
        chosen = [first, rng.choice(ends, 60, replace=False), rng.choice(sample(name, ty, 1000, rng), 50), moderate]
        return [np.concatenate(chosen).astype(FORMATS[ty][0])]
    largest = np.finfo(FORMATS[ty][0]).max
    special = np.array([0.0, -0.0, 1, -1, 2, -2, 3, -3, 0.5, -0.5, np.inf, -np.inf, np.nan, largest, -largest / 2])
    xs, ys = np.meshgrid(special, special)
    xs, ys = [np.concatenate([a.ravel(), b]) for a, b in zip((xs, ys), choose(pairs(name, ty, 1000, rng), 80, rng))]
    return [xs.astype(FORMATS[ty][0]), ys.astype(FORMATS[ty][0])]


def choose(columns, count, rng):
    rows = rng.integers(0, len(columns[0]), count)
    return [c[rows] for c in columns]


def main():
    with tempfile.TemporaryDirectory() as folder:
        reference = reference_library(Path(folder))
        for ty, (_, int_type, _, _) in FORMATS.items():
            bits, rng = np.iinfo(int_type).bits, np.random.default_rng(1)
            kind = f"u{bits}"
            text = HEADER.format(ty=ty, bits=bits, mask="0x" + "7" + "f" * (bits // 4 - 1))
            for name in functions(ty):
                args = arguments(name, ty, rng)
                want = rounded(reference, name, ty, args)
                want[np.isnan(want)] = np.nan
                shown = ["[" + ", ".join(f"{v}{kind}" for v in a.view(int_type)) + "]" for a in [*args, want]]
                if name in TWO:
                    x, y = f"{ty}.from_bits x", f"{ty}.from_bits y"
                    call = f"({x}) {ty}.** ({y})" if name == "pow" else f"{ty}.{name} ({x}) ({y})"
                    text += PAIR.format(name=name, ty=ty, int=kind, xs=shown[0], ys=shown[1], want=shown[2], call=call)
                else:
                    text += ONE.format(name=name, ty=ty, int=kind, xs=shown[0], want=shown[1])
            (OUT / f"libm_{ty}.fut").write_text(text)


if __name__ == "__main__":
    main()
