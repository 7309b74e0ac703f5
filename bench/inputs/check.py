"""Compares Bindrune's results on the generated inputs with the reference compiler's.

    bench/inputs/check.py [parts of programs' names]

Each program with generated data sets is compiled by `bindrune build` and `futhark c` and run on
each of them. Integers must be equal, and floats within a thousandth of their magnitude or of a
hundredth of the array's largest. The lesser of two times of each, in microseconds, indicates
whether a size is suitable.
"""

import math
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from harness import WORK, compiler, find_program  # noqa: E402
from inputs import SETS, data_file  # noqa: E402
from reference import copies  # noqa: E402
from values import parse  # noqa: E402

TOLERANCE, LIMIT = 1e-3, 60


def close(a, b):
    """Returns an empty text if two arrays agree, else a description of the difference."""
    if a.typecode != b.typecode or len(a) != len(b):
        return f"{len(a)} {a.typecode} and {len(b)} {b.typecode}"
    if a.typecode not in "fd":
        return "" if a == b else f"{sum(x != y for x, y in zip(a, b))} of {len(a)} integers"
    least = TOLERANCE * max((abs(x) for x in b if math.isfinite(x)), default=0) / 100
    wrong = [
        (x, y) for x, y in zip(a, b)
        if not (math.isclose(x, y, rel_tol=TOLERANCE, abs_tol=least) or x != x and y != y)
    ]
    return f"{len(wrong)} of {len(a)} floats, {wrong[0][0]} and {wrong[0][1]}" if wrong else ""


def run_program(command, data):
    """Runs a program. Returns its values and time, or a text that says why it failed."""
    times = WORK / "times"
    try:
        done = subprocess.run([*command, "-b", "-r", "2", "-t", times], input=data, capture_output=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return f"it takes more than {LIMIT} s"
    if done.returncode:
        return done.stderr.decode(errors="replace")[-300:].strip()
    return parse(done.stdout), min(map(float, times.read_text().split()))


def build(command, source, out):
    """Builds a program. Returns None, or the compiler's message."""
    env = {**os.environ, "CFLAGS": "-O3"}
    done = subprocess.run([*command, source, "-o", out], capture_output=True, env=env)
    return None if done.returncode == 0 else done.stderr.decode(errors="replace")[:300]


def main():
    parts, original = sys.argv[1:] or [""], Path(os.environ["BENCHMARKS"]).resolve()
    copy = copies(original, [], set())["bindrune"]
    futhark = find_program("FUTHARK", "futhark")
    differences = 0
    for program in dict.fromkeys(entry.program for entry in SETS):
        if not any(part in program for part in parts):
            continue
        executables = [WORK / "check-bindrune", WORK / "check-futhark"]
        why = build([compiler(), "build"], copy / program, executables[0])
        why = why or build([futhark, "c"], copy / program, executables[1])
        for entry in [entry for entry in SETS if entry.program == program]:
            if why is None and entry.script:
                found = "not compared, as a script computes the arguments"
            elif why is None:
                data = data_file(entry).read_bytes()
                ours, theirs = (run_program([out, "-e", entry.entry], data) for out in executables)
                both = [("bindrune", ours), ("futhark", theirs)]
                failed = [f"{impl}: {result}" for impl, result in both if isinstance(result, str)]
                if failed:
                    found = "; ".join(failed)
                else:
                    wrong = "; ".join(filter(None, map(close, ours[0], theirs[0])))
                    differences += bool(wrong)
                    found = f"{wrong or 'equal'}: bindrune {ours[1]:.0f}, futhark {theirs[1]:.0f}"
            else:
                found = why
            print(program, entry.entry, entry.name, found, flush=True)
    sys.exit(differences > 0)


if __name__ == "__main__":
    main()
