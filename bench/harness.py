"""Builds, runs and times implementations of a benchmark.

An implementation is Bindrune or a peer: a program by another compiler or by hand that computes the
same results.
"""

import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
WORK = ROOT / "build" / "bench"
CFLAGS = "-O3 -march=native"


class Implementation:
    """A benchmark's implementation: `command` is its command line."""

    def __init__(self, name, command):
        self.name = name
        self.command = command


def find_program(variable, default):
    """The path of the program named by an environment variable, or None."""
    return shutil.which(os.environ.get(variable, default))


def compiler():
    """The path of Bindrune's compiler, or None."""
    return find_program("BINDRUNE", str(ROOT / "build" / "bindrune"))


def baseline_compiler():
    """The compiler in the environment variable BASELINE, or None. BEFORE is its old name."""
    if old := os.environ.get("BEFORE"):
        print("warning: the environment variable BEFORE is now BASELINE", file=sys.stderr)
        os.environ.setdefault("BASELINE", old)
        del os.environ["BEFORE"]
    return os.environ.get("BASELINE")


def run_checked(command, **options):
    """The standard output of a command. Exits if the command fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr.decode(errors='replace')}")
    return done.stdout


def prebuilt(name):
    """The executable of this name in the folder PREBUILT, or None. It is for machines without
    compilers."""
    folder = os.environ.get("PREBUILT")
    path = Path(folder) / name if folder else None
    return path if path and path.exists() else None


def build_if_stale(out, command, sources, **options):
    """Runs the command that builds `out` from `sources` (the compiler among them), unless `out`
    is up to date or prebuilt."""
    if ready := prebuilt(out.name):
        return ready
    stamp = Path(f"{out}.made")
    files = [(str(path), os.stat(path).st_size, os.stat(path).st_mtime_ns) for path in sources]
    inputs = json.dumps([[str(word) for word in command], files])
    if not (out.exists() and stamp.exists() and stamp.read_text() == inputs):
        stamp.unlink(missing_ok=True)
        run_checked(command, **options)
        stamp.write_text(inputs)
    return out


def build_bindrune(program, label, *flags):
    """Builds a program with Bindrune and these flags."""
    out = WORK / label
    return build_if_stale(out, [compiler(), "build", program, *flags, "-o", out], [compiler(), program])


def build_all(program, label, warnings):
    """Builds a program with Bindrune and all available back ends of the reference compiler.
    Returns the executables by implementation."""
    built = {}
    if compiler():
        built["bindrune"] = build_bindrune(program, f"{label}-bindrune")
    else:
        warnings.add("bindrune is not built")
    futhark = find_program("FUTHARK", "futhark")
    if not futhark:
        warnings.add("the reference compiler is not installed")
        return built
    for backend in ["c", "multicore", "ispc"]:
        if backend == "ispc" and not shutil.which("ispc"):
            warnings.add("the compiler ispc is not installed")
            continue
        out, env = WORK / f"{label}-{backend}", {**os.environ, "CFLAGS": CFLAGS}
        command = [futhark, backend, program, "-o", out]
        built[f"futhark {backend}"] = build_if_stale(out, command, [futhark, program], env=env)
    return built


def build_c_peer(name, label=None, extra=()):
    """Builds a C program of `peers`; `extra` flags come last."""
    out = WORK / f"peer-{label or name}"
    flags = [*CFLAGS.split(), "-fopenmp", "-std=c11", "-D_POSIX_C_SOURCE=200809L", *extra]
    source = HERE / "peers" / f"{name}.c"
    command = [os.environ.get("CC", "gcc"), *flags, source, "-o", out, "-lm"]
    return build_if_stale(out, command, [source, HERE / "peers" / "peer.h"])


def all_implementations(name, executables):
    """The C program by hand, then the executables with this entry point."""
    by_hand = [Implementation("C", [build_c_peer(name)])]
    return by_hand + [Implementation(impl, [exe, "-e", name]) for impl, exe in executables.items()]


def input_file(name, generate):
    """The path of an input, which is generated if missing."""
    path = WORK / f"{name}.in"
    if not path.exists():
        path.write_bytes(generate())
    return path


def result(implementation, data):
    """The results of a single run, in the binary format."""
    with open(data, "rb") as source:
        return run_checked([*implementation.command, "-b"], stdin=source)


def timed_runs(implementation, data, runs):
    """Microseconds of each of `runs` runs in one process, after a warm-up run."""
    times = WORK / "times"
    times.unlink(missing_ok=True)
    with open(data, "rb") as source:
        run_checked([*implementation.command, "-b", "-r", runs, "-t", times], stdin=source)
    return [float(line) for line in times.read_text().split()]


def interleave(implementations, data, options):
    """Microseconds by implementation: a list of rounds, each a list of runs. The order of
    implementations alternates from round to round."""
    rounds = {each.name: [] for each in implementations}
    for i in range(options.rounds):
        for each in implementations if i % 2 else implementations[::-1]:
            rounds[each.name].append(timed_runs(each, data, options.runs))
    return rounds


def medians(rounds):
    """The median of all runs of all rounds by implementation."""
    return {impl: statistics.median(time for times in found for time in times) for impl, found in rounds.items()}


def wall_per_call(implementation, data, calls):
    """Microseconds per call: the wall time of a process with `calls` calls minus that of a
    process with a single call. This avoids the rounding of clocks with microsecond resolution."""
    walls = []
    for runs in [1, calls]:
        with open(data, "rb") as source:
            start = time.perf_counter()
            run_checked([*implementation.command, "-b", "-r", runs], stdin=source)
            walls.append(time.perf_counter() - start)
    return (walls[1] - walls[0]) / (calls - 1) * 1e6


def version_of(program):
    """The first line that a program prints with `--version`, or None without the program."""
    path = shutil.which(program) if program else None
    if not path:
        return None
    lines = run_checked([path, "--version"]).decode(errors="replace").splitlines()
    return lines[0].strip() if lines else None


def machine():
    """The processor and the number of cores available."""
    names, cpuinfo = [], Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
    processor = names[0].split(":", 1)[1].strip() if names else platform.processor()
    return {"processor": processor, "cores": len(os.sched_getaffinity(0))}


def tools():
    """The versions of the C compiler and of the reference compiler."""
    return {
        "gcc": version_of(os.environ.get("CC", "gcc")) or "none",
        "futhark": version_of(os.environ.get("FUTHARK", "futhark")) or "none",
    }
