"""The cost of builds: generated programs, and third-party programs.

`generated`: each program of `generated.py` at its sizes; wall seconds, processor seconds and peak
memory of the compiler, and the growth per doubling beyond a factor of two; for some also up to the
imperative IR only, where the optimiser dominates. `builds`: the programs with test blocks below the
folder in `BENCHMARKS` (for example a checkout of futhark-benchmarks), without libraries, compared
with the reference compiler and its C compiler if available.
"""

import math
import os
import re
import subprocess
import time
from pathlib import Path

from contest import CFLAGS, ROOT, WORK, tool
from generated import MIDDLE, PROGRAMS

LIMIT = 600  # seconds per build


def measured(command, env=None):
    """Wall seconds, processor seconds and peak memory of a command that must succeed."""
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


def figure_generated(_options, notes):
    bindrune = tool("BINDRUNE", str(ROOT / "build" / "bindrune"))
    rows, growth = {}, {}
    build = [bindrune, "build", "-o", WORK / "generated"]
    pipeline = [bindrune, "dev", "--stage", "pipeline"]
    kinds = [("", build, PROGRAMS), (" to imp", pipeline, MIDDLE)]
    for kind, command, name, maker, sizes in [
        (kind, command, *program) for kind, command, programs in kinds for program in programs
    ]:
        before = None
        for size in sizes:
            path = WORK / f"generated-{name}.fut"
            path.write_text(maker(size))
            row = measured([*command, path])
            if row is None:
                notes.add(f"{name}{kind} of {size} does not build")
                break
            rows[f"{name}{kind} {size}"] = row
            print(name + kind, size, row, flush=True)
            if before:
                doublings = math.log2(size / before[0])
                factor = row["cpu"] / before[1]["cpu"]
                growth[f"{name}{kind} {before[0]} to {size}"] = factor ** (1 / doublings) / 2
            before = (size, row)
    return {"rows": rows, "growth": growth}


def programs(folder):
    """The programs with test blocks below a folder, without libraries."""
    found = []
    for path in sorted(Path(folder).rglob("*.fut")):
        text = path.read_text(errors="replace")
        if "lib" not in path.parts and re.search(r"^-- ==", text, re.MULTILINE):
            found.append(path)
    return found


def figure_builds(_options, notes):
    folder = os.environ.get("BENCHMARKS")
    if not folder:
        notes.add("builds: BENCHMARKS names no folder of programs")
        return {"rows": {}}
    bindrune, futhark = tool("BINDRUNE", str(ROOT / "build" / "bindrune")), tool("FUTHARK", "futhark")
    before, rows = os.environ.get("BEFORE"), {}
    for path in programs(folder):
        commands = {"bindrune": ([bindrune, "build"], None)}
        if before:
            commands["before"] = ([before, "build"], None)
        if futhark:
            commands["futhark multicore"] = ([futhark, "multicore"], {**os.environ, "CFLAGS": CFLAGS})
        row = {
            who: measured([*command, path, "-o", WORK / "built"], env)
            for who, (command, env) in commands.items()
        }
        if row["bindrune"]:
            name = str(path.relative_to(folder))
            rows[name] = {who: cost for who, cost in row.items() if cost}
            print(name, {who: round(cost["seconds"], 2) for who, cost in rows[name].items()}, flush=True)
    return {"rows": rows}


def report_sizes(results):
    lines = []
    if "generated" in results:
        lines += ["## Generated programs", "", "| program | s | processor s | MiB |", "|---|---:|---:|---:|"]
        for name, row in results["generated"]["rows"].items():
            lines.append(f"| {name} | {row['seconds']:.2f} | {row['cpu']:.2f} | {row['mebibytes']:.0f} |")
        lines += ["", "Growth a doubling, beyond two:", ""]
        lines += [f"- {name}: {factor:.2f}" for name, factor in results["generated"]["growth"].items()]
        lines.append("")
    if results.get("builds", {}).get("rows"):
        rows = results["builds"]["rows"]
        lines += ["## Builds", ""]
        for who in ["bindrune", "before", "futhark multicore"]:
            both = [(row["bindrune"], row[who]) for row in rows.values() if who in row]
            if not both:
                continue
            ours, theirs = (sum(pair[i]["seconds"] for pair in both) for i in (0, 1))
            slowest = sorted((row[who]["seconds"] for row in rows.values() if who in row), reverse=True)
            least = min(theirs["seconds"] / ours["seconds"] for ours, theirs in both)
            lines.append(
                f"- {who}: {len(both)} programs, {theirs:.1f} s (bindrune {ours:.1f}), slowest "
                f"{', '.join(f'{s:.2f}' for s in slowest[:3])} s, least ratio to bindrune {least:.2f}"
            )
        lines.append("")
    return lines
