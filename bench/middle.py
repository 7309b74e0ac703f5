"""The middle end on nested parallelism: the figure `middle` tells, for each program of
`programs/nests` and those below the folder in `BENCHMARKS`, the time of all passes up
to the imperative IR and what flattening makes of a program's size.

Both are what `bindrune dev --times` prints: milliseconds of each pass (verification is
off unless asked for) and the statements it leaves.
"""

import os
import re
import subprocess
from pathlib import Path

from cases import NESTS
from lanes import compiler
from sizes import programs as below

LINE = re.compile(r"^(\S+) +([0-9.]+) ms(?: +(\d+) statements)?$", re.MULTILINE)
GOAL, GROWTH = 0.5, 4.0


def passes(path):
    """Milliseconds and statements by pass, or None where the program does not compile."""
    done = subprocess.run([compiler(), "dev", "--stage", "pipeline", "--times", path], capture_output=True)
    if done.returncode:
        return None
    found = LINE.findall(done.stderr.decode(errors="replace"))
    return {name: (float(time), int(left) if left else None) for name, time, left in found}


def measure(path, turns):
    """One row; the time is the least of some turns, as a pass needs no luck."""
    least = None
    for _ in range(turns):
        found = passes(path)
        if found is None:
            return None
        seconds = sum(time for time, _ in found.values()) / 1e3
        least = min(seconds, least or seconds)
    names = list(found)
    before = found[names[names.index("flatten") - 1]][1]
    made, left = found["flatten"][1], found["prune-versions"][1]
    return {
        "seconds": least, "slowest": max(found, key=lambda name: found[name][0]),
        "before": before, "flattened": made, "pruned": left, "growth": left / max(before, 1),
    }


def figure_middle(options, notes):
    """Seconds and statements of each program."""
    if not compiler():
        notes.add("bindrune is not built")
        return {"rows": {}}
    paths = {path.stem: path for path in sorted(NESTS.glob("*.fut"))}
    folder = os.environ.get("BENCHMARKS")
    if folder:
        paths |= {str(path.relative_to(Path(folder))): path for path in below(folder)}
    rows = {}
    for name, path in paths.items():
        row = measure(path, min(options.rounds, 3))
        if row:
            rows[name] = row
            print(name, row, flush=True)
        else:
            notes.add(f"{name} does not compile")
    return {"rows": rows}


def report_middle(results):
    """Lines of the report on this module's figure."""
    rows = results.get("middle", {}).get("rows")
    if not rows:
        return []
    lines = ["## Middle end", "", "| program | s | slowest pass | before | flattened | pruned | growth |"]
    lines.append("|---|---:|---|---:|---:|---:|---:|")
    for name, row in rows.items():
        lines.append(
            f"| {name} | {row['seconds']:.3f} | {row['slowest']} | {row['before']} | {row['flattened']} | "
            f"{row['pruned']} | {row['growth']:.2f} |"
        )
    slow = [name for name, row in rows.items() if row["seconds"] > GOAL]
    large = [name for name, row in rows.items() if row["growth"] > GROWTH]
    lines += ["", f"Above {GOAL} s: {', '.join(slow) or 'none'}; above {GROWTH:.0f} times the statements: "
              f"{', '.join(large) or 'none'}.", ""]
    return lines
