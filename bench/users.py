"""The figure `users`: programs as users write them, and the same in NumPy, JAX and Numba."""

import json
import math
import os
import random
import statistics
import subprocess
import sys

from harness import HERE, WORK, build_bindrune, compiler
from users_cases import CASES
from values import parse

PROGRAMS = HERE / "programs"
SCRIPT = HERE / "peers" / "users.py"
PEERS = ["NumPy", "JAX", "Numba"]
# Microseconds after which threads are awake and the processor runs at its speed.
WARM = 20000


def input_of(name, case):
    """The arguments of a case in the binary format."""
    source = random.Random(name)
    return b"".join(argument(source) for argument in case.arguments)


def run(command, data, runs, environment):
    """The run times of Bindrune's executable and its results."""
    out, times = WORK / "users.out", WORK / "users.times"
    with open(data, "rb") as source, open(out, "wb") as target:
        words = [*command, "-b", "-t", times, "-r", str(runs + 2)]
        subprocess.run([str(word) for word in words], stdin=source, stdout=target, env=environment, check=True)
    # The executable counts whole microseconds.
    return [max(float(line), 1.0) for line in times.read_text().split()][2:], parse(out.read_bytes())


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


def warm(runs, measure):
    """The run times and the results of `measure`, which is given the number of runs; if they are short together,
    those of later runs."""
    found = measure(runs)
    if found is None or sum(found[0]) >= WARM:
        return found
    more = math.ceil(WARM / statistics.median(found[0]))
    times, results = measure(2 * more)
    return times[more:], results


def figure_users(options, warnings):
    """Medians of all runs, one process after the other; peers with their libraries' own choice of processor."""
    if not compiler():
        warnings.add("bindrune is not built")
        return {"microseconds": {}, "agree": True}
    environment = {key: value for key, value in os.environ.items() if not key.startswith("OPENBLAS_")}
    rows, good, speeds = {}, True, {}
    for name, case in CASES.items():
        if options.case not in name:
            continue
        exe = build_bindrune(PROGRAMS / f"{case.program}.fut", f"{case.program.replace('/', '-')}-bindrune")
        data = WORK / "users.in"
        data.write_bytes(input_of(name, case))
        times, expected = {}, None
        for _ in range(options.rounds):
            for implementation in ["bindrune", *PEERS]:
                if implementation == "bindrune":
                    found = warm(options.runs, lambda runs: run([exe, "-e", case.entry], data, runs, environment))
                else:
                    found = warm(
                        options.runs,
                        lambda runs, peer=implementation: run_peer(case.entry, peer, data, runs, environment),
                    )
                if found is None:
                    continue
                expected = expected or found[1]
                times.setdefault(implementation, []).extend(found[0])
                if not agree_loosely(expected, found[1], case.tolerance):
                    warnings.add(f"{name}: the results of {implementation} differ")
                    good = False
        rows[name] = {implementation: statistics.median(found) for implementation, found in times.items()}
        if case.operations:
            speeds[name] = case.operations / rows[name]["bindrune"] / 1000
        print(name, rows[name], flush=True)
        data.unlink()
    return {"microseconds": rows, "gflops": speeds, "agree": good}


def agree_loosely(left, right, tolerance):
    """Equality of arrays up to the tolerance, relative to the greatest element of an array."""
    if len(left) != len(right):
        return False
    for a, b in zip(left, right):
        if len(a) != len(b):
            return False
        if a == b:
            continue
        scale = max(map(abs, a), default=0)
        if any(not abs(x - y) <= tolerance * max(scale, 1e-6) for x, y in zip(a, b)):
            return False
    return True
