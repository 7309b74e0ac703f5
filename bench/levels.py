"""The cost of portable executables: code for older processors, and the selection of code at start.

Each program of `mini`, `lanes` and `rows` is built for this machine (`native`), with code for
several processor levels (`portable`), for `x86-64-v2` and for `generic`; the reference compiler's
`c` for `-march=x86-64`. All run on one core, as `c` does.
"""

import math
import os
import statistics

from contest import WORK, Contestant, medians, shell, take_turns, tool
from lanes import PROGRAMS, compiler, input_file, result
from rows import ENTRIES, SHAPES
from rows import PROGRAM as ROWS
from rows import input_file as rows_input

CPUS = ["native", "portable", "x86-64-v2", "generic"]
REFERENCE = "futhark c"
CFLAGS = "-O3 -march=x86-64"


def programs(mini, benchmarks, mini_input):
    """Yields name, file, entry point, and a function that returns the input file."""
    for name in benchmarks:
        yield name, mini, name, lambda name=name: mini_input(name, 10_000_000)
    for name, (path, entry, make, _) in PROGRAMS.items():
        yield name, path, entry, lambda name=name, make=make: input_file(f"lanes-{name}", make)
    for entry in ENTRIES:
        yield entry, ROWS, entry, lambda entry=entry: rows_input(entry, *SHAPES[0])


def executables(path, notes):
    """The executables of a file, by contestant."""
    made = {}
    for cpu in CPUS:
        made[cpu] = WORK / f"levels-{path.stem}-{cpu}"
        shell([compiler(), "build", path, "--cpu", cpu, "-o", made[cpu]])
    futhark = tool("FUTHARK", "futhark")
    if futhark:
        made[REFERENCE] = WORK / f"levels-{path.stem}-c"
        shell([futhark, "c", path, "-o", made[REFERENCE]], env={**os.environ, "CFLAGS": CFLAGS})
    else:
        notes.add("the reference compiler is not installed")
    return made


def figure_levels(options, notes, listed):
    """Median run times on one core, contestants alternating; results must have equal bits."""
    built, rows, good = {}, {}, True
    for name, path, entry, data in listed:
        if path not in built:
            built[path] = executables(path, notes)
        entrants = [
            Contestant(who, [exe, *([] if who == REFERENCE else ["--num-threads", "1"]), "-e", entry])
            for who, exe in built[path].items()
        ]
        data = data()
        ours = {result(c, data) for c in entrants if c.name != REFERENCE}
        if len(ours) != 1:
            notes.add(f"{name}: the bits depend on the processor")
            good = False
        rows[name] = medians(take_turns(entrants, data, options))
        print(name, rows[name], flush=True)
    return {"microseconds": rows, "agree": good}


def mean(ratios):
    return math.exp(statistics.fmean(math.log(r) for r in ratios))


def report_levels(results):
    """The report's lines on this figure."""
    rows = results.get("levels", {}).get("microseconds")
    if not rows:
        return []
    names = list(next(iter(rows.values())))
    lines = ["## Levels of processors, one core", "", "| µs | " + " | ".join(names) + " |"]
    lines.append("|---|" + "---:|" * len(names))
    for name, row in rows.items():
        lines.append(f"| {name} | " + " | ".join(f"{row[n]:.0f}" for n in names) + " |")
    lines.append("")
    pairs = [("native", "portable")] + [(REFERENCE, cpu) for cpu in CPUS[2:] if REFERENCE in names]
    for peer, cpu in pairs:
        ratios = {name: row[peer] / row[cpu] for name, row in rows.items()}
        least = min(ratios, key=ratios.get)
        lines.append(
            f"- {peer} over {cpu}: geometric mean {mean(ratios.values()):.2f}, "
            f"least {ratios[least]:.2f} ({least})"
        )
    return [*lines, ""]
