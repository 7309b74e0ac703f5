"""The figure `peaks`: peak memory of the programs of `users`, and of the same in the reference compiler's
`multicore`."""

import math
import os
import sys

from harness import CFLAGS, HERE, WORK, build_bindrune, compiler, find_program, run_checked
from users import PROGRAMS, input_of
from users_cases import CASES


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
            built[path] = {"bindrune": build_bindrune(path, f"{out.name}-bindrune"), "futhark multicore": out}
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
    lines = ["| MB | bindrune | futhark multicore | ratio |", "|---|---:|---:|---:|"]
    for name, row in rows.items():
        cells = [f"{row[impl] / 1e6:.1f}" for impl in ["bindrune", "futhark multicore"]]
        lines.append(f"| {name} | {' | '.join(cells)} | {ratios[name]:.2f} |")
    if not ratios:
        return lines
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    most = max(ratios, key=ratios.get)
    summary = f"Bindrune over multicore: geometric mean {mean:.2f}, most {ratios[most]:.2f} ({most})."
    return [*lines, "", summary]
