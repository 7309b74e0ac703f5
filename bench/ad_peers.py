"""The implementations of the figure `ad`: executables, JAX, and GradBench's C++.

`run` of an implementation returns the microseconds of each run after one that is not measured, and the results. It
returns None if the implementation does not have the program.
"""

import array
import importlib.util
import itertools
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from ad_cases import WITHOUT_REFERENCE
from harness import CFLAGS, HERE, WORK, Implementation, build_all, build_bindrune, build_if_stale
from values import parse

PROGRAMS = HERE / "derivatives"
SCRIPT = HERE / "peers" / "ad.py"
ONE_THREAD, ALL_THREADS = "bindrune, 1 thread", "bindrune"
# The core that JAX has on its own.
CORE = 0
# The time limit of a process in seconds.
LIMIT = 120
# The layers of D-LSTM, the dimensions of k-means and the size of the determinant.
LAYERS, DIMENSIONS, SIZE = 4, 16, 8


class Failure(Exception):
    """A run that failed, with the reason."""


def run_limited(command, **options):
    """The standard output of a command."""
    try:
        done = subprocess.run(
            [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT, **options
        )
    except subprocess.TimeoutExpired:
        raise Failure(f"takes more than {LIMIT} seconds") from None
    if done.returncode:
        message = done.stderr.decode(errors="replace").strip().split("\n")[0]
        raise Failure(f"exits with {done.returncode}: {message}")
    return done.stdout


class Executable(Implementation):
    """An executable of Bindrune or of the reference compiler."""

    def run(self, case, entry, data, runs):
        times = WORK / "ad.times"
        command = [*self.command, "-e", getattr(case, entry), "-b", "-t", times, "-r", runs]
        with open(data, "rb") as source:
            results = run_limited(command, stdin=source)
        # Executables count whole microseconds.
        return [max(float(line), 1.0) for line in times.read_text().split()], parse(results)


def executables(program, warnings):
    """Bindrune on one thread and on all of them, and the reference compiler's back ends."""
    found, source, label = [], PROGRAMS / f"{program}.fut", f"ad-{program}"
    if program in WITHOUT_REFERENCE:
        built = {ALL_THREADS: build_bindrune(source, f"{label}-bindrune")}
    else:
        built = build_all(source, label, warnings)
    for name, exe in built.items():
        if name == ALL_THREADS:
            found.append(Executable(ONE_THREAD, [exe, "--num-threads", 1]))
        found.append(Executable(name, [exe]))
    return found


class Library(Implementation):
    """A process with JAX that measures on request; it keeps what it has compiled."""

    def __init__(self, name, command):
        super().__init__(name, command)
        words = [str(word) for word in command]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, case, entry, data, runs):
        out = WORK / "ad.out"
        print(json.dumps([case.peer, entry, str(data), str(out), runs]), file=self.process.stdin, flush=True)
        answer = json.loads(self.process.stdout.readline() or '"has ended"')
        if isinstance(answer, str):
            raise Failure(f"fails: {answer}")
        return answer and (answer, parse(out.read_bytes()))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def libraries(warnings):
    """JAX on one core and on all of them, if it is installed."""
    if importlib.util.find_spec("jax") is None:
        warnings.add("JAX is not installed")
        return []
    command = [sys.executable, SCRIPT]
    return [Library("JAX, 1 core", [*command, CORE]), Library("JAX", command)]


def rows(numbers, width):
    """The rows of a matrix."""
    return [numbers[i:i + width].tolist() for i in range(0, len(numbers), width)]


def joined(lists):
    """The elements of lists of any depth."""
    if not isinstance(lists, list):
        return [lists]
    return list(itertools.chain.from_iterable(map(joined, lists)))


def mixture(xs, alphas, means, icfs):
    k = len(alphas)
    d = len(means) // k
    factors = rows(icfs, len(icfs) // k)
    return {
        "d": d, "k": k, "n": len(xs) // d, "alpha": alphas.tolist(), "mu": rows(means, d), "x": rows(xs, d),
        "q": [row[:d] for row in factors], "l": [row[d:] for row in factors], "gamma": 1.0, "m": 0,
    }


def mixture_gradient(found):
    return [found["alpha"], found["mu"], [q + l for q, l in zip(found["q"], found["l"])]]


def lstm(state, sequence, main, extra):
    bits = len(extra) // 3
    return {
        "main_params": rows(main, 4 * bits), "extra_params": rows(extra, bits), "state": rows(state, bits),
        "sequence": rows(sequence, bits),
    }


def lstm_gradient(found):
    main = len(found) * 8 * LAYERS // (8 * LAYERS + 3)
    return [found[:main], found[main:]]


@dataclass
class Eval:
    """A problem of GradBench: its names of primal and derivative, its arguments from those of the case, and the case's
    derivative from GradBench's."""

    primal: str
    derivative: str
    arguments: Callable
    results: Callable = lambda found: [found]


# By the name of the program, which is GradBench's.
EVALS = {
    "gmm": Eval("objective", "jacobian", mixture, mixture_gradient),
    "lstm": Eval("objective", "jacobian", lstm, lstm_gradient),
    "kmeans": Eval(
        "cost", "dir",
        lambda points, centres: {"points": rows(points, DIMENSIONS), "centroids": rows(centres, DIMENSIONS)},
    ),
    "llsq": Eval("primal", "gradient", lambda n, x: {"n": n[0], "x": x.tolist()}),
    "lse": Eval("primal", "gradient", lambda xs: {"x": xs.tolist()}),
    "det": Eval("primal", "gradient", lambda a: {"A": a.tolist(), "ell": SIZE}),
}


class GradBench(Implementation):
    """The programs of one of GradBench's tools; `sources` returns those of a program, or None."""

    def __init__(self, name, folder, sources):
        super().__init__(name, [])
        self.folder, self.sources = folder, sources
        self.current, self.text = None, ""

    def arguments(self, case, data):
        """The arguments of a case as the text of a JSON object without its end."""
        if self.current != case:
            self.current, self.text = case, json.dumps(EVALS[case.program].arguments(*parse(data.read_bytes())))[:-1]
        return self.text

    def run(self, case, entry, data, runs):
        sources = case.program in EVALS and self.sources(case.program)
        if not sources:
            return None
        out = WORK / f"ad-{case.program}-{self.name}"
        flags = [*CFLAGS.split(), "-w", "-I", self.folder / "cpp"]
        command = [os.environ.get("CC", "gcc"), *flags, *sources, "-o", out, "-lstdc++", "-lm"]
        exe, source = build_if_stale(out, command, sources), WORK / "ad.json"
        source.write_text(f'{self.arguments(case, data)}, "min_runs": {runs + 1}}}')
        found, *times = run_limited([exe, source, getattr(EVALS[case.program], entry)]).splitlines()
        results = json.loads(found)
        results = EVALS[case.program].results(results) if entry == "derivative" else [results]
        measured = [json.loads(line) for line in times]
        nanoseconds = [each["nanoseconds"] for each in measured if each["name"] == "evaluate"]
        return [time / 1e3 for time in nanoseconds[1:]], [array.array("d", joined(each)) for each in results]


def gradbench(warnings):
    """GradBench's derivatives by hand and by Tapenade, if GRADBENCH names its folder."""
    if "GRADBENCH" not in os.environ:
        warnings.add("GradBench's C++ is not available (GRADBENCH names its folder)")
        return []
    folder = Path(os.environ["GRADBENCH"])
    tapenade = folder / "tools" / "tapenade"
    stack = [tapenade / "utils" / "adBuffer.c", tapenade / "utils" / "adStack.c"]

    def by_hand(name):
        return [folder / "tools" / "manual" / f"{name}.cpp"]

    def by_tapenade(name):
        parts = tapenade / "evals" / name
        return parts.exists() and [tapenade / f"{name}.cpp", parts / f"{name}.c", parts / f"{name}_b.c", *stack]

    return [GradBench("C++ by hand", folder, by_hand), GradBench("Tapenade", folder, by_tapenade)]
