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
import subprocess
from pathlib import Path

from builds import programs as programs_below
from cases import NESTS
from harness import compiler
from results import geometric_mean, number, table

LINE = re.compile(r"^(\S+) +([0-9.]+) ms(?: +(\d+) statements)?$", re.MULTILINE)
# The goals: seconds of all passes, growth in statements, time to kernels over that for the CPU.
GOAL, GROWTH, KERNELS = 0.5, 4.0, 1.5


def passes(path, *extra):
    """Milliseconds and statements by pass, or None if the program does not compile."""
    command = [compiler(), "dev", "--stage", "pipeline", "--times", *extra, path]
    done = subprocess.run(command, capture_output=True)
    if done.returncode:
        return None
    found = LINE.findall(done.stderr.decode(errors="replace"))
    return {name: (float(time), int(count) if count else None) for name, time, count in found}


def measure(path, repeats):
    """A row; the time is the least of several runs."""
    least = None
    for _ in range(repeats):
        found = passes(path)
        if found is None:
            return None
        seconds = sum(time for time, _ in found.values()) / 1e3
        least = min(seconds, least or seconds)
    names = list(found)
    before = found[names[names.index("flatten") - 1]][1]
    flattened, pruned = found["flatten"][1], found["prune-versions"][1]
    return {
        "seconds": least, "slowest": max(found, key=lambda name: found[name][0]),
        "before": before, "flattened": flattened, "pruned": pruned, "growth": pruned / max(before, 1),
    }


def seconds(path, *extra):
    """Seconds of all passes, or None if the program does not compile."""
    found = passes(path, *extra)
    return sum(time for time, _ in found.values()) / 1e3 if found else None


def selected_programs():
    """The programs, by name."""
    paths = {path.stem: path for path in sorted(NESTS.glob("*.fut"))}
    folder = os.environ.get("BENCHMARKS")
    if folder:
        paths |= {str(path.relative_to(Path(folder))): path for path in programs_below(folder)}
    return paths


def figure_kernels(options, warnings):
    """Seconds to kernels, and to the CPU's imperative IR, of each program."""
    if not compiler():
        warnings.add("bindrune is not built")
        return {"rows": {}}
    rows, without = {}, []
    for name, path in selected_programs().items():
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


def report_kernels(figure):
    """The report's lines on compilation to kernels."""
    rows = figure["rows"]
    cells = [
        [name, number(row["cpu"], 3), number(row["device"], 3), number(row["ratio"])] for name, row in rows.items()
    ]
    mean = geometric_mean(row["ratio"] for row in rows.values())
    total = sum(row["device"] for row in rows.values()) / sum(row["cpu"] for row in rows.values())
    slow = [name for name, row in rows.items() if row["ratio"] > KERNELS]
    return table(["program", "CPU, s", "device, s", "ratio"], cells) + [
        "", f"Geometric mean {mean:.2f}, ratio of the sums {total:.2f}; "
        f"above {KERNELS}: {', '.join(slow) or 'none'}; without kernels: {', '.join(figure['without']) or 'none'}.",
    ]


def figure_middle(options, warnings):
    """Seconds and statements of each program."""
    if not compiler():
        warnings.add("bindrune is not built")
        return {"rows": {}}
    rows = {}
    for name, path in selected_programs().items():
        row = measure(path, min(options.rounds, 3))
        if row:
            rows[name] = row
            print(name, row, flush=True)
        else:
            warnings.add(f"{name} does not compile")
    return {"rows": rows}


def report_middle(figure):
    """The report's lines on the middle end."""
    rows = figure["rows"]
    cells = [
        [name, number(row["seconds"], 3), f"`{row['slowest']}`", str(row["before"]), str(row["flattened"]),
         str(row["pruned"]), number(row["growth"])]
        for name, row in rows.items()
    ]
    slow = [name for name, row in rows.items() if row["seconds"] > GOAL]
    large = [name for name, row in rows.items() if row["growth"] > GROWTH]
    head = ["program", "s", "slowest pass", "statements", "after flattening", "after pruning", "growth"]
    return table(head, cells, ["slowest pass"]) + [
        "", f"Above {GOAL} s: {', '.join(slow) or 'none'}; above {GROWTH:.0f} times the statements: "
        f"{', '.join(large) or 'none'}.",
    ]
