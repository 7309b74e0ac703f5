"""Measures the functions of prelude/libm32.fut and prelude/libm64.fut.

`python check.py [--full] [--time] [NAME...]` compiles them with a Futhark
compiler (`FUTHARK`, by default `futhark`, as a C library) and prints for each
the largest error in ulp and where it is: f32 against the C library in double
precision over every 251st float (`--full`: every float), f64 against MPFR over
random arguments of all sizes; edge cases in both. Fails above 2 ulp, or where
infinities, NaNs or signs of zeros are wrong. `--time` prints nanoseconds per
element instead. Names are like `exp_f32`; without any, all. Needs numpy, gcc, MPFR.
"""

import ctypes
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
PRELUDE = HERE.parents[2] / "prelude"
FUTHARK = os.environ.get("FUTHARK", "futhark")
TWO = {"pow", "atan2"}
FORMATS = {"f32": (np.float32, np.uint32, 24, -126), "f64": (np.float64, np.uint64, 53, -1022)}


def functions(ty):
    """The public functions of one file, in order."""
    source = (PRELUDE / f"libm{ty[1:]}.fut").read_text()
    return re.findall(r"^def (\w+) ", source, re.M)


def shim(source):
    """The built-ins that the source uses, in terms of another compiler's prelude."""
    lines = []
    for name in sorted(set(re.findall(r"intrinsics\.(\w+)", source))):
        if found := re.fullmatch(r"(\w+)_to_(\w+)", name):
            body = f"{found[2]}.{found[1]}"
        else:
            op, ty = name.rsplit("_", 1)
            body = f"{ty}.{op}"
        lines.append(f"  def {name} = {body}")
    return "module prim = {\n" + "\n".join(lines) + "\n}\n"


def compiled(folder):
    """A C library of all functions, over arrays."""
    text, entries = "", ""
    for ty in FORMATS:
        path = PRELUDE / f"libm{ty[1:]}.fut"
        source = path.read_text()
        text += f"module libm_{ty} = {{\n{source}\n}}\n"
        for name in functions(ty):
            if name in TWO:
                entries += f"entry {name}_{ty} [n] (xs: [n]{ty}) (ys: [n]{ty}) = map2 libm_{ty}.{name} xs ys\n"
            else:
                entries += f"entry {name}_{ty} [n] (xs: [n]{ty}) = map libm_{ty}.{name} xs\n"
    # That compiler inlines a function used more than once only on request.
    text = re.sub(r"^(?:local )?def (\w+ \()", r"#[inline] def \1", text, flags=re.M)
    text = shim(text) + re.sub(r"\bintrinsics\b", "prim", text) + entries
    (folder / "libm.fut").write_text(text)
    subprocess.run([FUTHARK, "c", "--library", "libm.fut"], cwd=folder, check=True)
    flags = "-O3 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math -w -fPIC -shared".split()
    subprocess.run(["gcc", *flags, "libm.c", "-o", "libm.so", "-lm"], cwd=folder, check=True)
    return Compiled(folder / "libm.so"), reference_library(folder)


def reference_library(folder):
    """The functions of reference.c."""
    command = ["gcc", "-O2", "-fPIC", "-shared", HERE / "reference.c", "-o", "reference.so", "-lmpfr", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(folder / "reference.so")


class Compiled:
    """Calls the entry points on numpy arrays."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        for name in ("futhark_context_config_new", "futhark_context_new"):
            getattr(self.lib, name).restype = ctypes.c_void_p
        config = self.lib.futhark_context_config_new()
        self.ctx = ctypes.c_void_p(self.lib.futhark_context_new(ctypes.c_void_p(config)))

    def call(self, name, ty, *arrays):
        lib, inputs = self.lib, []
        new = getattr(lib, f"futhark_new_{ty}_1d")
        new.restype = ctypes.c_void_p
        for array in arrays:
            inputs.append(ctypes.c_void_p(new(self.ctx, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(len(array)))))
        out = ctypes.c_void_p()
        start = time.perf_counter()
        code = getattr(lib, f"futhark_entry_{name}_{ty}")(self.ctx, ctypes.byref(out), *inputs)
        self.seconds = time.perf_counter() - start
        assert code == 0
        result = np.empty_like(arrays[0])
        getattr(lib, f"futhark_values_{ty}_1d")(self.ctx, out, result.ctypes.data_as(ctypes.c_void_p))
        lib.futhark_context_sync(self.ctx)
        for array in [*inputs, out]:
            getattr(lib, f"futhark_free_{ty}_1d")(self.ctx, array)
        return result


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def expected(reference, name, quick, args):
    with np.errstate(all="ignore"):
        args = [a.astype(np.float64) for a in args]
    hi, lo = np.empty_like(args[0]), np.empty_like(args[0])
    ys = args[1] if len(args) > 1 else args[0]
    found = reference.reference(name.encode(), int(quick), ctypes.c_int64(len(hi)), pointer(args[0]), pointer(ys), pointer(hi), pointer(lo))
    assert found, name
    return hi, lo


def ulps(ty, got, hi, lo):
    """The distance of `got` from `hi + lo` in ulp; infinite for a wrong special value."""
    float_type, _, bits, low = FORMATS[ty]
    with np.errstate(all="ignore"):
        # The format's overflow counts as its next power of two.
        limit = 2.0 ** 128 if ty == "f32" else np.inf
        want = np.where(np.abs(hi) >= limit, np.copysign(limit, hi), hi)
        lo = np.where(np.abs(hi) >= limit, 0, lo)
        value = got.astype(np.float64)
        value = np.where(np.isinf(value), np.copysign(limit, value), value)
        _, exponent = np.frexp(np.where(np.isfinite(want), want, np.copysign(np.finfo(np.float64).max, want)))
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
    """Arguments where something changes."""
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
    """Random arguments: any bits, moderate sizes, near 1, each a share."""
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
        # Powers within range: y so that |y log2 x| is below the largest exponent.
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
        self.error, self.where, self.count = 0.0, None, 0

    def add(self, ty, got, hi, lo, args):
        error = ulps(ty, got, hi, lo)
        self.count += len(error)
        i = int(np.argmax(error))
        if error[i] > self.error or self.where is None:
            self.error, self.where = float(error[i]), ([a[i] for a in args], got[i], hi[i])


def measure(lib, reference, name, ty, full):
    float_type = FORMATS[ty][0]
    worst, rng = Worst(), np.random.default_rng(7)

    def check(quick, *args):
        got = lib.call(name, ty, *args)
        worst.add(ty, got, *expected(reference, name, quick, args), args)

    if name in TWO:
        count = (4_000_000 if full else 400_000) if ty == "f32" else (400_000 if full else 40_000)
        check(ty == "f32", *pairs(name, ty, count, rng))
    else:
        check(False, edges(ty))
        if ty == "f32":
            step = 1 if full else 251
            for start in range(0, 2**32, step << 22):
                stop = min(2**32, start + (step << 22))
                check(True, np.arange(start, stop, step, dtype=np.uint64).astype(np.uint32).view(float_type))
        else:
            check(False, sample(name, ty, 1_000_000 if full else 50_000, rng))
    return worst


def main(args):
    full, timed = "--full" in args, "--time" in args
    names = [a for a in args if not a.startswith("-")]
    chosen = [(n, ty) for ty in FORMATS for n in functions(ty) if not names or f"{n}_{ty}" in names or n in names]
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        lib, reference = compiled(Path(folder))
        for name, ty in chosen:
            if timed:
                xs = np.random.default_rng(7).uniform(0.1, 20, 1 << 15).astype(FORMATS[ty][0])
                inputs = [xs, xs[::-1].copy() / 4] if name in TWO else [xs / 20 if name in ("asin", "acos") else xs]
                best = min((lib.call(name, ty, *inputs), lib.seconds)[1] for _ in range(200))
                print(f"{name}_{ty}: {best / len(xs) * 1e9:.2f} ns")
                continue
            worst = measure(lib, reference, name, ty, full)
            verdict = "" if worst.error <= 2 else "  TOO LARGE"
            bad += bool(verdict)
            where, got, want = worst.where
            print(f"{name}_{ty}: {worst.error:.3f} ulp of {worst.count} at {', '.join(map(repr, map(float, where)))} (got {got!r}, want {want!r}){verdict}", flush=True)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
