"""The figure `gpu`: programs on a device compared with hand-written CUDA C++ with Thrust, CUB and
cuBLAS (`peers/cuda`), with the reference compiler's executables for the same devices, and with
moderate flattening.

Arguments and results are in device memory. There are two times of Bindrune: that of a call by the
executable's own clock, as for the peers, on which the ratios are based; and that of the device, which
`-P` sums from the driver's events: kernels and copies on the device.
"""

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

from bar_chart import bar_chart
from cases import matrix_products
from harness import (
    HERE,
    ROOT,
    WORK,
    Implementation,
    build_bindrune,
    build_if_stale,
    compiler,
    find_program,
    input_file,
    prebuilt,
)
from lanes import CLASSIC, histogram_input, nbody_input, real_matrix
from mini import BENCHMARKS, MINI, data_file
from papers import bulk_cases, volatility_cases
from results import number, summary, table
from values import agree, parse, scalar

DEVICES = ["cuda", "opencl", "hip"]
PEERS = HERE / "peers" / "cuda"
# Elements of the mini-benchmarks, and those with CUB versions.
SIZES, QUICK_SIZES = [10_000_000, 100_000_000], [100_000]
WITH_CUB = {"reduce_plus", "scan_plus"}
# The least number of bytes moved per element: read, or read and written.
MOVED = {
    "reduce_plus": 4, "reduce_max": 4, "index_of_max": 4, "index_of_max_pack": 4,
    "reduce_2x2mm": 42 * 4, "mssp": 4, "scan_plus": 8, "redomap_nt": 8, "black_scholes": 0,
}
# The goals of each group: the peer, the geometric mean, and the least ratio.
GOALS = {
    "mini": ("Thrust", 1.75, 1.0), "products": ("cuBLAS", 0.5, 0.25), "by hand": ("CUDA", 0.0, 0.0),
    "reference": ("futhark", 1.3, 0.0), "flattening": ("MF", 1.0, 0.0),
}
# The goal for sums and prefix sums as a fraction of a copy's bandwidth.
BANDWIDTH = {"reduce_plus": 0.9, "scan_plus": 0.9}
# The number of floats of a result that are compared, evenly spaced; integers are all compared.
COMPARED = 1_000_000
# The time limit of a process in seconds.
LIMIT = 60
ROW = re.compile(r"^ *(\d+) +([\d.]+) +[\d.]+ +[\d.]+% +(\d+)  (.*)$")
# Bindrune with default flags.
OURS = "bindrune"
# Rows of `-P` that are not work of the device.
NOT_DEVICE = ("copies to the device", "copies to the host", "notes of failures", "all launches and copies")


# The rows of `generate_inputs`, inherited by its forked processes.
INPUTS = []


class Failed(Exception):
    """A process failed, with its message."""


@dataclass
class DeviceCase:
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


def mini_rows(options):
    for size in QUICK_SIZES if options.quick else SIZES:
        for name in [name for name in BENCHMARKS if name in options.only]:
            peers = {"Thrust": name} | ({"CUB": f"{name}_cub"} if name in WITH_CUB else {})
            yield DeviceCase(
                f"{name} {size}", "mini", MINI, name, lambda n=name, s=size: data_file(n, s), peers,
                moved=MOVED[name] * size,
            )


def product_rows(options):
    for case in matrix_products():
        exponent, n = re.findall(r"\d+", case.name)[1:]
        if options.quick and (exponent != "20" or int(n) % 5):
            continue
        yield DeviceCase(
            case.name, "products", case.path, case.entry, case.input, {"cuBLAS": "matmul"},
            tolerance=0, operations=2.0 * 2 ** int(exponent), ablation=True,
        )


def by_hand_rows(options):
    side, steps, count = (100, 3, 1000) if options.quick else (4000, 100, 20_000)
    simulation, stencils = CLASSIC / "simulation.fut", CLASSIC / "stencils.fut"
    plate = lambda: scalar("i32", steps) + real_matrix(side, side, 9)
    bodies = lambda: input_file(f"gpu-nbody-{count}", lambda: nbody_input(count))
    yield DeviceCase(f"nbody {count}", "by hand", simulation, "nbody", bodies, {"CUDA": "nbody"})
    yield DeviceCase(
        f"jacobi {side}", "by hand", stencils, "jacobi", lambda: input_file(f"gpu-jacobi-{side}", plate),
        {"CUDA": "jacobi"}, moved=16.0 * side * side * steps,
    )
    yield DeviceCase(
        "histogram", "by hand", simulation, "histogram", lambda: input_file("gpu-histogram", histogram_input),
        {"CUDA": "histogram"}, tolerance=0, moved=4 * 10_000_000,
    )


def flattening_rows(options):
    """The available programs of the paper's figures 7 and 8."""
    for case in [*volatility_cases(), *bulk_cases()]:
        quick = case.name in ("LocVolCalib small", "OptionPricing D2", "LavaMD D1")
        if (case.make or case.input()) and (quick or not options.quick):
            yield DeviceCase(
                case.name, "flattening", case.path, case.entry, case.input, tolerance=case.tolerance, ablation=True
            )


def selected_cases(options):
    for rows in (mini_rows, product_rows, by_hand_rows, flattening_rows):
        yield from (case for case in rows(options) if options.case in case.name)


def generate_inputs(rows):
    """Generates the inputs, each in a process of its own."""
    with ProcessPoolExecutor(mp_context=get_context("fork")) as pool:
        INPUTS.extend(rows)
        list(pool.map(generate_input, range(len(rows))))
        INPUTS.clear()


def generate_input(index):
    INPUTS[index].data()


def label(program):
    return "-".join(program.relative_to(ROOT).with_suffix("").parts[-2:])


def find_device(backend):
    """The device and None, or None and the reason why there is none."""
    trivial = WORK / "gpu-trivial.fut"
    trivial.write_text("entry main (xs: []i32) = map (+ 1) xs\n")
    executable = build_bindrune(trivial, f"gpu-trivial-{backend}", "--backend", backend)
    done = subprocess.run([executable, "--list-devices"], capture_output=True)
    lines = done.stdout.decode(errors="replace").splitlines()
    if done.returncode or not lines:
        why = done.stderr.decode(errors="replace").strip().partition(": ")[2]
        return None, why or "the driver lists no device"
    return lines[0], None


def cuda_peer(name, warnings):
    """Builds a CUDA C++ program if there is a compiler for it."""
    nvcc, out, source = find_program("NVCC", "nvcc"), WORK / f"cuda-{name}", PEERS / f"{name}.cu"
    if not nvcc and not prebuilt(out.name):
        warnings.add("gpu: nvcc is not installed, so the peers in CUDA C++ are missing")
        return None
    # A failure to build does not affect the other rows.
    command = [nvcc or "nvcc", "-O3", "-std=c++17", "-arch=native", source, "-o", out]
    command += ["-lcublas"] if name == "matmul" else []
    try:
        return build_if_stale(out, command, [source, PEERS / "peer.cuh"])
    except SystemExit as stop:
        warnings.add(f"gpu: {name}.cu is not built: {str(stop.code).splitlines()[-1]}")
        return None


def reference(program, backend, warnings):
    """The reference compiler's executable for the same devices."""
    futhark = find_program("FUTHARK", "futhark")
    out = WORK / f"gpu-{label(program)}-futhark-{backend}"
    available = futhark and (backend != "cuda" or find_program("NVCC", "nvcc"))
    if not available and not prebuilt(out.name):
        warnings.add("gpu: the reference compiler or nvcc is not installed")
        return None
    try:
        return build_if_stale(out, [futhark or "futhark", backend, program, "-o", out], [futhark or program, program])
    except SystemExit as stop:
        warnings.add(f"gpu: futhark {backend} {program.name}: {str(stop.code).splitlines()[-1]}")
        return None


def build_implementations(case, backend, warnings):
    """Bindrune first, then all available peers."""
    entry, name = ["-e", case.entry], f"gpu-{label(case.program)}-{backend}"
    found = [Implementation(OURS, [build_bindrune(case.program, name, "--backend", backend), *entry])]
    if case.ablation:
        moderate = build_bindrune(case.program, f"{name}-moderate", "--backend", backend, "--flatten", "moderate")
        found.append(Implementation("MF", [moderate, *entry]))
    if backend == "cuda":
        built = {impl: cuda_peer(peer, warnings) for impl, peer in case.peers.items()}
        found += [Implementation(impl, [exe]) for impl, exe in built.items() if exe]
    exe = reference(case.program, backend, warnings)
    cache = ["--cache-file", f"{exe}.kernels"] if backend == "cuda" else []
    return found + ([Implementation("futhark", [exe, *entry, *cache])] if exe else [])


def run_process(implementation, data, runs, out, *flags):
    """The standard error of a process that makes `runs` measured calls after a warm-up. The
    result is written to `out`."""
    command = [*map(str, implementation.command), "-b", "-r", str(runs), *flags]
    with open(data, "rb") as source, open(out, "wb") as sink:
        done = subprocess.run(command, stdin=source, stdout=sink, stderr=subprocess.PIPE, timeout=LIMIT)
    errors = done.stderr.decode(errors="replace")
    if done.returncode:
        raise Failed((errors.strip() or "it fails").splitlines()[0])
    return errors


def call_times(implementation, data, runs, out):
    """Microseconds of each of `runs` calls."""
    times = WORK / "gpu.times"
    times.unlink(missing_ok=True)
    run_process(implementation, data, runs, out, "-t", str(times))
    return [float(line) for line in times.read_text().split()]


def launch_times(implementation, data, runs):
    """Microseconds of the device per call of Bindrune, by launch."""
    rows = map(ROW.match, run_process(implementation, data, runs, os.devnull, "-P", "-n").splitlines())
    return {row[4].split(" (")[0]: float(row[2]) / runs for row in rows if row and row[4] not in NOT_DEVICE}


def results_agree(case, left, right):
    """Returns true if results are equal, floats within the tolerance."""
    if left == right:
        return True
    left, right = parse(left), parse(right)
    if len(left) != len(right):
        return False
    for a, b in zip(left, right):
        step = max(len(a) // COMPARED, 1) if a.typecode in "fd" else 1
        if len(a) != len(b) or not agree([a[::step]], [b[::step]], case.tolerance):
            return False
    return True


def measure_row(case, backend, options, warnings):
    """A row's times and ratios. Implementations that fail or have another result are reported and
    left out."""
    data, out, implementations = case.data(), WORK / "gpu.out", build_implementations(case, backend, warnings)
    calls, device, own, agree = {}, {}, None, True
    for i in range(options.rounds):
        for implementation in implementations if i % 2 == 0 else implementations[::-1]:
            impl = implementation.name
            # Moderate flattening is slow in some rows, so it has fewer runs.
            runs = options.runs if impl != "MF" else max(options.runs // 5, 1)
            try:
                times = call_times(implementation, data, runs, out)
                if i == 0 and impl == OURS:
                    own, device = out.read_bytes(), launch_times(implementation, data, runs)
                elif i == 0 and not results_agree(case, own, out.read_bytes()):
                    agree = False
                    raise Failed("it has another result")
            except (Failed, subprocess.TimeoutExpired) as stop:
                why = str(stop) if isinstance(stop, Failed) else f"it takes more than {LIMIT} s"
                warnings.add(f"gpu: {case.name}: {impl}: {why}")
                if impl == OURS:
                    return {"group": case.group, "agree": False}
                implementations = [other for other in implementations if other is not implementation]
                calls.pop(impl, None)
                continue
            calls.setdefault(impl, []).extend(times)
    times = {impl: statistics.median(found) for impl, found in calls.items()}
    found = {
        "group": case.group, "microseconds": times, "launches": device, "device": sum(device.values()),
        "agree": agree,
        "ratios": {impl: time / times[OURS] for impl, time in times.items() if impl != OURS},
    }
    if case.moved:
        found["gigabytes"] = case.moved / times[OURS] / 1e3
    if case.operations:
        found["gigaflops"] = case.operations / times[OURS] / 1e3
    return found


def bandwidth(backend, options, warnings):
    """The bandwidth of a copy on the device in gigabytes per second, read and written; None
    without a peer."""
    exe = cuda_peer("copy", warnings) if backend == "cuda" else None
    if not exe:
        return None
    size = (QUICK_SIZES if options.quick else SIZES)[-1]
    times = call_times(Implementation("copy", [exe]), data_file("reduce_plus", size), options.runs, WORK / "gpu.out")
    return 8 * size / statistics.median(times) / 1e3


def figure_gpu(options, warnings):
    """All rows, on the devices of a backend."""
    backend = options.backend or DEVICES[0]
    if not compiler():
        warnings.add("bindrune is not built")
        return {"rows": {}}
    found, why = find_device(backend)
    if not found:
        warnings.add(f"gpu: there is no device for {backend} on this machine, so nothing was measured: {why}")
        return {"rows": {}}
    generate_inputs(list(selected_cases(options)))
    rows, copy = {}, bandwidth(backend, options, warnings)
    start, complete = time.monotonic(), True
    for case in selected_cases(options):
        if options.seconds and time.monotonic() - start > options.seconds:
            warnings.add("gpu: out of time, some rows were not measured")
            complete = False
            break
        rows[case.name] = measure_row(case, backend, options, warnings)
        if copy and "gigabytes" in rows[case.name]:
            rows[case.name]["share"] = rows[case.name]["gigabytes"] / copy
        print(case.name, rows[case.name], flush=True)
    agree = all(found["agree"] for found in rows.values())
    return {"backend": backend, "device": found, "copy": copy, "rows": rows, "agree": agree, "complete": complete}


def goals(rows):
    """A line for each goal with measurements."""
    for group, (peer, mean, least) in GOALS.items():
        found = {
            name: row["ratios"][peer] for name, row in rows.items()
            if peer in row.get("ratios", {}) and group in (row["group"], "reference")
        }
        if found:
            goal = f"goal {mean}" + (f", none below {least}" if least else "") if mean else "no goal"
            yield f"- {group}: {len(found)} rows with {peer}, {summary(found)}; {goal}"
    for name, row in rows.items():
        goal = BANDWIDTH.get(name.split()[0])
        if goal and "share" in row:
            yield f"- {name}: {row['share']:.2f} of the bandwidth of a copy; goal {goal}"


def chart(figure):
    """The bar chart of the ratios, or None without rows."""
    rows = {name: row for name, row in figure.get("rows", {}).items() if row.get("ratios")}
    if not rows:
        return None
    peers = list(dict.fromkeys(peer for row in rows.values() for peer in row["ratios"]))
    ratios = [(name, row["ratios"]) for name, row in rows.items()]
    return bar_chart(f"Peer's time over Bindrune's, {figure['device']}", ratios, peers)


def report_gpu(figure):
    """The report's lines on this figure."""
    lines = [f"Device: {figure['device']}, backend `{figure['backend']}`.", ""]
    if summaries := figure.get("summary"):
        head = ["compared with", "rows", "ratio", "least", "goal"]
        lines += table(head, [[row[key] for key in head] for row in summaries], head)
    rows = {name: row for name, row in figure.get("rows", {}).items() if "ratios" in row}
    if not rows:
        return lines
    peers = list(dict.fromkeys(peer for row in rows.values() for peer in row["ratios"]))
    head = ["µs", "call", "device", *peers, *(f"ratio to {peer}" for peer in peers), "GB/s", "of a copy", "GFLOP/s"]
    cells = []
    for name, row in rows.items():
        cells.append([
            name, number(row["microseconds"][OURS], 1), number(row["device"], 1),
            *(number(row["microseconds"].get(peer), 1) for peer in peers),
            *(number(row["ratios"].get(peer)) for peer in peers),
            number(row.get("gigabytes"), 1), number(row.get("share")), number(row.get("gigaflops"), 1),
        ])
    return [*lines, *table(head, cells), "", *goals(rows)]
