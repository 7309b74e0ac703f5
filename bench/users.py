"""The figure `users`: programs as users write them, and the same in NumPy, JAX and Numba."""

import array
import json
import math
import os
import random
import statistics
import subprocess
import sys

from harness import HERE, WORK, build_bindrune, compiler
from values import matrix, parse, scalar

PROGRAM = HERE / "programs" / "users.fut"
SCRIPT = HERE / "peers" / "users.py"
PEERS = ["NumPy", "JAX", "Numba"]
# Relative difference of results: peers compute distances by a product, in another order.
TOLERANCE = 2e-2


def f32(*shape):
    return "f32", shape


def f64(*shape):
    return "f64", shape


def square(n, elem=f32):
    return [elem(n, n), elem(n, n)]


# Rows: the entry point, its arguments, the number of operations.
CASES = {f"product {n}": ("multiply", square(n), 2 * n**3) for n in (32, 64, 100, 128, 256, 512, 1000, 1024, 2048, 4096)}
CASES |= {f"product f64 {n}": ("multiply_f64", square(n, f64), 2 * n**3) for n in (256, 1024, 2048)}
CASES |= {
    "product 4096x64x4096": ("multiply", [f32(4096, 64), f32(64, 4096)], 2 * 64 * 4096**2),
    "product 64x4096x64": ("multiply", [f32(64, 4096), f32(4096, 64)], 2 * 4096 * 64**2),
    "product 16x2048x2048": ("multiply", [f32(16, 2048), f32(2048, 2048)], 2 * 16 * 2048**2),
    "product A'B 1024": ("multiply_left_transposed", square(1024), 2 * 1024**3),
    "product AB' 1024": ("multiply_right_transposed", square(1024), 2 * 1024**3),
    "products 1000 of 32": ("multiply_batch", [f32(1000, 32, 32), f32(1000, 32, 32)], 2 * 1000 * 32**3),
    "least sums 512": ("least_sums", square(512), 2 * 512**3),
    "perceptron": ("perceptron", [f32(1024, 784), f32(784, 512), f32(512), f32(512, 10), f32(10)], 827_000_000),
    "convolution": ("convolution", [f32(32, 130, 130), f32(32, 32, 3, 3)], 2 * 128 * 128 * 32 * 32 * 9),
    "attention": ("attention", [f32(1024, 64)] * 3, 4 * 1024**2 * 64),
    "layer norm": ("layer_norm", [f32(4096, 768), f32(768), f32(768)], 8 * 4096 * 768),
    "distances": ("distances", [f32(2000, 32), f32(2000, 32)], 3 * 2000**2 * 32),
    "kernel sums": ("kernel_sums", [f32(2000, 8), f32(2000, 8), f32(2000)], 3 * 2000**2 * 8),
    "k-means step": ("kmeans_step", [f32(100_000, 16), f32(64, 16)], 3 * 100_000 * 64 * 16),
    "heat": ("heat", [100, f32(1000, 1000)], 4 * 100 * 1000**2),
    "life": ("life", [100, ("u8", (1000, 1000))], 10 * 100 * 1000**2),
    "cholesky 500": ("cholesky", ["positive definite", 500], 500**3 // 3),
}


def values_of(case, args):
    """The arguments of a row in the binary format."""
    source = random.Random(case)
    if args[0] == "positive definite":
        n = args[1]
        entries = array.array("d", (1 / (1 + abs(i - j)) + (i == j) * 2 for i in range(n) for j in range(n)))
        return matrix("f64", (n, n), entries)
    parts = []
    for arg in args:
        if isinstance(arg, int):
            parts.append(scalar("i32", arg))
            continue
        elem, shape = arg
        count = math.prod(shape)
        if elem == "u8":
            data = array.array("B", (byte & 1 for byte in source.randbytes(count)))
        else:
            data = array.array("f" if elem == "f32" else "d", (source.random() - 0.5 for _ in range(count)))
        parts.append(matrix(elem, shape, data))
    return b"".join(parts)


def run(command, data, runs, environment):
    """The run times of Bindrune's executable and its results."""
    out, times = WORK / "users.out", WORK / "users.times"
    with open(data, "rb") as source, open(out, "wb") as target:
        words = [*command, "-b", "-t", times, "-r", str(runs + 2)]
        subprocess.run([str(word) for word in words], stdin=source, stdout=target, env=environment, check=True)
    return [float(line) for line in times.read_text().split()][2:], parse(out.read_bytes())


def run_peer(entry, peer, data, runs, environment):
    """The run times of a peer and its results; `None` if it does not have the program."""
    out = WORK / "users.out"
    command = [sys.executable, SCRIPT, entry, peer, data, out, runs]
    done = subprocess.run([str(word) for word in command], capture_output=True, env=environment)
    if done.returncode == 3:
        return None
    if done.returncode:
        sys.exit(done.stderr.decode(errors="replace"))
    return json.loads(done.stdout), parse(out.read_bytes())


def figure_users(options, warnings):
    """Medians of all runs, one process after the other; peers with their libraries' own choice of processor."""
    if not compiler():
        warnings.add("bindrune is not built")
        return {"microseconds": {}, "agree": True}
    environment = {key: value for key, value in os.environ.items() if not key.startswith("OPENBLAS_")}
    exe, rows, good, gflops = build_bindrune(PROGRAM, "users-bindrune"), {}, True, {}
    for case, (entry, args, operations) in CASES.items():
        if options.case not in case:
            continue
        data = WORK / "users.in"
        data.write_bytes(values_of(case, args))
        times, expected = {}, None
        for _ in range(options.rounds):
            for name in ["bindrune", *PEERS]:
                if name == "bindrune":
                    found = run([exe, "-e", entry], data, options.runs, environment)
                else:
                    found = run_peer(entry, name, data, options.runs, environment)
                if found is None:
                    continue
                expected = expected or found[1]
                times.setdefault(name, []).extend(found[0])
                if not agree_loosely(expected, found[1]):
                    warnings.add(f"{case}: the results of {name} differ")
                    good = False
        rows[case] = {name: statistics.median(all_times) for name, all_times in times.items()}
        gflops[case] = operations / rows[case]["bindrune"] / 1000
        print(case, rows[case], flush=True)
        data.unlink()
    return {"microseconds": rows, "gflops": gflops, "agree": good}


def agree_loosely(left, right):
    """Equality up to the tolerance, relative to the greatest element of an array; a few members of clusters may
    differ, so counts have a tolerance, too."""
    if len(left) != len(right):
        return False
    for a, b in zip(left, right):
        if len(a) != len(b):
            return False
        scale = max(map(abs, a), default=0)
        if any(abs(x - y) > TOLERANCE * max(scale, 1e-6) for x, y in zip(a, b)):
            return False
    return True
