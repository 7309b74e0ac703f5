"""The figure `gpu`: programs on a device beside CUDA C++ by hand with Thrust, CUB and
cuBLAS (`peers/cuda`), beside the reference compiler's executables for the same devices, and
beside themselves with moderate flattening.

Arguments and results lie on the device.  There are two times of ours: that of a call by the
executable's own clock, as all others measure it, of which the ratios are, and that of the
device, which `-P` adds up by the driver's events: kernels and copies on the device.
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
# Elements of the mini-benchmarks, and those that CUB has, too.
SIZES, QUICK_SIZES = [10_000_000, 100_000_000], [100_000]
WITH_CUB = {"reduce_plus", "scan_plus"}
# Bytes that each element has to be moved at least: read, or read and written.
MOVED = {
    "reduce_plus": 4, "reduce_max": 4, "index_of_max": 4, "index_of_max_pack": 4,
    "reduce_2x2mm": 42 * 4, "mssp": 4, "scan_plus": 8, "redomap_nt": 8, "black_scholes": 0,
}
# What is wanted of a group: of the geometric mean, and of each.
WANTED = {
    "mini": ("Thrust", 1.75, 1.0), "products": ("cuBLAS", 0.5, 0.25), "hand": ("CUDA", 0.0, 0.0),
    "reference": ("futhark", 1.3, 0.0), "flattening": ("MF", 1.0, 0.0),
}
# The share of the bandwidth of a copy that sums and prefix sums have to reach.
SHARE = {"reduce_plus": 0.9, "scan_plus": 0.9}
# So many floats of a result are compared, evenly spread; integers all.
COMPARED = 1_000_000
# Seconds that a process may take.
LIMIT = 60
ROW = re.compile(r"^ *(\d+) +([\d.]+) +[\d.]+ +[\d.]+% +(\d+)  (.*)$")
# Ours, as it comes.
OURS = "bindrune"
# Rows of `-P` that are no work of the device's.
BESIDE = ("copies to the device", "copies to the host", "notes of failures", "all launches and copies")


# What `make_inputs` makes; its processes have it by birth.
INPUTS = []


class Failed(Exception):
    """What a contestant says that fails."""


@dataclass
class Work:
    """A row: an entry point on an input, and who else computes it."""

    name: str
    group: str
    program: Path
    entry: str
    data: Callable[[], Path]
    peers: dict = field(default_factory=dict)
    tolerance: float = 1e-3
    # Bytes that are moved at least, and operations on floats.
    moved: float = 0
    operations: float = 0
    # Whether moderate flattening is set beside it.
    ablation: bool = False


def kept(name, make_bytes):
    """A file with an input, made on first use."""
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
    """The programs of the paper's figures 7 and 8 that there are."""
    for case in [*volatility(), *benchmarks()]:
        quick = case.name in ("LocVolCalib small", "OptionPricing D2", "LavaMD D1")
        if (case.make or case.input()) and (quick or not options.quick):
            yield Work(case.name, "flattening", case.path, case.entry, case.input,
                       tolerance=case.tolerance, ablation=True)


def works(options):
    for rows in (mini_rows, product_rows, hand_rows, flattening_rows):
        yield from (work for work in rows(options) if options.case in work.name)


def make_inputs(rows):
    """Makes the inputs, a process each."""
    with ProcessPoolExecutor(mp_context=get_context("fork")) as pool:
        INPUTS.extend(rows)
        list(pool.map(make_input, range(len(rows))))
        INPUTS.clear()


def make_input(index):
    INPUTS[index].data()


def label(program):
    return "-".join(program.relative_to(ROOT).with_suffix("").parts[-2:])


def device(backend):
    """The device, or why there is none."""
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
    """The executable of a program in CUDA C++, where there is a compiler for it."""
    nvcc, out, source = tool("NVCC", "nvcc"), WORK / f"cuda-{name}", PEERS / f"{name}.cu"
    if not nvcc and not prebuilt(out.name):
        notes.add("gpu: there is no nvcc, so nothing in CUDA C++")
        return None
    # What it does not build for is the user's affair, not that of the other rows.
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
    """Ours first, and all that are there."""
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
    """What a process says that makes so many calls after one that is not counted. The result
    goes to `out`."""
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
    """Microseconds of the device in a call of ours, by launch."""
    rows = map(ROW.match, process(contestant, data, runs, os.devnull, "-P", "-n").splitlines())
    return {row[4].split(" (")[0]: float(row[2]) / runs for row in rows if row and row[4] not in BESIDE}


def alike(work, left, right):
    """Whether results are the same, floats up to the tolerance."""
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
    """A row's times and ratios; those who fail or give another result are named and left out."""
    data, out, entrants = work.data(), WORK / "gpu.out", contestants(work, backend, notes)
    calls, device, own, agree = {}, {}, None, True
    for i in range(options.rounds):
        for contestant in entrants if i % 2 == 0 else entrants[::-1]:
            who = contestant.name
            # Moderate flattening is there for what it does badly, too.
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
    """Gigabytes a second of a copy on the device, read and written; None without a peer."""
    exe = cuda_peer("copy", notes) if backend == "cuda" else None
    if not exe:
        return None
    size = (QUICK_SIZES if options.quick else SIZES)[-1]
    times = called(Contestant("copy", [exe]), data_file("reduce_plus", size), options.runs, WORK / "gpu.out")
    return 8 * size / statistics.median(times) / 1e3


def figure_gpu(options, notes):
    """All rows, on the devices of a back end."""
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
    """A line for each goal that there are measurements for."""
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
    """Lines of the report on this module's figure, and the plot beside it."""
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
