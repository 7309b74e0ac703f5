"""The cost of builds.

`generated`: each program of `generated.py` at its sizes: wall seconds, processor seconds and peak
memory of the compiler, and the growth per doubling of the size relative to doubling; for some also
up to the imperative IR only, where the optimiser dominates. `builds`: the programs with test blocks
below the folder in `BENCHMARKS` (for example a checkout of futhark-benchmarks), without libraries,
compared with the reference compiler and its C compiler, and with the compiler in `BASELINE`.
"""

import math
import os
import re
import subprocess
import time
from pathlib import Path

from generated import OPTIMISER_PROGRAMS, PROGRAMS
from harness import CFLAGS, WORK, baseline_compiler, compiler, find_program
from results import number, table


def process_cost(command, env=None):
    """Wall seconds, processor seconds and peak memory of a command, or None if it fails."""
    start = time.perf_counter()
    child = subprocess.Popen(
        [str(word) for word in command], env=env,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        return None
    return {
        "seconds": time.perf_counter() - start,
        "cpu": usage.ru_utime + usage.ru_stime,
        "mebibytes": usage.ru_maxrss / 1024,
    }


def figure_generated(_options, warnings):
    """Costs of builds of generated programs, and their growth."""
    if not compiler():
        warnings.add("bindrune is not built")
        return {"rows": {}}
    rows, growth = {}, {}
    build = [compiler(), "build", "-o", WORK / "generated"]
    pipeline = [compiler(), "dev", "--stage", "pipeline"]
    kinds = [("", build, PROGRAMS), (" to imp", pipeline, OPTIMISER_PROGRAMS)]
    for kind, command, name, generate, sizes in [
        (kind, command, *program) for kind, command, programs in kinds for program in programs
    ]:
        previous = None
        for size in sizes:
            path = WORK / f"generated-{name}.fut"
            path.write_text(generate(size))
            row = process_cost([*command, path])
            if row is None:
                warnings.add(f"{name}{kind} of {size} does not build")
                break
            rows[f"{name}{kind} {size}"] = row
            print(name + kind, size, row, flush=True)
            if previous:
                doublings = math.log2(size / previous[0])
                factor = row["cpu"] / previous[1]["cpu"]
                growth[f"{name}{kind} {previous[0]} to {size}"] = factor ** (1 / doublings) / 2
            previous = (size, row)
    return {"rows": rows, "growth": growth}


def report_generated(figure):
    """The report's lines on generated programs."""
    cells = [
        [name, number(row["seconds"]), number(row["cpu"]), number(row["mebibytes"], 0)]
        for name, row in figure["rows"].items()
    ]
    lines = table(["program", "s", "processor s", "MiB"], cells)
    if growth := figure.get("growth"):
        cells = [[name, number(factor)] for name, factor in growth.items()]
        lines += ["", "Growth per doubling, over 2:", "", *table(["program", "growth"], cells)]
    return lines


def programs(folder):
    """The programs with test blocks below a folder, without libraries."""
    found = []
    for path in sorted(Path(folder).rglob("*.fut")):
        text = path.read_text(errors="replace")
        if "lib" not in path.parts and re.search(r"^-- ==", text, re.MULTILINE):
            found.append(path)
    return found


def figure_builds(_options, warnings):
    """Costs of builds by each compiler."""
    folder = os.environ.get("BENCHMARKS")
    if not (folder and compiler()):
        warnings.add("builds: BENCHMARKS names no folder of programs, or bindrune is not built")
        return {"rows": {}}
    futhark, baseline, rows = find_program("FUTHARK", "futhark"), baseline_compiler(), {}
    commands = {"bindrune": ([compiler(), "build"], None)}
    if baseline:
        commands["baseline"] = ([baseline, "build"], None)
    if futhark:
        commands["futhark multicore"] = ([futhark, "multicore"], {**os.environ, "CFLAGS": CFLAGS})
    for path in programs(folder):
        row = {
            impl: process_cost([*command, path, "-o", WORK / "built"], env)
            for impl, (command, env) in commands.items()
        }
        if row["bindrune"]:
            name = str(path.relative_to(folder))
            rows[name] = {impl: cost for impl, cost in row.items() if cost}
            print(name, {impl: round(cost["seconds"], 2) for impl, cost in rows[name].items()}, flush=True)
    return {"rows": rows, "summary": summary_of_builds(rows)}


def summary_of_builds(rows):
    """Sums over the programs that both Bindrune and the implementation build."""
    found = {}
    for impl in dict.fromkeys(impl for row in rows.values() for impl in row):
        both = {name: (row["bindrune"]["seconds"], row[impl]["seconds"]) for name, row in rows.items() if impl in row}
        ratios = {name: theirs / ours for name, (ours, theirs) in both.items()}
        least = min(ratios, key=ratios.get)
        found[impl] = {
            "programs": len(both), "seconds": sum(theirs for _, theirs in both.values()),
            "bindrune": sum(ours for ours, _ in both.values()),
            "slowest": sorted((theirs for _, theirs in both.values()), reverse=True)[:3],
            "least": ratios[least], "least of": least,
        }
    return found


def report_builds(figure):
    """The report's lines on third-party programs."""
    cells = []
    for impl, row in figure["summary"].items():
        slowest = ", ".join(number(seconds) for seconds in row["slowest"])
        least = f"{row['least']:.2f} ({row['least of']})" if impl != "bindrune" else ""
        seconds = [number(row[key], 1) for key in ("seconds", "bindrune")]
        cells.append([impl, str(row["programs"]), *seconds, slowest, least])
    head = ["compiler", "programs", "s", "Bindrune on the same, s", "slowest, s", "least ratio to Bindrune"]
    return table(head, cells)
