"""The cost of portable executables: code for older processors, and the selection of code at startup.

Each program of `mini`, `lanes` and `rows` is built for this machine (`native`), with code for
several processor levels (`portable`), for `x86-64-v2` and for `generic`; the reference compiler's
`c` for `-march=x86-64`. All run on one core, as `c` does.
"""

import os

from harness import WORK, Implementation, compiler, find_program, input_file, interleave, medians, result, run_checked
from lanes import PROGRAMS
from results import geometric_mean, number, table
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


def executables(path, warnings):
    """The executables of a file, by implementation."""
    built = {}
    for cpu in CPUS:
        built[cpu] = WORK / f"levels-{path.stem}-{cpu}"
        run_checked([compiler(), "build", path, "--cpu", cpu, "-o", built[cpu]])
    futhark = find_program("FUTHARK", "futhark")
    if futhark:
        built[REFERENCE] = WORK / f"levels-{path.stem}-c"
        run_checked([futhark, "c", path, "-o", built[REFERENCE]], env={**os.environ, "CFLAGS": CFLAGS})
    else:
        warnings.add("the reference compiler is not installed")
    return built


def figure_levels(options, warnings, cases):
    """Median run times on one core, implementations alternating; results must have equal bits."""
    built, rows, good = {}, {}, True
    for name, path, entry, data in cases:
        if path not in built:
            built[path] = executables(path, warnings)
        implementations = [
            Implementation(impl, [exe, *([] if impl == REFERENCE else ["--num-threads", "1"]), "-e", entry])
            for impl, exe in built[path].items()
        ]
        data = data()
        ours = {result(each, data) for each in implementations if each.name != REFERENCE}
        if len(ours) != 1:
            warnings.add(f"{name}: the bits of the results depend on the processor level")
            good = False
        rows[name] = medians(interleave(implementations, data, options))
        print(name, rows[name], flush=True)
    return {"microseconds": rows, "agree": good}


def report_levels(figure):
    """The report's lines on this figure."""
    rows = figure["microseconds"]
    names = list(next(iter(rows.values())))
    lines = table(["µs", *names], [[name, *(number(row[impl], 0) for impl in names)] for name, row in rows.items()])
    cells = []
    for peer, cpu in [("native", "portable")] + [(REFERENCE, cpu) for cpu in CPUS[2:] if REFERENCE in names]:
        ratios = {name: row[peer] / row[cpu] for name, row in rows.items()}
        least = min(ratios, key=ratios.get)
        cells.append([f"{peer} over {cpu}", number(geometric_mean(ratios.values())), f"{ratios[least]:.2f} ({least})"])
    return [*lines, "", *table(["ratio", "geometric mean", "least"], cells)]
