"""The figure `gpu`: programs on a device compared with hand-written CUDA C++ with Thrust, CUB and
cuBLAS (`peers/cuda`), with the reference compiler's executables for the same devices, and with
moderate flattening.

Arguments and results are in device memory. There are two times of Bindrune: that of a call by the
executable's own clock, as for all other contestants, on which the ratios are based; and that of the
device, which `-P` sums from the driver's events: kernels and copies on the device.
"""

import math
import os
import re
import statistics
import subprocess
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Callable

from bars import bars
from cases import NESTS, products
from contest import HERE, ROOT, WORK, Contestant, build_bindrune, make, prebuilt, tool
from lanes import CLASSIC, compiler, histogram_input, nbody_input, real_matrix
from mini import BENCHMARKS, MINI, data_file
from papers import benchmarks, volatility
from values import agree, parse, scalar

DEVICES = ["cuda", "opencl", "hip"]
PEERS = HERE / "peers" / "cuda"
# Elements of the mini-benchmarks, and the ones that have CUB versions.
SIZES, QUICK_SIZES = [10_000_000, 100_000_000], [100_000]
WITH_CUB = {"reduce_plus", "scan_plus"}
# The least number of bytes moved per element: read, or read and written.
MOVED = {
    "reduce_plus": 4, "reduce_max": 4, "index_of_max": 4, "index_of_max_pack": 4,
    "reduce_2x2mm": 42 * 4, "mssp": 4, "scan_plus": 8, "redomap_nt": 8, "black_scholes": 0,
}
# The goals of each group: the peer, the geometric mean, and the least ratio.
WANTED = {
    "mini": ("Thrust", 1.75, 1.0), "products": ("cuBLAS", 0.5, 0.25), "hand": ("CUDA", 0.0, 0.0),
    "reference": ("futhark", 1.3, 0.0), "flattening": ("MF", 1.0, 0.0),
}
# The goal for sums and prefix sums as a fraction of a copy's bandwidth.
SHARE = {"reduce_plus": 0.9, "scan_plus": 0.9}
# The number of floats of a result that are compared, evenly spaced; integers are all compared.
COMPARED = 1_000_000
# The time limit of a process in seconds.
LIMIT = 60
ROW = re.compile(r"^ *(\d+) +([\d.]+) +[\d.]+ +[\d.]+% +(\d+)  (.*)$")
# Bindrune without further flags.
OURS = "bindrune"
# Rows of `-P` that are not work of the device.
BESIDE = ("copies to the device", "copies to the host", "notes of failures", "all launches and copies")


# The rows of `make_inputs`, inherited by its forked processes.
INPUTS = []


class Failed(Exception):
    """A contestant failed, with its message."""


@dataclass
class Work:
    """A row: an entry point, an input, and the peers."""

    name: str
    group: str
    program: Path
    entry: str
    data: Callable[[], Path]
    peers: dict = field(default_factory=dict)
    tolerance: float = 1e-3
    # The least number of bytes moved, and the number of floating-point operations.
    moved: float = 0
    operations: float = 0
    # True if moderate flattening is measured too.
    ablation: bool = False


def kept(name, make_bytes):
    """A file with an input, generated on first use."""
    path = WORK / f"gpu-{name}.in"
    if not path.exists():
        path.write_bytes(make_bytes())
    return path


def mini_rows(options):
    for size in QUICK_SIZES if options.quick else SIZES:
        for name in [name for name in BENCHMARKS if name in options.only]:
            peers = {"Thrust": name} | ({"CUB": f"{name}_cub"} if name in WITH_CUB else {})
            yield Work(
                f"{name} {size}", "mini", MINI, name, lambda n=name, s=size: data_file(n, s), peers,
                moved=MOVED[name] * size,
            )


def product_rows(options):
    for case in products():
        exponent, n = re.findall(r"\d+", case.name)[1:]
        if options.quick and (exponent != "20" or int(n) % 5):
            continue
        yield Work(
            case.name, "products", case.path, case.entry, case.input, {"cuBLAS": "matmul"},
            tolerance=0, operations=2.0 * 2 ** int(exponent), ablation=True,
        )


def hand_rows(options):
    side, steps, count = (100, 3, 1000) if options.quick else (4000, 100, 20_000)
    simulation, stencils = CLASSIC / "simulation.fut", CLASSIC / "stencils.fut"
    plate = lambda: scalar("i32", steps) + real_matrix(side, side, 9)
    bodies = lambda: kept(f"nbody-{count}", lambda: nbody_input(count))
    yield Work(f"nbody {count}", "hand", simulation, "nbody", bodies, {"CUDA": "nbody"})
    yield Work(
        f"jacobi {side}", "hand", stencils, "jacobi", lambda: kept(f"jacobi-{side}", plate), {"CUDA": "jacobi"},
        moved=16.0 * side * side * steps,
    )
    yield Work(
        "histogram", "hand", simulation, "histogram", lambda: kept("histogram", histogram_input),
        {"CUDA": "histogram"}, tolerance=0, moved=4 * 10_000_000,
    )


def flattening_rows(options):
    """The available programs of the paper's figures 7 and 8."""
    for case in [*volatility(), *benchmarks()]:
        quick = case.name in ("LocVolCalib small", "OptionPricing D2", "LavaMD D1")
        if (case.make or case.input()) and (quick or not options.quick):
            yield Work(case.name, "flattening", case.path, case.entry, case.input,
                       tolerance=case.tolerance, ablation=True)


def works(options):
    for rows in (mini_rows, product_rows, hand_rows, flattening_rows):
        yield from (work for work in rows(options) if options.case in work.name)


def make_inputs(rows):
    """Generates the inputs, each in a process of its own."""
    with ProcessPoolExecutor(mp_context=get_context("fork")) as pool:
        INPUTS.extend(rows)
        list(pool.map(make_input, range(len(rows))))
        INPUTS.clear()


def make_input(index):
    INPUTS[index].data()


def label(program):
    return "-".join(program.relative_to(ROOT).with_suffix("").parts[-2:])


def device(backend):
    """The device, or the reason why there is none."""
    trivial = WORK / "gpu-trivial.fut"
    trivial.write_text("entry main (xs: []i32) = map (+ 1) xs\n")
    made = build_bindrune(trivial, f"gpu-trivial-{backend}", "--backend", backend)
    done = subprocess.run([made, "--list-devices"], capture_output=True)
    lines = done.stdout.decode(errors="replace").splitlines()
    if done.returncode or not lines:
        why = done.stderr.decode(errors="replace").strip().partition(": ")[2]
        return None, why or "the driver lists none"
    return lines[0], None


def cuda_peer(name, notes):
    """Builds a CUDA C++ program if there is a compiler for it."""
    nvcc, out, source = tool("NVCC", "nvcc"), WORK / f"cuda-{name}", PEERS / f"{name}.cu"
    if not nvcc and not prebuilt(out.name):
        notes.add("gpu: there is no nvcc, so nothing in CUDA C++")
        return None
    # A failure to build does not affect the other rows.
    command = [nvcc or "nvcc", "-O3", "-std=c++17", "-arch=native", source, "-o", out]
    command += ["-lcublas"] if name == "matmul" else []
    try:
        return make(out, command, [source, PEERS / "peer.cuh"])
    except SystemExit as stop:
        notes.add(f"gpu: {name}.cu is not built: {str(stop.code).splitlines()[-1]}")
        return None


def reference(program, backend, notes):
    """The reference compiler's executable for the same devices."""
    futhark = tool("FUTHARK", "futhark")
    out = WORK / f"gpu-{label(program)}-futhark-{backend}"
    there = futhark and (backend != "cuda" or tool("NVCC", "nvcc"))
    if not there and not prebuilt(out.name):
        notes.add("gpu: nothing of the reference compiler: it or nvcc is not installed")
        return None
    try:
        return make(out, [futhark or "futhark", backend, program, "-o", out], [futhark or program, program])
    except SystemExit as stop:
        notes.add(f"gpu: futhark {backend} {program.name}: {str(stop.code).splitlines()[-1]}")
        return None


def contestants(work, backend, notes):
    """Bindrune first, then all available peers."""
    entry, name = ["-e", work.entry], f"gpu-{label(work.program)}-{backend}"
    found = [Contestant(OURS, [build_bindrune(work.program, name, "--backend", backend), *entry])]
    if work.ablation:
        moderate = build_bindrune(work.program, f"{name}-moderate", "--backend", backend, "--flatten", "moderate")
        found.append(Contestant("MF", [moderate, *entry]))
    if backend == "cuda":
        built = {who: cuda_peer(peer, notes) for who, peer in work.peers.items()}
        found += [Contestant(who, [exe]) for who, exe in built.items() if exe]
    exe = reference(work.program, backend, notes)
    cache = ["--cache-file", f"{exe}.kernels"] if backend == "cuda" else []
    return found + ([Contestant("futhark", [exe, *entry, *cache])] if exe else [])


def process(contestant, data, runs, out, *flags):
    """The standard error of a process that makes `runs` measured calls after a warm-up. The
    result is written to `out`."""
    command = [*map(str, contestant.command), "-b", "-r", str(runs), *flags]
    with open(data, "rb") as source, open(out, "wb") as sink:
        done = subprocess.run(command, stdin=source, stdout=sink, stderr=subprocess.PIPE, timeout=LIMIT)
    said = done.stderr.decode(errors="replace")
    if done.returncode:
        raise Failed((said.strip() or "it fails").splitlines()[0])
    return said


def called(contestant, data, runs, out):
    """Microseconds of each of `runs` calls."""
    times = WORK / "gpu.times"
    times.unlink(missing_ok=True)
    process(contestant, data, runs, out, "-t", str(times))
    return [float(line) for line in times.read_text().split()]


def launched(contestant, data, runs):
    """Microseconds of the device per call of Bindrune, by launch."""
    rows = map(ROW.match, process(contestant, data, runs, os.devnull, "-P", "-n").splitlines())
    return {row[4].split(" (")[0]: float(row[2]) / runs for row in rows if row and row[4] not in BESIDE}


def alike(work, left, right):
    """Returns true if results are equal, floats within the tolerance."""
    if left == right:
        return True
    left, right = parse(left), parse(right)
    if len(left) != len(right):
        return False
    for a, b in zip(left, right):
        step = max(len(a) // COMPARED, 1) if a.typecode in "fd" else 1
        if len(a) != len(b) or not agree([a[::step]], [b[::step]], work.tolerance):
            return False
    return True


def row(work, backend, options, notes):
    """A row's times and ratios. Contestants that fail or give another result are reported and
    left out."""
    data, out, entrants = work.data(), WORK / "gpu.out", contestants(work, backend, notes)
    calls, device, own, agree = {}, {}, None, True
    for i in range(options.rounds):
        for contestant in entrants if i % 2 == 0 else entrants[::-1]:
            who = contestant.name
            # Moderate flattening is slow in some rows, so it has fewer runs.
            runs = options.runs if who != "MF" else max(options.runs // 5, 1)
            try:
                times = called(contestant, data, runs, out)
                if i == 0 and who == OURS:
                    own, device = out.read_bytes(), launched(contestant, data, runs)
                elif i == 0 and not alike(work, own, out.read_bytes()):
                    agree = False
                    raise Failed("it gives another result")
            except (Failed, subprocess.TimeoutExpired) as stop:
                why = str(stop) if isinstance(stop, Failed) else f"it takes more than {LIMIT} s"
                notes.add(f"gpu: {work.name}: {who}: {why}")
                if who == OURS:
                    return {"group": work.group, "agree": False}
                entrants = [other for other in entrants if other is not contestant]
                calls.pop(who, None)
                continue
            calls.setdefault(who, []).extend(times)
    times = {who: statistics.median(found) for who, found in calls.items()}
    found = {
        "group": work.group, "microseconds": times, "launches": device, "device": sum(device.values()),
        "agree": agree,
        "ratios": {who: time / times[OURS] for who, time in times.items() if who != OURS},
    }
    if work.moved:
        found["gigabytes"] = work.moved / times[OURS] / 1e3
    if work.operations:
        found["gigaflops"] = work.operations / times[OURS] / 1e3
    return found


def bandwidth(backend, options, notes):
    """The bandwidth of a copy on the device in gigabytes per second, read and written; None
    without a peer."""
    exe = cuda_peer("copy", notes) if backend == "cuda" else None
    if not exe:
        return None
    size = (QUICK_SIZES if options.quick else SIZES)[-1]
    times = called(Contestant("copy", [exe]), data_file("reduce_plus", size), options.runs, WORK / "gpu.out")
    return 8 * size / statistics.median(times) / 1e3


def figure_gpu(options, notes):
    """All rows, on the devices of a backend."""
    backend = options.backend or DEVICES[0]
    if not compiler():
        notes.add("bindrune is not built")
        return {"rows": {}}
    found, why = device(backend)
    if not found:
        notes.add(f"gpu: there is no device for {backend} on this machine, so nothing was measured: {why}")
        return {"rows": {}}
    make_inputs(list(works(options)))
    rows, copy = {}, bandwidth(backend, options, notes)
    began = time.monotonic()
    for work in works(options):
        if options.seconds and time.monotonic() - began > options.seconds:
            notes.add("gpu: the time is over, some rows were not measured")
            break
        rows[work.name] = row(work, backend, options, notes)
        if copy and "gigabytes" in rows[work.name]:
            rows[work.name]["share"] = rows[work.name]["gigabytes"] / copy
        print(work.name, rows[work.name], flush=True)
    agree = all(found["agree"] for found in rows.values())
    return {"backend": backend, "device": found, "copy": copy, "rows": rows, "agree": agree}


def goals(rows):
    """A line for each goal that has measurements."""
    for group, (peer, mean, least) in WANTED.items():
        found = {
            name: row["ratios"][peer] for name, row in rows.items()
            if peer in row.get("ratios", {}) and group in (row["group"], "reference")
        }
        if found:
            lowest = min(found, key=found.get)
            wanted = f"wanted {mean}" + (f", none below {least}" if least else "") if mean else "no goal"
            yield (f"{group}: {len(found)} rows against {peer}, geometric mean "
                   f"{math.exp(statistics.fmean(map(math.log, found.values()))):.2f}, "
                   f"least {found[lowest]:.2f} ({lowest}); {wanted}.")
    for name, row in rows.items():
        goal = SHARE.get(name.split()[0])
        if goal and "share" in row:
            yield f"{name}: {row['share']:.2f} of the bandwidth of a copy; wanted {goal}."


def report_gpu(results, plot):
    """The report's lines on this figure, and its plot."""
    figure = results.get("gpu", {})
    if not figure.get("rows"):
        return []
    rows = {name: row for name, row in figure["rows"].items() if "ratios" in row}
    peers = list(dict.fromkeys(who for row in rows.values() for who in row["ratios"]))
    lines = [f"## Devices: {figure['backend']}, {figure['device']}", ""]
    head = ["µs", "a call", "device", *peers, *(f"ratio to {who}" for who in peers), "GB/s", "of a copy", "GFLOP/s"]
    lines += [f"| {' | '.join(head)} |", "|---|" + "---:|" * (len(head) - 1)]
    number = lambda value, digits=1: "" if value is None else f"{value:.{digits}f}"
    for name, row in rows.items():
        cells = [name, number(row["microseconds"][OURS]), number(row["device"])]
        cells += [number(row["microseconds"].get(who)) for who in peers]
        cells += [number(row["ratios"].get(who), 2) for who in peers]
        cells += [number(row.get("gigabytes")), number(row.get("share"), 2), number(row.get("gigaflops"))]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", *goals(rows), ""]
    drawn = [(name, row["ratios"]) for name, row in rows.items() if row["ratios"]]
    if drawn:
        plot.write_text(bars(f"Peer's time over ours, {figure['device']}", drawn, peers))
    return lines
