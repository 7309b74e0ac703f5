"""Compares this compiler with another one, named by the environment variable BASELINE and usually
built before a change.

Measures the run times of all programs of the other figures on all cores, and the times of `check`,
the passes up to `pipeline`, and `build` for the programs of `BENCHMARKS`. The compilers alternate.
"""

import math
import os
import statistics
import time
from itertools import chain

from builds import process_cost
from builds import programs as programs_below
from harness import WORK, Implementation, baseline_compiler, compiler, input_file, interleave, run_checked
from lanes import ARGUMENTS, FUNCTIONS, PROGRAMS, function_input
from results import number, summary, table
from rows import ENTRIES, SHAPES
from rows import PROGRAM as ROWS
from rows import input_file as rows_input
from values import random_i32s

STAGES = {"check": ["check"], "pipeline": ["dev", "--stage", "pipeline"], "build": ["build"]}
# Microseconds of calls in one process if one call is short.
LONG = 100_000


def programs_of_figures(mini, benchmarks, mini_input, basis, basis_entries):
    """Yields name, file, entry point, and a function that returns the input file."""
    for name in benchmarks:
        yield name, mini, name, lambda name=name: mini_input(name, 10_000_000)
    for name, arrays in basis_entries.items():
        generate = lambda arrays=arrays: b"".join(random_i32s(1_000_000, i) for i in range(arrays))
        yield name, basis, name, lambda n=arrays, generate=generate: input_file(f"basis-{n}", generate)
    for name, (path, entry, generate, _) in PROGRAMS.items():
        yield name, path, entry, lambda name=name, generate=generate: input_file(f"lanes-{name}", generate)
    for i, (rows, columns) in enumerate(SHAPES):
        for entry in ENTRIES:
            yield f"{entry} {i}", ROWS, entry, lambda e=entry, r=rows, c=columns: rows_input(e, r, c)
    for elem in ["f32", "f64"]:
        for name, (bounds, _) in ARGUMENTS.items():
            generate = lambda e=elem, n=name, b=bounds: function_input(e, n, b, len(n))
            label = f"{name}_{elem}"
            yield label, FUNCTIONS, label, lambda n=name, e=elem, generate=generate: input_file(
                f"functions-{n}-{e}", generate
            )


def quartile_ratio(samples):
    """The lower quartiles of both times, and their ratio (baseline over Bindrune). If threads start
    on one core, some processes stay on it throughout, so medians depend on chance."""
    ours, other = (statistics.quantiles(samples[impl], n=4)[0] for impl in ("bindrune", "baseline"))
    return {"bindrune": ours, "baseline": other, "ratio": other / ours}


def run_times(options, compilers, cases):
    built, rows = {}, {}
    for name, path, entry, data in cases:
        for impl, binary in compilers.items():
            if (impl, path) not in built:
                built[impl, path] = WORK / f"baseline-{path.stem}-{impl}"
                run_checked([binary, "build", path, "-o", built[impl, path]])
        implementations = [Implementation(impl, [built[impl, path], "-e", entry]) for impl in compilers]
        rounds = interleave(implementations, data(), options)
        rows[name] = quartile_ratio({impl: list(chain.from_iterable(found)) for impl, found in rounds.items()})
        print(name, {key: round(value, 3) for key, value in rows[name].items()}, flush=True)
    return rows


def wall_time(command, data, calls):
    """Microseconds of a process that makes `calls` calls."""
    with open(data, "rb") as source:
        start = time.perf_counter()
        run_checked([*command, "-r", calls], stdin=source)
        return (time.perf_counter() - start) * 1e6


def small_calls(options, compilers, cases):
    """Microseconds per call at 10^4 elements, as in `small`, with enough calls for a long
    measurement."""
    rows = {}
    for name, path, data in cases:
        commands = {impl: [WORK / f"baseline-{path.stem}-{impl}", "-e", name, "-b"] for impl in compilers}
        once = {impl: wall_time(command, data, 1) for impl, command in commands.items()}
        trial = max(wall_time(command, data, 5000) - once[impl] for impl, command in commands.items())
        calls = max(1000, int(LONG * 5000 / max(trial, 1)))
        samples = {impl: [] for impl in compilers}
        for i in range(2 * options.rounds):
            for impl in list(compilers)[:: 1 if i % 2 else -1]:
                samples[impl].append((wall_time(commands[impl], data, calls) - once[impl]) / calls)
        rows[f"{name} small"] = quartile_ratio(samples)
        print(name, "small", {key: round(value, 3) for key, value in rows[f"{name} small"].items()}, flush=True)
    return rows


def stage_times(options, compilers, folder):
    """Processor seconds; the least of at most three rounds."""
    rows = {stage: {} for stage in STAGES}
    for path in programs_below(folder):
        for stage, command in STAGES.items():
            least = {impl: math.inf for impl in compilers}
            for i in range(min(options.rounds, 3)):
                for impl in list(compilers)[:: 1 if i % 2 else -1]:
                    out = ["-o", WORK / "baseline"] if stage == "build" else []
                    cost = process_cost([compilers[impl], *command, path, *out])
                    least[impl] = min(least[impl], cost["cpu"] if cost else math.inf)
            if max(least.values()) < math.inf:
                rows[stage][str(path.relative_to(folder))] = least
    return rows


def figure_baseline(options, warnings, cases, small):
    """Run times and compile times of Bindrune and the baseline."""
    if not (compiler() and baseline_compiler()):
        warnings.add("baseline: BASELINE names no compiler, or bindrune is not built")
        return {}
    compilers = {"bindrune": compiler(), "baseline": baseline_compiler()}
    found = {"rows": run_times(options, compilers, cases)}
    found["rows"] |= small_calls(options, compilers, small)
    folder = os.environ.get("BENCHMARKS")
    if folder:
        found["stages"] = stage_times(options, compilers, folder)
    else:
        warnings.add("baseline: BENCHMARKS names no folder of programs")
    return found


def report_baseline(figure):
    """The report's lines on this figure."""
    cells = [
        [name, number(row["baseline"], 3), number(row["bindrune"], 3), number(row["ratio"], 3)]
        for name, row in figure["rows"].items()
    ]
    lines = table(["µs", "baseline", "bindrune", "ratio"], cells)
    ratios = {name: row["ratio"] for name, row in figure["rows"].items()}
    lines += ["", f"Run time, baseline over Bindrune: {len(ratios)} entry points, {summary(ratios)}."]
    cells = []
    for stage, rows in figure.get("stages", {}).items():
        ours, other = (sum(row[impl] for row in rows.values()) for impl in ("bindrune", "baseline"))
        slower = sorted(rows, key=lambda name: rows[name]["baseline"] - rows[name]["bindrune"])[:3]
        named = ", ".join(f"{n} {rows[n]['bindrune']:.2f} and {rows[n]['baseline']:.2f}" for n in slower)
        ratio = ours / max(other, 1e-9)
        cells.append([f"`{stage}`", str(len(rows)), number(ours, 1), number(other, 1), number(ratio, 3), named])
    if cells:
        head = ["processor s", "programs", "bindrune", "baseline", "Bindrune over baseline", "largest differences"]
        lines += ["", *table(head, cells, ["largest differences"])]
    return lines
