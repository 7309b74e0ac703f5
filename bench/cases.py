"""Nested parallelism: the programs of `programs/nests`, the cases that they are measured on, and
their inputs. Inputs of the paper's benchmarks are in the folder `DATA` (default: `../shared/data`);
the others are generated here.

Arrays of floats repeat a block of prime length, so that large ones are generated quickly and rows
differ.
"""

import array
import itertools
import math
import os
import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from harness import HERE, ROOT, WORK
from values import matrix, scalar, vector

NESTS = HERE / "programs" / "nests"
DATA = Path(os.environ.get("DATA", ROOT.parent / "shared" / "data"))
PRIME = 65_521
NODES = 1_000_000


@dataclass
class Case:
    """An entry point and an input.

    `make` returns the input's bytes; `file` is an existing input; `scaling` is the kind of nests
    with a goal for the gain from a second thread: `compute` or `irregular`.
    """

    name: str
    program: str
    entry: str
    make: Callable[[], bytes] | None = None
    file: str | None = None
    tolerance: float = 1e-3
    scaling: str = ""

    @property
    def path(self):
        return NESTS / f"{self.program}.fut"

    def input(self):
        """The file with the input, or None if it is not available."""
        if self.file:
            path = DATA / self.file
            return path if path.exists() else None
        path = WORK / f"nest-{self.name.replace(' ', '-').replace('/', '-')}.in"
        if not path.exists():
            try:
                path.write_bytes(self.make())
            except FileNotFoundError:
                return None
        return path

    def expected_results(self):
        """The results provided with the input, if any: numbers in text form."""
        path = DATA / self.file.replace(".in", ".out") if self.file else None
        if not path or not path.exists():
            return None
        text = re.sub("--.*", "", path.read_text())
        return [float(number) for number in re.findall(r"-?\d+(?:\.\d*)?(?:e[-+]?\d+)?(?=f32|f64)", text)]

    def delete_input(self):
        """Deletes a large generated input."""
        path = self.input()
        if self.make and path and path.stat().st_size > 1 << 24:
            path.unlink()


def random_reals(code, count, seed):
    """The bytes of `count` floats from 0 to 1."""
    source = random.Random(seed)
    block = array.array(code, (source.random() for _ in range(min(count, PRIME))))
    return (bytes(block) * (count // PRIME + 1))[: count * block.itemsize]


def random_bits(shape, seed):
    """Floats that are 0 or 1: sums of their products are exact in any order."""
    source, count = random.Random(seed), math.prod(shape)
    block = array.array("f", (source.getrandbits(1) for _ in range(min(count, PRIME))))
    return matrix("f32", shape, (bytes(block) * (count // PRIME + 1))[: 4 * count])


def f32s(shape, seed):
    return matrix("f32", shape, random_reals("f", math.prod(shape), seed))


def f64s(count, seed):
    return vector("f64", random_reals("d", count, seed))


def random_below(limit, count, seed):
    """Integers from 0 to `limit` - 1."""
    words = array.array("I", random.Random(seed).randbytes(4 * count))
    return vector("i32", array.array("i", map(limit.__rmod__, words)))


def offsets(sizes):
    """The offsets of segments of these sizes, and the end of the last."""
    return array.array("q", itertools.accumulate(sizes, initial=0))


def random_graph():
    """A graph in which each node has 0 to 15 edges to arbitrary nodes."""
    first = offsets(random.Random(1).choices(range(16), k=NODES))
    return vector("i64", first) + random_below(NODES, first[-1], 2)


def sparse_matrix():
    """A sparse matrix as triples in any order, and a vector."""
    entries = 5 * NODES
    rows, columns = random_below(NODES, entries, 3), random_below(NODES, entries, 4)
    return scalar("i64", NODES) + rows + columns + f64s(entries, 5) + f64s(NODES, 6)


def skewed_matrix():
    """A sparse matrix in which row i has about 400,000/(i + 1) entries and at least one."""
    first = offsets(400_000 // (i + 1) + 1 for i in range(NODES))
    return vector("i64", first) + random_below(NODES, first[-1], 7) + f64s(first[-1], 8) + f64s(NODES, 9)


def unsorted_segments():
    """As `skewed_matrix`, with fewer of the shortest rows."""
    first = offsets(400_000 // (i + 1) + 1 for i in range(100_000))
    return vector("i64", first) + random_below(1 << 30, first[-1], 11)


def integers(*numbers):
    return b"".join(scalar("i64", n) for n in numbers)


def brownian_bridge(dates):
    """A Brownian bridge over days 1, ..., `dates`: the last day first, then repeatedly the
    middle of the interval between two known days."""
    order, spans = [(dates, 0, 0)], [(0, dates)]
    for left, right in spans:
        if right - left > 1:
            middle = (left + right) // 2
            order.append((middle, left, right))
            spans += [(left, middle), (middle, right)]
    weights = []
    for position, left, right in order:
        if not right:
            weights.append((math.sqrt(position / 365), 0.0, 0.0))
            continue
        share = (position - left) / (right - left)
        spread = math.sqrt((position - left) * (right - position) / (right - left) / 365)
        weights.append((spread, 1 - share if left else 0.0, share))
    positions = array.array("i", itertools.chain(*zip(*order)))
    values = array.array("f", itertools.chain(*zip(*weights)))
    return matrix("i32", (3, dates), positions) + matrix("f32", (3, dates), values)


def option_pricing_input(paths=500, dates=367, assets=3, bits=30):
    """Few paths of many dates. The Sobol direction numbers are random; any with the right
    leading bit are valid."""
    source = random.Random(10)
    directions = array.array("i", (
        (1 << bits - 1 - b) | source.getrandbits(b) << (bits - b) for _ in range(dates * assets) for b in range(bits)
    ))
    correlation = [1, 0, 0, 0.6, 0.8, 0, 0.8, 0.15, 0.5809475]
    data = scalar("i32", 3) + scalar("i32", paths) + matrix("i32", (dates * assets, bits), directions)
    data += matrix("f32", (1, assets, assets), array.array("f", correlation))
    for level in (0.19, -1e-4):
        row = [level * (1 + 0.1 * j) for j in range(assets)]
        data += matrix("f32", (1, dates, assets), array.array("f", row * dates))
    data += matrix("f32", (1, assets), array.array("f", [3758.05, 11840, 1200]))
    data += matrix("f32", (1, 1), array.array("f", [0])) + matrix("f32", (1, 2), array.array("f", [0.97, 0.95]))
    return data + brownian_bridge(dates)


def lava_md_input(edge, size):
    """A cube of `edge`^3 boxes of `size` particles each; each box has up to 26 neighbours, given
    by index."""
    count, most = edge**3, 26
    positions = [(i % edge, i // edge % edge, i // edge**2) for i in range(count)]
    steps = [step for step in itertools.product((-1, 0, 1), repeat=3) if any(step)]
    around = [[] for _ in positions]
    for i, (x, y, z) in enumerate(positions):
        for dz, dy, dx in steps:
            near = (x + dx, y + dy, z + dz)
            if all(0 <= at < edge for at in near):
                around[i].append((*near, near[0] + edge * (near[1] + edge * near[2])))

    def numbers(shape, values):
        return matrix("i32", shape, array.array("i", values))

    data = scalar("f32", 0.5)
    for axis in range(3):
        data += numbers((count,), (position[axis] for position in positions))
    data += numbers((count,), range(count))
    for part in range(4):
        table = (near[j][part] if j < len(near) else 0 for j in range(most) for near in around)
        data += numbers((most, count), table)
    data += numbers((count,), map(len, around))
    return data + b"".join(f32s((count, size), seed) for seed in range(20, 25))


def local_volatility_input(strikes, nx, ny, nt):
    """LocVolCalib of another size; the other parameters are those of its data sets."""
    sizes = b"".join(scalar("i32", n) for n in (strikes, nx, ny, nt))
    return sizes + b"".join(scalar("f32", x) for x in (0.03, 5.0, 0.2, 0.6, 0.5))


def known_slow_cases():
    """Programs that were slow once, and irregular nests."""
    for k, n in [(1, 10**6), (2, 10**6), (64, 10**5), (10**4, 500)]:
        yield Case(f"collatz {k} of {n}", "collatz", "main", lambda k=k, n=n: integers(k, n), scaling="compute")
    rows = lambda: f32s((100_000, 50), 1)
    yield Case("reduce of rows", "row_operators", "reduce_rows", rows)
    yield Case("scan of rows", "row_operators", "scan_rows", rows)
    yield Case("softmax", "row_operators", "softmax", lambda: f32s((4000, 1000), 2))
    yield Case("queens 13", "queens", "main", lambda: integers(13), scaling="irregular")
    yield Case("bfs by flags", "bfs", "by_flags", random_graph)
    yield Case("bfs by frontier", "bfs", "by_frontier", random_graph)
    yield Case("sparse by index", "sparse", "by_index", sparse_matrix, tolerance=1e-9)
    yield Case("sparse by skewed rows", "sparse", "by_rows", skewed_matrix, tolerance=1e-9, scaling="irregular")
    yield Case("quicksort of segments", "quicksort", "main", unsorted_segments, scaling="irregular")
    yield Case(
        "mandelbrot", "mandelbrot", "main",
        lambda: integers(1000, 1000) + scalar("i32", 1000), scaling="irregular",
    )


def matrix_products():
    """Figure 2 of the paper: products of 2^n rows and 2^n columns of 2^(k - 2n) elements."""
    for k in (20, 25):
        for n in range(11):
            rows, inner = 1 << n, 1 << k - 2 * n
            yield Case(
                f"matmul 2^{k} n={n}", "matmul", "main",
                lambda r=rows, i=inner: random_bits((r, i), 3) + random_bits((i, r), 4),
                tolerance=0,
                scaling="compute" if k == 25 and n >= 5 else "",
            )


def segmented_operations():
    """Sums and scans of 10^7 elements in segments of each length."""
    for entry in ("sums", "scans"):
        for exponent in range(8):
            shape = (10 ** (7 - exponent), 10**exponent)
            yield Case(
                f"{entry} {shape[0]}x{shape[1]}", "segments", entry,
                lambda s=shape: f32s(s, 5),
            )


def paper_benchmarks():
    """The paper's benchmarks with available programs and inputs."""
    yield Case("OptionPricing D1", "option_pricing", "main", file="OptionPricing/D1.in", scaling="compute")
    yield Case("OptionPricing D2", "option_pricing", "main", option_pricing_input, scaling="compute")
    yield Case("LavaMD D2", "lava_md", "main", file="lavaMD/D2.in", scaling="compute")
    for size in ("small", "medium"):
        yield Case(
            f"LocVolCalib {size}", "local_volatility", "main", file=f"LocVolCalib/{size}.in", scaling="compute"
        )
    yield Case("Heston 1062 errors", "heston", "errors", heston_quotes, tolerance=1e-2)
    # Candidates that differ by rounding lead to different results.
    yield Case(
        "Heston 1062", "heston", "main", file="heston32/1062_quotes.in", tolerance=0.1, scaling="compute"
    )


def heston_quotes():
    """The quotes without the lines that only the calibration reads."""
    lines = (DATA / "heston32/1062_quotes.in").read_text().splitlines()
    return "\n".join(line for line in lines if "max_global" not in line and "-- np" not in line).encode()


def cases(part=""):
    """All cases whose names contain `part`."""
    every = itertools.chain(paper_benchmarks(), matrix_products(), segmented_operations(), known_slow_cases())
    return [case for case in every if part in case.name]
