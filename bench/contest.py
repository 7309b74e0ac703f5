"""Contestants: how they are built, run and timed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
WORK = ROOT / "build" / "bench"
CFLAGS = "-O3 -march=native"


class Contestant:
    """One way to run a benchmark: `command` yields the executable's arguments."""

    def __init__(self, name, command):
        self.name = name
        self.command = command


def tool(variable, default):
    """Path of a program named by an environment variable, or None."""
    return shutil.which(os.environ.get(variable, default))


def shell(command, **options):
    """Runs a command that has to succeed."""
    done = subprocess.run([str(c) for c in command], capture_output=True, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr.decode(errors='replace')}")
    return done.stdout


def build_futhark(program, label, notes):
    """Executables of a program by all Futhark compilers there are, by name."""
    made = {}
    bindrune, futhark = tool("BINDRUNE", str(ROOT / "build" / "bindrune")), tool("FUTHARK", "futhark")
    if bindrune:
        made["bindrune"] = WORK / f"{label}-bindrune"
        shell([bindrune, "build", program, "-o", made["bindrune"]])
    else:
        notes.add("bindrune is not built")
    if futhark:
        for backend in ["c", "multicore", "ispc"]:
            if backend == "ispc" and not shutil.which("ispc"):
                notes.add("the compiler ispc is not installed")
                continue
            out = made[f"futhark {backend}"] = WORK / f"{label}-{backend}"
            shell([futhark, backend, program, "-o", out], env={**os.environ, "CFLAGS": CFLAGS})
    else:
        notes.add("the reference compiler is not installed")
    return made


def build_peer(name, label=None, extra=()):
    """The executable of a program in C; `extra` flags come last."""
    out = WORK / f"peer-{label or name}"
    flags = [*CFLAGS.split(), "-fopenmp", "-std=c11", "-D_POSIX_C_SOURCE=200809L", *extra]
    source = HERE / "peers" / f"{name}.c"
    shell([os.environ.get("CC", "gcc"), *flags, source, "-o", out, "-lm"])
    return out


def contestants(name, futhark):
    """The hand-written C first, then the Futhark executables."""
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
