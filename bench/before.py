"""Compares this compiler with another one, usually that before a change (`BEFORE`).

Measures the run times of all programs of the other figures on all cores, and the times of `check`,
the passes up to `pipeline`, and `build` for the programs of `BENCHMARKS`. The compilers alternate.
"""

import math
import os
import statistics
import time

from contest import WORK, Contestant, shell, take_turns
from lanes import ARGUMENTS, FUNCTIONS, PROGRAMS, compiler, function_input, input_file
from rows import ENTRIES, SHAPES
from rows import PROGRAM as ROWS
from rows import input_file as rows_input
from sizes import measured
from sizes import programs as below
from values import random_i32s

STAGES = {"check": ["check"], "pipeline": ["dev", "--stage", "pipeline"], "build": ["build"]}
# Microseconds of calls in one process if one call is short.
LONG = 100_000


def listed(mini, benchmarks, mini_input, basis, basis_entries):
    """Yields name, file, entry point, and a function that returns the input file."""
    for name in benchmarks:
        yield name, mini, name, lambda name=name: mini_input(name, 10_000_000)
    for name, arrays in basis_entries.items():
        make = lambda arrays=arrays: b"".join(random_i32s(1_000_000, i) for i in range(arrays))
        yield name, basis, name, lambda arrays=arrays, make=make: input_file(f"basis-{arrays}", make)
    for name, (path, entry, make, _) in PROGRAMS.items():
        yield name, path, entry, lambda name=name, make=make: input_file(f"lanes-{name}", make)
    for i, (rows, columns) in enumerate(SHAPES):
        for entry in ENTRIES:
            yield f"{entry} {i}", ROWS, entry, lambda e=entry, r=rows, c=columns: rows_input(e, r, c)
    for elem in ["f32", "f64"]:
        for name, (bounds, _) in ARGUMENTS.items():
            make = lambda e=elem, n=name, b=bounds: function_input(e, n, b, len(n))
            label = f"{name}_{elem}"
            yield label, FUNCTIONS, label, lambda n=name, e=elem, make=make: input_file(
                f"functions-{n}-{e}", make
            )


def paired(samples):
    """The lower quartiles of both times, and their ratio (other over ours). If threads start on
    one core, some processes stay on it throughout, so medians depend on chance."""
    ours, other = (statistics.quantiles(samples[who], n=4)[0] for who in ("bindrune", "before"))
    return {"bindrune": ours, "before": other, "ratio": other / ours}


def run_times(options, compilers, cases):
    built, rows = {}, {}
    for name, path, entry, data in cases:
        for who, binary in compilers.items():
            if (who, path) not in built:
                built[who, path] = WORK / f"before-{path.stem}-{who}"
                shell([binary, "build", path, "-o", built[who, path]])
        entrants = [Contestant(who, [built[who, path], "-e", entry]) for who in compilers]
        rounds = take_turns(entrants, data(), options)
        rows[name] = paired({who: [time for times in found for time in times] for who, found in rounds.items()})
        print(name, {key: round(value, 3) for key, value in rows[name].items()}, flush=True)
    return rows


def wall(command, data, calls):
    """Microseconds of a process that makes `calls` calls."""
    with open(data, "rb") as source:
        start = time.perf_counter()
        shell([*command, "-r", calls], stdin=source)
        return (time.perf_counter() - start) * 1e6


def small_calls(options, compilers, cases):
    """Microseconds per call at 10^4 elements, as in `small`, with enough calls for a long
    measurement."""
    rows = {}
    for name, path, data in cases:
        commands = {who: [WORK / f"before-{path.stem}-{who}", "-e", name, "-b"] for who in compilers}
        once = {who: wall(command, data, 1) for who, command in commands.items()}
        trial = max(wall(command, data, 5000) - once[who] for who, command in commands.items())
        calls = max(1000, int(LONG * 5000 / max(trial, 1)))
        samples = {who: [] for who in compilers}
        for i in range(2 * options.rounds):
            for who in list(compilers)[:: 1 if i % 2 else -1]:
                samples[who].append((wall(commands[who], data, calls) - once[who]) / calls)
        rows[f"{name} small"] = paired(samples)
        print(name, "small", {key: round(value, 3) for key, value in rows[f"{name} small"].items()}, flush=True)
    return rows


def stages(options, compilers, folder):
    """Processor seconds; the least of a few rounds."""
    rows = {stage: {} for stage in STAGES}
    for path in below(folder):
        for stage, command in STAGES.items():
            least = {who: math.inf for who in compilers}
            for i in range(min(options.rounds, 3)):
                for who in list(compilers)[:: 1 if i % 2 else -1]:
                    out = ["-o", WORK / "before"] if stage == "build" else []
                    cost = measured([compilers[who], *command, path, *out])
                    least[who] = min(least[who], cost["cpu"] if cost else math.inf)
            if max(least.values()) < math.inf:
                rows[stage][str(path.relative_to(folder))] = least
    return rows


def figure_before(options, notes, cases, small):
    other = os.environ.get("BEFORE")
    if not other:
        notes.add("before: BEFORE names no compiler")
        return {}
    compilers = {"bindrune": compiler(), "before": other}
    found = {"rows": run_times(options, compilers, cases)}
    found["rows"] |= small_calls(options, compilers, small)
    folder = os.environ.get("BENCHMARKS")
    if folder:
        found["stages"] = stages(options, compilers, folder)
    else:
        notes.add("before: BENCHMARKS names no folder of programs")
    return found


def report_before(results):
    """The report's lines on this figure."""
    found = results.get("before")
    if not found:
        return []
    ratios = {name: row["ratio"] for name, row in found["rows"].items()}
    mean = math.exp(statistics.fmean(math.log(ratio) for ratio in ratios.values()))
    lowest = ", ".join(f"{name} {ratios[name]:.2f}" for name in sorted(ratios, key=ratios.get)[:5])
    lines = ["## Before and now", ""]
    lines.append(f"- run time, before over now: {len(ratios)} entries, geometric mean {mean:.3f}; least {lowest}")
    for stage, rows in found.get("stages", {}).items():
        ours, other = (sum(row[who] for row in rows.values()) for who in ("bindrune", "before"))
        worst = sorted(rows, key=lambda name: rows[name]["before"] - rows[name]["bindrune"])[:3]
        named = ", ".join(f"{n} {rows[n]['bindrune']:.2f}/{rows[n]['before']:.2f}" for n in worst)
        lines.append(
            f"- `{stage}`: {len(rows)} programs, {ours:.1f} s, before {other:.1f} s "
            f"({ours / max(other, 1e-9):.3f}); most more: {named}"
        )
    return [*lines, ""]
