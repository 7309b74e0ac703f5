"""The middle end on nested parallelism. The figure `middle` has, for each program of
`programs/nests` and those below the folder in `BENCHMARKS`, the time of all passes up to the
imperative IR, and the growth of the program by flattening.

Both come from `bindrune dev --times`, which prints the milliseconds of each pass (without
verification by default) and the number of statements after it.

The figure `kernels` has the time of all passes up to kernels, compared with that for the CPU, for
the programs that have kernels.
"""

import os
import re
import statistics
import subprocess
from pathlib import Path

from cases import NESTS
from lanes import compiler
from sizes import programs as below

LINE = re.compile(r"^(\S+) +([0-9.]+) ms(?: +(\d+) statements)?$", re.MULTILINE)
GOAL, GROWTH = 0.5, 4.0
KERNELS = 1.5


def passes(path, *extra):
    """Milliseconds and statements by pass, or None if the program does not compile."""
    command = [compiler(), "dev", "--stage", "pipeline", "--times", *extra, path]
    done = subprocess.run(command, capture_output=True)
    if done.returncode:
        return None
    found = LINE.findall(done.stderr.decode(errors="replace"))
    return {name: (float(time), int(left) if left else None) for name, time, left in found}


def measure(path, turns):
    """A row; the time is the least of several runs."""
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


def seconds(path, *extra):
    """Seconds of all passes, or None if the program does not compile."""
    found = passes(path, *extra)
    return sum(time for time, _ in found.values()) / 1e3 if found else None


def chosen():
    """The programs, by name."""
    paths = {path.stem: path for path in sorted(NESTS.glob("*.fut"))}
    folder = os.environ.get("BENCHMARKS")
    if folder:
        paths |= {str(path.relative_to(Path(folder))): path for path in below(folder)}
    return paths


def figure_kernels(options, notes):
    """Seconds to kernels, and to the CPU's imperative IR, of each program."""
    if not compiler():
        notes.add("bindrune is not built")
        return {"rows": {}}
    rows, without = {}, []
    for name, path in chosen().items():
        pairs = [
            (seconds(path), seconds(path, "--machine", "gpu"))
            for _ in range(min(options.rounds, 5))
        ]
        if any(None in pair for pair in pairs):
            without.append(name)
            continue
        cpu, device = (min(times) for times in zip(*pairs, strict=True))
        rows[name] = {"cpu": cpu, "device": device, "ratio": device / cpu}
        print(name, rows[name], flush=True)
    return {"rows": rows, "without": without}


def report_kernels(results):
    """The report's lines on compilation to kernels."""
    rows = results.get("kernels", {}).get("rows")
    if not rows:
        return []
    lines = ["## Kernels", "", "| program | CPU, s | device, s | ratio |", "|---|---:|---:|---:|"]
    for name, row in rows.items():
        lines.append(f"| {name} | {row['cpu']:.3f} | {row['device']:.3f} | {row['ratio']:.2f} |")
    total = sum(row["device"] for row in rows.values()) / sum(row["cpu"] for row in rows.values())
    mean = statistics.geometric_mean(row["ratio"] for row in rows.values())
    slow = [name for name, row in rows.items() if row["ratio"] > KERNELS]
    lines += [
        "", f"Geometric mean {mean:.2f}, all together {total:.2f}; above {KERNELS}: {', '.join(slow) or 'none'}; "
        f"without kernels: {', '.join(results['kernels']['without']) or 'none'}.", "",
    ]
    return lines


def figure_middle(options, notes):
    """Seconds and statements of each program."""
    if not compiler():
        notes.add("bindrune is not built")
        return {"rows": {}}
    rows = {}
    for name, path in chosen().items():
        row = measure(path, min(options.rounds, 3))
        if row:
            rows[name] = row
            print(name, row, flush=True)
        else:
            notes.add(f"{name} does not compile")
    return {"rows": rows}


def report_middle(results):
    """The report's lines on this figure."""
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
