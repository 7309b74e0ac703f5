"""Contestants: how they are built, run and timed."""

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


class Contestant:
    """An implementation of a benchmark: `command` is its command line."""

    def __init__(self, name, command):
        self.name = name
        self.command = command


def tool(variable, default):
    """The path of the program named by an environment variable, or None."""
    return shutil.which(os.environ.get(variable, default))


def shell(command, **options):
    """Runs a command, which must succeed."""
    done = subprocess.run([str(c) for c in command], capture_output=True, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr.decode(errors='replace')}")
    return done.stdout


def prebuilt(name):
    """An executable of this name built elsewhere, in the folder PREBUILT, for machines without
    compilers."""
    folder = os.environ.get("PREBUILT")
    path = Path(folder) / name if folder else None
    return path if path and path.exists() else None


def make(out, command, sources, **options):
    """Runs a command that builds `out` from these files, which include the compiler, unless
    `out` is up to date or prebuilt."""
    if ready := prebuilt(out.name):
        return ready
    stamp = Path(f"{out}.made")
    files = [(str(path), os.stat(path).st_size, os.stat(path).st_mtime_ns) for path in sources]
    wanted = json.dumps([[str(word) for word in command], files])
    if not (out.exists() and stamp.exists() and stamp.read_text() == wanted):
        stamp.unlink(missing_ok=True)
        shell(command, **options)
        stamp.write_text(wanted)
    return out


def build_bindrune(program, label, *flags):
    """Builds a program with our compiler and these flags."""
    bindrune, out = tool("BINDRUNE", str(ROOT / "build" / "bindrune")), WORK / label
    return make(out, [bindrune, "build", program, *flags, "-o", out], [bindrune, program])


def build_futhark(program, label, notes):
    """Builds a program with all available Futhark compilers; executables by name."""
    made = {}
    bindrune, futhark = tool("BINDRUNE", str(ROOT / "build" / "bindrune")), tool("FUTHARK", "futhark")
    if bindrune:
        made["bindrune"] = build_bindrune(program, f"{label}-bindrune")
    else:
        notes.add("bindrune is not built")
    if futhark:
        for backend in ["c", "multicore", "ispc"]:
            if backend == "ispc" and not shutil.which("ispc"):
                notes.add("the compiler ispc is not installed")
                continue
            out, env = WORK / f"{label}-{backend}", {**os.environ, "CFLAGS": CFLAGS}
            command = [futhark, backend, program, "-o", out]
            made[f"futhark {backend}"] = make(out, command, [futhark, program], env=env)
    else:
        notes.add("the reference compiler is not installed")
    return made


def build_peer(name, label=None, extra=()):
    """Builds a C program; `extra` flags come last."""
    out = WORK / f"peer-{label or name}"
    flags = [*CFLAGS.split(), "-fopenmp", "-std=c11", "-D_POSIX_C_SOURCE=200809L", *extra]
    source = HERE / "peers" / f"{name}.c"
    command = [os.environ.get("CC", "gcc"), *flags, source, "-o", out, "-lm"]
    return make(out, command, [source, HERE / "peers" / "peer.h"])


def contestants(name, futhark):
    """The hand-written C program first, then the Futhark executables."""
    peer = build_peer(name)
    found = [Contestant("C", [peer])]
    return found + [Contestant(k, [exe, "-e", name]) for k, exe in futhark.items()]


def timed_runs(contestant, data, runs):
    """Microseconds of each of `runs` runs in one process, after a warm-up."""
    times = WORK / "times"
    times.unlink(missing_ok=True)
    with open(data, "rb") as source:
        shell([*contestant.command, "-b", "-r", runs, "-t", times], stdin=source)
    return [float(line) for line in times.read_text().split()]


def take_turns(entrants, data, options):
    """Microseconds by contestant: a list of rounds, each a list of runs. The order of
    contestants alternates from round to round."""
    rounds = {c.name: [] for c in entrants}
    for i in range(options.rounds):
        for contestant in entrants if i % 2 else entrants[::-1]:
            rounds[contestant.name].append(timed_runs(contestant, data, options.runs))
    return rounds


def medians(rounds):
    """The median of all runs of all rounds by contestant."""
    return {name: statistics.median(time for times in found for time in times) for name, found in rounds.items()}


def wall_per_call(contestant, data, calls):
    """Microseconds per call: the wall time of a process with `calls` calls minus that of a
    process with a single call. This avoids the rounding of clocks with microsecond resolution."""
    walls = []
    for runs in [1, calls]:
        with open(data, "rb") as source:
            start = time.perf_counter()
            shell([*contestant.command, "-b", "-r", runs], stdin=source)
            walls.append(time.perf_counter() - start)
    return (walls[1] - walls[0]) / (calls - 1) * 1e6


def machine():
    model = ""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [li for li in cpuinfo.read_text().splitlines() if li.startswith("model name")]
        model = names[0].split(":", 1)[1].strip() if names else ""
    cores = len(os.sched_getaffinity(0))
    compiler = shell([os.environ.get("CC", "gcc"), "--version"]).decode().splitlines()[0]
    futhark = tool("FUTHARK", "futhark")
    reference = shell([futhark, "--version"]).decode().splitlines()[0] if futhark else "none"
    return {
        "processor": model or platform.processor(), "cores": cores, "gcc": compiler,
        "futhark": reference, "date": time.strftime("%Y-%m-%d"), "load": os.getloadavg()[0],
    }
