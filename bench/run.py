#!/usr/bin/env python3
"""Measures Bindrune against hand-written C and the reference compiler.

    python3 bench/run.py                       everything
    python3 bench/run.py mini --only mssp      one figure, one benchmark
    python3 bench/run.py mini --rounds 9

Figures: mini, small, basis, rows, lanes, functions, growth, check, build, startup, memory, cycles,
generated, builds, levels, before, checks, ablation, nests, forced, scaling, middle, kernels,
reference, tuned, gpu (see README.md). Missing contestants are left out and reported. Needs gcc with
OpenMP and nothing outside Python's standard library. Environment: BINDRUNE (default
build/bindrune), FUTHARK (default: found in PATH), CC (default gcc), NVCC (default nvcc).

Writes results.json and results.md beside this file, and gpu.svg; exits 1 if contestants disagree on
a result.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from ablation import figure_ablation, report_ablation
from before import figure_before, listed, report_before
from checks import figure_checks, report_checks
from basis import BASIS, BASIS_ENTRIES, figure_basis
from contest import CFLAGS, HERE, ROOT, WORK, build_futhark, contestants, machine, shell, tool
from exhaustive import figure_tuned, report_tuned
from forced import figure_forced, report_forced
from gpu import DEVICES, figure_gpu, report_gpu
from lanes import figure_functions, figure_growth, figure_lanes, report_lanes
from levels import figure_levels, programs, report_levels
from middle import figure_kernels, figure_middle, report_kernels, report_middle
from mini import BENCHMARKS, MINI, data_file, figure_mini, figure_small
from nests import figure_nests, figure_scaling, report_nests
from reference import figure_reference, report_reference
from rows import figure_rows
from sizes import figure_builds, figure_generated, report_sizes
from values import random_i32s

sys.path.insert(0, str(HERE / "machine"))
from machine import compare, measure  # noqa: E402

TRIVIAL = "entry main (x: i32) : i32 = x + 1\n"


def wall(command, repeats, **options):
    """Median wall time in seconds of a command over several processes."""
    samples = []
    for _ in range(repeats):
        start = time.perf_counter()
        shell(command, **options)
        samples.append(time.perf_counter() - start)
    return statistics.median(samples)


def program_of_300_lines():
    """A file of 300 lines of code: the mini-benchmarks and test programs combined."""
    sources = [MINI] + [
        ROOT / "tests" / "programs" / "classic" / f"{name}.fut"
        for name in ["simulation", "linear_algebra", "sorting", "stencils"]
    ]
    lines = [
        line for path in sources for line in path.read_text().splitlines()
        if line.strip() and not line.startswith("--")
    ]
    starts = [
        i for i, line in enumerate(lines)
        if line.startswith(("def ", "entry ", "type "))
    ]
    cut = next((i for i in starts if i >= 300), len(lines))
    path = WORK / "lines.fut"
    path.write_text("\n".join(lines[:cut]) + "\n")
    return path, cut


def figure_check(_options, notes):
    path, lines = program_of_300_lines()
    bindrune, futhark = tool("BINDRUNE", str(ROOT / "build" / "bindrune")), tool("FUTHARK", "futhark")
    row = {}
    if bindrune:
        row["bindrune"] = wall([bindrune, "check", path], 20)
    if futhark:
        row["futhark"] = wall([futhark, "check", path], 3)
    return {"lines": lines, "seconds": row}


def figure_build(_options, notes):
    bindrune, futhark = tool("BINDRUNE", str(ROOT / "build" / "bindrune")), tool("FUTHARK", "futhark")
    row, out = {}, WORK / "timed"
    if bindrune:
        row["bindrune"] = wall([bindrune, "build", MINI, "-o", out], 5)
    if futhark:
        env = {**os.environ, "CFLAGS": CFLAGS}
        for backend in ["c", "multicore"]:
            row[f"futhark {backend}"] = wall([futhark, backend, MINI, "-o", out], 1, env=env)
    return {"seconds": row}


def figure_startup(_options, notes):
    """The wall time of a process that adds 1 to a number."""
    path = WORK / "trivial.fut"
    path.write_text(TRIVIAL)
    made = build_futhark(path, "trivial", notes)
    return {"seconds": {k: wall([exe], 50, input=b"41") for k, exe in made.items()}}


def figure_memory(options, notes):
    """Peak memory of reduce_plus over 10^8 integers, compared with the file's size."""
    data = WORK / f"memory-{options.memory_size}.in"
    data.write_bytes(random_i32s(options.memory_size, "memory"))
    size, row = data.stat().st_size, {}
    for contestant in contestants("reduce_plus", build_futhark(MINI, "mini", notes)):
        command = [sys.executable, HERE / "peak.py", data, *contestant.command, "-b"]
        row[contestant.name] = int(shell(command)) / size
    data.unlink()
    return {"file_bytes": size, "peak_to_file": row}


def figure_machine(options, notes):
    """Cycles of the vector units, and the nearest processor model of the compiler's table."""
    cycles = measure()
    if "fma_f64_y" not in cycles:
        notes.add("the machine has no AVX2, so that the table of makes says nothing of it")
        return {"cycles": cycles}
    _, _, nearest = compare(cycles)
    print("machine", cycles, nearest, flush=True)
    return {"cycles": cycles, "nearest": nearest}


def figure_of_levels(options, notes):
    """Code for several processor levels."""
    if not tool("BINDRUNE", str(ROOT / "build" / "bindrune")):
        notes.add("bindrune is not built")
        return {"microseconds": {}, "agree": True}
    return figure_levels(options, notes, programs(MINI, options.only, data_file))


def figure_of_change(options, notes):
    """This compiler compared with another one."""
    cases = listed(MINI, options.only, data_file, BASIS, BASIS_ENTRIES)
    small = [(name, MINI, data_file(name, 10_000)) for name in options.only]
    return figure_before(options, notes, cases, small)


def figure_of_fusion(options, _notes):
    """The gain of fusion."""
    return figure_ablation(options, MINI, data_file)


FIGURES = {
    "mini": figure_mini, "small": figure_small, "basis": figure_basis, "rows": figure_rows,
    "lanes": figure_lanes, "functions": figure_functions, "growth": figure_growth,
    "check": figure_check, "build": figure_build, "startup": figure_startup, "memory": figure_memory,
    "cycles": figure_machine, "generated": figure_generated, "builds": figure_builds,
    "levels": figure_of_levels, "before": figure_of_change, "checks": figure_checks,
    "ablation": figure_of_fusion,
    "nests": figure_nests, "forced": figure_forced, "scaling": figure_scaling,
    "middle": figure_middle, "kernels": figure_kernels,
    "reference": figure_reference, "tuned": figure_tuned, "gpu": figure_gpu,
}


def ratios(rows, peers):
    """The best time of `peers` over Bindrune's, for the rows that have both."""
    found = {}
    for name, row in rows.items():
        others = [row[p] for p in peers if p in row]
        if "bindrune" in row and others:
            found[name] = min(others) / row["bindrune"]
    return found


def summary(factors):
    mean = math.exp(statistics.fmean(math.log(r) for r in factors.values()))
    name = min(factors, key=factors.get)
    return f"Geometric mean {mean:.2f}, least {factors[name]:.2f} ({name})"


def time_table(figure, peers, title):
    """A table of run times with the ratio to the best of `peers`."""
    rows = figure["microseconds"]
    names = list(next(iter(rows.values()), {}))
    factor = ratios(rows, peers)
    lines = [f"## {title}", "", "| µs | " + " | ".join(names) + " | ratio |"]
    lines.append("|---|" + "---:|" * (len(names) + 1))
    for name, row in rows.items():
        ratio = f"{factor[name]:.2f}" if name in factor else ""
        lines.append(f"| {name} | " + " | ".join(f"{row[n]:.1f}" for n in names) + f" | {ratio} |")
    if factor:
        lines.append(f"\nRatio: {' or '.join(peers)} (the fastest) to bindrune.  {summary(factor)}.")
    return lines + [""]


def report(results):
    where = results["machine"]
    lines = [
        "# Results", "",
        f"{where['processor']}, {where['cores']} cores, {where['gcc']}, {where['futhark']}; "
        f"{where['date']}, load {where['load']:.1f} at the start.", "",
    ]
    if "mini" in results:
        title = f"Mini-benchmarks, {results['mini']['elements']} elements"
        peers = ["futhark c", "futhark multicore"]
        lines += time_table(results["mini"], peers, title)
        with_ispc = ratios(results["mini"]["microseconds"], [*peers, "futhark ispc"])
        if "futhark ispc" in next(iter(results["mini"]["microseconds"].values()), {}):
            lines += [f"With ispc: {summary(with_ispc)}.", ""]
    if "small" in results:
        title = f"{results['small']['calls']} calls, 10000 elements each"
        lines += time_table(results["small"], ["C"], title)
    if "basis" in results:
        lines += time_table(results["basis"], [], "Minimal basis, 1000000 elements")
    if "rows" in results:
        lines += time_table(results["rows"], ["futhark c", "futhark multicore"], "Rows and columns")
    lines += report_lanes(results)
    lines += report_sizes(results)
    lines += report_levels(results)
    lines += report_before(results)
    lines += report_ablation(results)
    lines += report_checks(results)
    lines += report_nests(results)
    lines += report_forced(results)
    lines += report_middle(results)
    lines += report_kernels(results)
    lines += report_tuned(results)
    lines += report_reference(results)
    lines += report_gpu(results, HERE / "gpu.svg")
    for name, key, unit, scale in [
        ("check", "seconds", "ms", 1e3), ("build", "seconds", "s", 1),
        ("startup", "seconds", "ms", 1e3), ("memory", "peak_to_file", "× the file", 1),
    ]:
        if name in results:
            row = results[name][key]
            values = ", ".join(f"{k} {v * scale:.2f} {unit}" for k, v in row.items())
            lines += [f"**{name}**: {values}", ""]
    if "cycles" in results:
        figure = results["cycles"]
        row = ", ".join(f"{name} {cycles}" for name, cycles in figure["cycles"].items())
        lines += [f"**cycles** (nearest make {figure.get('nearest', 'none')}): {row}", ""]
    lines += [f"- {note}" for note in results["notes"]]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("figures", nargs="*", default=list(FIGURES), help=" ".join(FIGURES))
    parser.add_argument("--only", action="append", choices=BENCHMARKS, help="one benchmark")
    parser.add_argument("--case", default="", help="of `nests`, `forced`, `scaling`, `tuned`, `gpu` those with this in the name")
    parser.add_argument("--seconds", type=float, default=math.inf, help="in `tuned`, `reference`, begin nothing after this long")
    parser.add_argument("--quick", action="store_true", help="one round of few runs, to see that all works")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contestant")
    parser.add_argument("--runs", type=int, default=10, help="runs a turn")
    parser.add_argument("--size", type=int, default=10_000_000, help="elements in `mini`")
    parser.add_argument("--calls", type=int, default=10_000, help="calls in `small`")
    parser.add_argument("--backend", choices=DEVICES, help="devices of `gpu` (default cuda) and of `reference` (default none)")
    parser.add_argument("--memory-size", type=int, default=100_000_000, help="elements in `memory`")
    options = parser.parse_args()
    options.only = options.only or BENCHMARKS
    if options.quick:
        options.rounds, options.runs = 1, 3
    unknown = set(options.figures) - set(FIGURES)
    if unknown:
        parser.error(f"no such figure: {' '.join(sorted(unknown))}")
    WORK.mkdir(parents=True, exist_ok=True)
    notes, results = set(), {"machine": machine()}
    for name in options.figures:
        results[name] = FIGURES[name](options, notes)
    results["notes"] = sorted(notes)
    (HERE / "results.json").write_text(json.dumps(results, indent=2) + "\n")
    text = report(results)
    (HERE / "results.md").write_text(text)
    print(text)
    return 0 if all(r.get("agree", True) for r in results.values() if isinstance(r, dict)) else 1


if __name__ == "__main__":
    sys.exit(main())
