"""The figure `peaks`: peak memory of the programs of `users`, and of the same in the reference compiler's
`multicore`."""

import os
import sys

from harness import CFLAGS, HERE, WORK, build_bindrune, compiler, find_program, run_checked
from results import geometric_mean, number, table
from users import PROGRAMS, input_of
from users_cases import CASES

IMPLEMENTATIONS = ["bindrune", "futhark multicore"]


def figure_peaks(options, warnings):
    """Peak resident memory in bytes, of a process with one call."""
    futhark, built, rows = find_program("FUTHARK", "futhark"), {}, {}
    if not compiler() or not futhark:
        warnings.add("bindrune or futhark is not installed")
        return {"bytes": {}}
    for name, case in CASES.items():
        if options.case not in name:
            continue
        path = PROGRAMS / f"{case.program}.fut"
        if path not in built:
            out = WORK / f"peaks-{case.program.replace('/', '-')}"
            run_checked([futhark, "multicore", path, "-o", out], env={**os.environ, "CFLAGS": CFLAGS})
            built[path] = dict(zip(IMPLEMENTATIONS, [build_bindrune(path, f"{out.name}-bindrune"), out]))
        data = WORK / "peaks.in"
        data.write_bytes(input_of(name, case))
        rows[name] = {
            implementation: int(run_checked(
                [sys.executable, HERE / "peak_memory.py", data, exe, "-e", case.entry, "-b"],
            ))
            for implementation, exe in built[path].items()
        }
        print(name, rows[name], flush=True)
        data.unlink()
    return {"bytes": rows}


def report_peaks(figure):
    """The lines of a table of both, and the geometric mean of the ratios."""
    rows = figure["bytes"]
    ratios = {name: row["bindrune"] / row["futhark multicore"] for name, row in rows.items()}
    cells = [
        [name, *(number(row[impl] / 1e6, 1) for impl in IMPLEMENTATIONS), number(ratios[name])]
        for name, row in rows.items()
    ]
    lines = table(["MB", *IMPLEMENTATIONS, "ratio"], cells)
    if not ratios:
        return lines
    most = max(ratios, key=ratios.get)
    mean = geometric_mean(ratios.values())
    summary = f"Bindrune over multicore: geometric mean {mean:.2f}, most {ratios[most]:.2f} ({most})."
    return [*lines, "", summary]
