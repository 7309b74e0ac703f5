"""Measures the errors of prelude/libm32.fut, libm64.fut, special32.fut and special64.fut.

`python check.py [--full | --step N] [--strict] [NAME...]` compiles the functions with `BINDRUNE`
(default `bindrune`; `--strict`: without fused multiply-adds) and prints for each the largest error
in ulp and its argument. Functions of one f32 are measured on every 251st float (`--step`: every
N-th, `--full`: every one), against the C library in double precision and, above 1.9 ulp, against
MPFR. Functions of f64 or of two arguments are measured on random arguments of all magnitudes,
against MPFR. Edge cases are included in all. The script fails above 2 ulp (8 for gamma and lgamma),
or on wrong infinities, NaNs or signs of zeros. Names are like `exp_f32` or `exp`; the default is
all functions. Needs numpy, gcc, MPFR 4.2.
"""

import ctypes
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
PRELUDE = HERE.parents[2] / "prelude"
BINDRUNE = os.environ.get("BINDRUNE", "bindrune")
TWO = {"pow", "atan2", "atan2pi", "hypot"}
BOUND = {"gamma": 8, "lgamma": 8}
FORMATS = {"f32": (np.float32, np.uint32, 24, -126), "f64": (np.float64, np.uint64, 53, -1022)}


def files(ty):
    """The prelude's files for one type, in import order."""
    return [p for stem in ("libm", "special") if (p := PRELUDE / f"{stem}{ty[1:]}.fut").exists()]


def functions(ty, reference):
    """The functions of one type that the reference supports, with their files."""
    found = [(name, path.stem) for path in files(ty) for name in re.findall(r"^def (\w+) ", path.read_text(), re.M)]
    return [(name, stem) for name, stem in found if reference.arity(name.encode())]


def shim(source):
    """Definitions of the intrinsics used by the source in terms of public modules."""
    lines = []
    for name in sorted(set(re.findall(r"intrinsics\.(\w+)", source))):
        if name == "exp2_eighths_f64":
            # There is no public function; this is 2^(j/8) for the last three bits j.
            powers = ", ".join(f"{float(2 ** (j / 8))!r}" for j in range(8))
            body = f"\\t -> #[unsafe] [{powers}][i64.u64 (f64.to_bits t & 7)] : f64"
        elif found := re.fullmatch(r"(\w+)_to_(\w+)", name):
            body = f"{found[2]}.{found[1]}"
        else:
            op, ty = name.rsplit("_", 1)
            body = f"{ty}.{op}"
        lines.append(f"  def {name} = {body}")
    return "module prim = {\n" + "\n".join(lines) + "\n}\n"


def compiled(folder, reference, strict):
    """Builds an executable of all functions, applied to arrays."""
    sources, heads, entries = "", "", ""
    for ty in FORMATS:
        for path in files(ty):
            source = path.read_text()
            sources += source
            text = 'local open import "prim"\n' + re.sub(r"\bintrinsics\b", "prim", source)
            (folder / path.name).write_text(text)
            heads += f'module {path.stem} = import "{path.stem}"\n'
        for name, stem in functions(ty, reference):
            call = f"{stem}.{name}"
            if name in TWO:
                entries += f"entry {name}_{ty} [n] (xs: [n]{ty}) (ys: [n]{ty}) = map2 {call} xs ys\n"
            else:
                entries += f"entry {name}_{ty} [n] (xs: [n]{ty}) = map {call} xs\n"
                if ty == "f32":
                    point = "f32.from_bits (u32.i64 (start + i * step))"
                    entries += f"entry {name}_range (start: i64) (step: i64) (count: i64) = tabulate count (\\i -> {call} ({point}))\n"
    (folder / "prim.fut").write_text(shim(sources))
    (folder / "main.fut").write_text(heads + entries)
    command = [BINDRUNE, "build", "main.fut", "-o", "main"] + (["--fp", "strict"] if strict else [])
    subprocess.run(command, cwd=folder, check=True)
    return Compiled(folder / "main")


def library(folder, name, *flags):
    """Compiles and loads a C file of this directory. It is linked without `flags`, because those
    of quick.c would make denormal numbers zero in this process too."""
    made, out = folder / f"{name}.o", folder / f"{name}.so"
    subprocess.run(["gcc", "-c", "-fPIC", "-march=native", *flags, HERE / f"{name}.c", "-o", made], check=True)
    subprocess.run(["gcc", "-shared", made, "-o", out, "-lmpfr", "-lmvec", "-lm"], check=True)
    return ctypes.CDLL(out)


def reference_library(folder):
    """Loads reference.c."""
    return library(folder, "reference", "-O3")


class Compiled:
    """Calls entry points on numpy arrays, in the binary format of values."""

    TYPES = {np.dtype("f4"): b" f32", np.dtype("f8"): b" f64", np.dtype("i8"): b" i64"}

    def __init__(self, path):
        self.path = path

    def call(self, entry, *args):
        sent = b""
        for a in map(np.asarray, args):
            sent += b"b\x02" + bytes([a.ndim]) + self.TYPES[a.dtype] + np.array(a.shape, "<i8").tobytes() + a.tobytes()
        done = subprocess.run([self.path, "-b", "-e", entry], input=sent, capture_output=True)
        assert done.returncode == 0, done.stderr
        head = 7 + 8
        kind = {b" f32": "f4", b" f64": "f8"}[done.stdout[3:7]]
        return np.frombuffer(done.stdout, kind, int.from_bytes(done.stdout[7:head], "little"), head)


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def expected(reference, name, args):
    """Returns MPFR's results as sums of two doubles."""
    with np.errstate(all="ignore"):
        args = [a.astype(np.float64) for a in args]
    hi, lo = np.empty_like(args[0]), np.empty_like(args[0])
    reference.reference(name.encode(), ctypes.c_int64(len(hi)), pointer(args[0]), pointer(args[-1]), pointer(hi), pointer(lo))
    return hi, lo


def ulps(ty, got, hi, lo, least=0):
    """The distance of `got` from `hi + lo` in ulp of the expected result, or of `least` if that
    is larger; infinite for a wrong special value."""
    float_type, _, bits, low = FORMATS[ty]
    with np.errstate(all="ignore"):
        # Overflow counts as the next power of two.
        limit = 2.0 ** 128 if ty == "f32" else np.inf
        want = np.where(np.abs(hi) >= limit, np.copysign(limit, hi), hi)
        lo = np.where(np.abs(hi) >= limit, 0, lo)
        value = got.astype(np.float64)
        value = np.where(np.isinf(value), np.copysign(limit, value), value)
        size = np.maximum(np.where(np.isfinite(want), np.abs(want), np.finfo(np.float64).max), least)
        _, exponent = np.frexp(size)
        unit = np.ldexp(1.0, np.maximum(exponent - 1, low) - bits + 1)
        if ty == "f64":
            half = lambda v: np.where(np.isinf(v), np.copysign(2.0 ** 1023, v), v / 2)
            across = np.isinf(value) | np.isinf(want)
            error = np.abs(np.where(across, 2 * ((half(value) - half(want)) / unit), (value - want) / unit) - lo / unit)
        else:
            error = np.abs((value - want) - lo) / unit
    nan = np.isnan(hi)
    wrong = (nan != np.isnan(got)) | (~nan & (got == 0) & (np.signbit(got) != np.signbit(hi)))
    error = np.where(nan & ~wrong, 0.0, error)
    return np.where(wrong, np.inf, np.where(np.isnan(error), np.inf, error))


def edges(ty):
    """Arguments at the boundaries of cases."""
    float_type, int_type, bits, low = FORMATS[ty]
    top = -low
    exact = [0, 1, 2, 3, 0.5, 1.5, 2.5, 0.25, 10, 100, 1e3, np.e, np.pi, np.pi / 2, np.pi / 4, 1 / 3, 2 / 3, 4 / 3, 0.7071067811865476, 1.4142135623730951]
    exact += [np.log(2) * k / 2 for k in (1, 2, 3)] + [(top + 1) * np.log(2), (low - bits + 1) * np.log(2), (low - bits) * np.log(2), low * np.log(2), top + 1, low, low - bits, low - bits + 1]
    exact += [2.0 ** k for k in (-bits - 1, -bits, 1 - bits, bits - 1, bits, low, low - bits + 1, low + 1, top, 16, 17, 20, 31, 33, 52, 64)]
    exact += [np.log10(2) * top, np.pi * 1e4, 1e22, 355.0, 2.0 ** bits - 1]
    values = np.array(exact, dtype=np.float64).astype(float_type)
    near = np.concatenate([values, np.nextafter(values, float_type(0)), np.nextafter(values, float_type(np.inf))])
    near = np.concatenate([near, [np.inf, np.finfo(float_type).max, np.nan]]).astype(float_type)
    return np.unique(np.concatenate([near, -near]).view(int_type)).view(float_type)


def sample(name, ty, count, rng):
    """Random arguments: arbitrary bits, moderate magnitudes, and near 1, in equal shares."""
    float_type, int_type, bits, _ = FORMATS[ty]
    width = np.iinfo(int_type).bits
    any_bits = rng.integers(0, 2 ** (width - 1), count, dtype=np.uint64) * 2 + rng.integers(0, 2, count, dtype=np.uint64)
    any_bits = any_bits.astype(int_type).view(float_type)
    moderate = (rng.choice([-1, 1], count) * np.exp2(rng.uniform(-8, 11, count))).astype(float_type)
    around = (1 + rng.choice([-1, 1], count) * np.exp2(rng.uniform(-bits, 0, count))).astype(float_type)
    unit = rng.uniform(-1, 1, count).astype(float_type)
    out = np.concatenate([any_bits, moderate, around, unit])
    if name in ("sin", "cos", "tan"):
        multiples = np.rint(np.exp2(rng.uniform(0, 40, count))) * (np.pi / 4)
        out = np.concatenate([out, multiples.astype(float_type)])
    return out


def pairs(name, ty, count, rng):
    """Random pairs of arguments."""
    float_type = FORMATS[ty][0]
    xs = np.concatenate([sample(name, ty, count, rng), sample(name, ty, count, rng)])
    ys = rng.permutation(xs)
    if name == "pow":
        # Powers within range: y such that |y log2 x| is below the largest exponent.
        base = np.concatenate([np.abs(sample(name, ty, count, rng)), rng.uniform(0.65, 1.36, 2 * count).astype(float_type)])
        with np.errstate(all="ignore"):
            reach = rng.uniform(-1100 if ty == "f64" else -152, 1025 if ty == "f64" else 129, len(base)) / np.log2(base.astype(np.float64))
            whole = np.rint(rng.uniform(-40, 40, len(base)))
        with np.errstate(all="ignore"):
            xs = np.concatenate([xs, base, -base])
            ys = np.concatenate([ys, reach, whole]).astype(float_type)
    grid = edges(ty)
    a, b = np.meshgrid(grid, grid)
    return np.concatenate([xs, a.ravel()]), np.concatenate([ys, b.ravel()])


class Worst:
    """The largest error so far."""

    def __init__(self):
        self.error, self.where, self.count = 0.0, "exact", 0

    def add(self, ty, got, hi, lo, args, least=0):
        error = ulps(ty, got, hi, lo, least)
        self.count += len(error)
        i = int(np.argmax(error))
        if error[i] > self.error:
            self.error = float(error[i])
            self.where = f"{', '.join(repr(float(a[i])) for a in args)}: got {got[i]!r}, not {hi[i]!r}"


class Checker:
    """The compiled functions and the references."""

    def __init__(self, folder, strict):
        self.reference = reference_library(folder)
        self.quick = library(folder, "quick", "-Ofast")
        self.exe = compiled(folder, self.reference, strict)

    def exact(self, worst, name, ty, *args):
        got = self.exe.call(f"{name}_{ty}", *args)
        worst.add(ty, got, *expected(self.reference, name, args), args, self.least(name, ty, args))

    def least(self, name, ty, args):
        """The magnitude whose ulp applies. At negative arguments `lgamma` is a difference, and
        in `f64` has the error of its terms: a logarithm with a rounded argument, and `lgamma` of
        the magnitude."""
        if (name, ty) != ("lgamma", "f64"):
            return 0
        term = np.nan_to_num(expected(self.reference, name, [np.abs(args[0])])[0], posinf=0)
        return np.where(args[0] < 0, np.maximum(term, 1), 0)

    def floats(self, worst, name, step):
        """Measures every `step`-th float."""
        block = step << 23
        for start in range(0, 2**32, block):
            places = np.arange(start, min(2**32, start + block), step, dtype=np.int64)
            got = self.exe.call(f"{name}_range", *(np.int64(v) for v in (start, step, len(places))))
            args = places.astype(np.uint32).view(np.float32)
            with np.errstate(all="ignore"):
                wide = args.astype(np.float64)
            want, top, suspects = np.empty_like(wide), ctypes.c_double(), np.empty(20000, np.int64)
            if not self.quick.quick_single(name.encode(), ctypes.c_int64(len(wide)), pointer(wide), pointer(want)):
                want, _ = expected(self.reference, name, [wide])
            count = self.reference.compare(ctypes.c_int64(len(wide)), pointer(got), pointer(want), ctypes.byref(top), pointer(suspects), ctypes.c_int64(len(suspects)))
            worst.count += len(wide)
            if top.value > worst.error:
                worst.error, worst.where = top.value, f"near {args[0]!r}"
            if chosen := list(suspects[:count]):
                worst.add("f32", got[chosen], *expected(self.reference, name, [args[chosen]]), [args[chosen]])

    def measure(self, name, ty, full, step):
        worst, rng = Worst(), np.random.default_rng(7)
        if name in TWO:
            self.exact(worst, name, ty, *pairs(name, ty, 400_000 if full else 40_000, rng))
        else:
            self.exact(worst, name, ty, edges(ty))
            if ty == "f32":
                self.floats(worst, name, step)
            else:
                self.exact(worst, name, ty, sample(name, ty, 1_000_000 if full else 50_000, rng))
        return worst


def main(args):
    full, strict = "--full" in args, "--strict" in args
    step = 1 if full else 251
    if "--step" in args:
        at = args.index("--step")
        step = int(args[at + 1])
        args = args[:at] + args[at + 2 :]
    names = [a for a in args if not a.startswith("-")]
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(Path(folder), strict)
        for ty in FORMATS:
            for name, _ in functions(ty, checker.reference):
                if names and f"{name}_{ty}" not in names and name not in names:
                    continue
                worst = checker.measure(name, ty, full, step)
                verdict = "" if worst.error <= BOUND.get(name, 2) else "  TOO LARGE"
                bad += bool(verdict)
                print(f"{name}_{ty}: {worst.error:.3f} ulp of {worst.count} at {worst.where}{verdict}", flush=True)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
