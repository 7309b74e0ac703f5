"""The programs of the figure `users` in NumPy, JAX and Numba, as their users write them.

    python3 users.py ENTRY PEER INPUT OUTPUT RUNS

This file has the programs of `users.fut`, the modules `users_*.py` those of `users/*.fut`.

Reads the arguments from a file in Futhark's binary format, writes the results to OUTPUT and the run times in
microseconds to standard output, after two runs that are not measured. Exits 3 if the peer does not have the program or
is not installed.
"""

import importlib
import json
import math
import sys
import time

import numpy as np

TYPES = {" f32": "<f4", " f64": "<f8", " i32": "<i4", " i64": "<i8", "  u8": "u1"}
TOPICS = ["linear_algebra", "sorting", "graphs", "signals", "text", "statistics", "stencils"]
NAMES = {np.dtype(code): name for name, code in TYPES.items()}


def read(data):
    """All values of a file."""
    at, values = 0, []
    while at < len(data):
        if data[at:at + 1] in (b" ", b"\n"):
            at += 1
            continue
        rank, elem = data[at + 2], np.dtype(TYPES[data[at + 3:at + 7].decode()])
        shape = np.frombuffer(data, "<i8", rank, at + 7)
        count = int(math.prod(shape))
        # A copy is aligned, which NumPy and Numba need to be fast.
        value = np.frombuffer(data, elem, count, at + 7 + 8 * rank).reshape(shape).copy()
        values.append(value if rank else value[()])
        at += 7 + 8 * rank + count * elem.itemsize
    return values


def write(value):
    """A value's bytes."""
    value = np.ascontiguousarray(value)
    head = b"b\x02" + bytes([value.ndim]) + NAMES[value.dtype.newbyteorder("<")].encode()
    return head + np.array(value.shape, "<i8").tobytes() + value.tobytes()


def softmax(xp, xs):
    es = xp.exp(xs - xs.max(axis=1, keepdims=True))
    return es / es.sum(axis=1, keepdims=True)


def squared_distances(xp, xs, ys):
    return (xs * xs).sum(1)[:, None] - 2 * xs @ ys.T + (ys * ys).sum(1)[None, :]


def layer_norm(x, gain, bias):
    mean = x.mean(axis=1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=1, keepdims=True)
    return (x - mean) / (variance + 1e-5) ** 0.5 * gain + bias


def shared(xp):
    """The programs that NumPy and JAX write alike."""
    return {
        "multiply": lambda a, b: a @ b,
        "multiply_f64": lambda a, b: a @ b,
        "multiply_left_transposed": lambda a, b: a.T @ b,
        "multiply_right_transposed": lambda a, b: a @ b.T,
        "multiply_batch": lambda a, b: a @ b,
        "perceptron": lambda x, w1, b1, w2, b2: xp.maximum(x @ w1 + b1, 0) @ w2 + b2,
        "attention": lambda q, k, v: softmax(xp, q @ k.T / np.float32(q.shape[1] ** 0.5)) @ v,
        "layer_norm": layer_norm,
        "distances": lambda xs, ys: xp.sqrt(xp.maximum(squared_distances(xp, xs, ys), 0)),
        "kernel_sums": lambda xs, ys, weights: xp.exp(-squared_distances(xp, xs, ys)) @ weights,
    }


def numpy_programs():
    def kmeans_step(points, centres):
        members = squared_distances(np, points, centres).argmin(axis=1)
        counts = np.bincount(members, minlength=len(centres)).astype(np.int32)
        sums = np.zeros_like(centres)
        np.add.at(sums, members, points)
        return sums / np.maximum(counts, 1)[:, None].astype(np.float32), counts

    def life(steps, world):
        for _ in range(steps):
            count = sum(np.roll(world, (dy, dx), (0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx)
            world = ((count == 3) | ((world == 1) & (count == 2))).astype(np.uint8)
        return world

    def heat(steps, grid):
        for _ in range(steps):
            new = grid.copy()
            new[1:-1, 1:-1] = np.float32(0.25) * (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:])
            grid = new
        return grid

    return shared(np) | {
        "kmeans_step": kmeans_step, "life": life, "heat": heat, "cholesky": np.linalg.cholesky,
    }


def jax_programs():
    import jax
    from jax import lax, numpy as jnp

    def kmeans_step(points, centres):
        members = squared_distances(jnp, points, centres).argmin(axis=1)
        counts = jnp.zeros(len(centres), jnp.int32).at[members].add(1)
        sums = jnp.zeros_like(centres).at[members].add(points)
        return sums / jnp.maximum(counts, 1)[:, None].astype(jnp.float32), counts

    def life(steps, world):
        def step(_, world):
            count = sum(jnp.roll(world, (dy, dx), (0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx)
            return ((count == 3) | ((world == 1) & (count == 2))).astype(jnp.uint8)

        return lax.fori_loop(0, steps, step, world)

    def heat(steps, grid):
        def step(_, grid):
            inner = np.float32(0.25) * (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:])
            return grid.at[1:-1, 1:-1].set(inner)

        return lax.fori_loop(0, steps, step, grid)

    programs = shared(jnp) | {
        "least_sums": lambda a, b: (a[:, :, None] + b[None, :, :]).min(axis=1),
        "convolution": lambda image, kernel: lax.conv(image[None], kernel, (1, 1), "VALID")[0],
        "kmeans_step": kmeans_step, "life": life, "heat": heat, "cholesky": jnp.linalg.cholesky,
    }

    return {name: jax.jit(program) for name, program in programs.items()}


def numba_programs():
    from numba import njit, prange

    compiled = njit(parallel=True, fastmath=False)

    @compiled
    def heat(steps, grid):
        n, m = grid.shape
        old, new = grid.copy(), grid.copy()
        for _ in range(steps):
            for y in prange(1, n - 1):
                for x in range(1, m - 1):
                    new[y, x] = np.float32(0.25) * (old[y - 1, x] + old[y + 1, x] + old[y, x - 1] + old[y, x + 1])
            old, new = new, old
        return old

    @compiled
    def life(steps, world):
        n, m = world.shape
        old, new = world.copy(), world.copy()
        for _ in range(steps):
            for y in prange(n):
                up, down = (y - 1) % n, (y + 1) % n
                for x in range(m):
                    left, right = (x - 1) % m, (x + 1) % m
                    count = (old[up, left] + old[up, x] + old[up, right] + old[y, left] + old[y, right]
                             + old[down, left] + old[down, x] + old[down, right])
                    new[y, x] = 1 if count == 3 or (old[y, x] == 1 and count == 2) else 0
            old, new = new, old
        return old

    @compiled
    def least_sums(a, b):
        n, k = a.shape
        result = np.full((n, b.shape[1]), np.inf, np.float32)
        for i in prange(n):
            for p in range(k):
                for j in range(b.shape[1]):
                    result[i, j] = min(result[i, j], a[i, p] + b[p, j])
        return result

    @compiled
    def distances(xs, ys):
        result = np.empty((len(xs), len(ys)), np.float32)
        for i in prange(len(xs)):
            for j in range(len(ys)):
                total = np.float32(0)
                for k in range(xs.shape[1]):
                    total += (xs[i, k] - ys[j, k]) ** 2
                result[i, j] = math.sqrt(total)
        return result

    @compiled
    def kernel_sums(xs, ys, weights):
        result = np.empty(len(xs), np.float32)
        for i in prange(len(xs)):
            total = np.float32(0)
            for j in range(len(ys)):
                distance = np.float32(0)
                for k in range(xs.shape[1]):
                    distance += (xs[i, k] - ys[j, k]) ** 2
                total += weights[j] * math.exp(-distance)
            result[i] = total
        return result

    @compiled
    def kmeans_step(points, centres):
        members = np.empty(len(points), np.int64)
        for i in prange(len(points)):
            least, at = np.float32(np.inf), 0
            for j in range(len(centres)):
                distance = np.float32(0)
                for k in range(points.shape[1]):
                    distance += (points[i, k] - centres[j, k]) ** 2
                if distance < least:
                    least, at = distance, j
            members[i] = at
        sums, counts = np.zeros_like(centres), np.zeros(len(centres), np.int32)
        for i in range(len(points)):
            counts[members[i]] += 1
            for k in range(points.shape[1]):
                sums[members[i], k] += points[i, k]
        for j in range(len(centres)):
            for k in range(points.shape[1]):
                sums[j, k] /= max(counts[j], 1)
        return sums, counts

    @compiled
    def layer_norm(x, gain, bias):
        result = np.empty_like(x)
        for i in prange(len(x)):
            mean = x[i].mean()
            variance = ((x[i] - mean) ** 2).mean()
            result[i] = (x[i] - mean) / np.sqrt(variance + np.float32(1e-5)) * gain + bias
        return result

    programs = [heat, life, least_sums, distances, kernel_sums, kmeans_step, layer_norm]
    return {program.py_func.__name__: program for program in programs}


def find(entry, peer):
    """The program of an entry point, or None."""
    modules = [importlib.import_module(f"users_{topic}") for topic in TOPICS]
    for module in [sys.modules[__name__], *modules]:
        if program := getattr(module, f"{peer.lower()}_programs")().get(entry):
            return program
    return None


def for_jax(program, args):
    """The program until its results are there, and the arguments as arrays of JAX."""
    import jax

    arrays = [jax.device_put(arg) if arg.ndim else arg for arg in args]
    return lambda *args: jax.block_until_ready(program(*args)), arrays


def main():
    entry, peer, source, target, runs = sys.argv[1:]
    try:
        if peer == "JAX":
            import jax

            jax.config.update("jax_enable_x64", True)
        program = find(entry, peer)
    except ImportError:
        program = None
    if program is None:
        return 3
    with open(source, "rb") as file:
        args = read(file.read())
    if peer == "JAX":
        program, args = for_jax(program, args)
    try:
        for _ in range(2):
            results = program(*args)
    except ImportError:
        return 3
    times = []
    for _ in range(int(runs)):
        start = time.perf_counter()
        results = program(*args)
        times.append((time.perf_counter() - start) * 1e6)
    with open(target, "wb") as file:
        for value in results if isinstance(results, (tuple, list)) else (results,):
            file.write(write(value))
    print(json.dumps(times))
    return 0


if __name__ == "__main__":
    sys.exit(main())
