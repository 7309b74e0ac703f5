#!/usr/bin/env python3
"""Measures Bindrune against C by hand, the reference compiler and other peers.

    python3 bench/run.py                       all figures
    python3 bench/run.py mini --only mssp      one figure, one benchmark
    python3 bench/run.py mini --rounds 9
    python3 bench/run.py render                write RESULTS.md from the stored results

README.md describes the figures. A run of a figure writes results/FIGURE.json and RESULTS.md; a run
of part of a figure (--quick, --only, --case, other sizes, or out of --seconds) writes into
build/bench/results and leaves these as they are. Missing peers are left out and reported. Needs gcc with OpenMP and
nothing outside Python's standard library. Environment: BINDRUNE (default build/bindrune), FUTHARK
(default: found in PATH), CC (default gcc), NVCC (default nvcc), BASELINE (another Bindrune), and
the folders BENCHMARKS, DATA, GRADBENCH and PREBUILT.

Exits 1 if implementations disagree on a result.
"""

import argparse
import math
import os
import shlex
import statistics
import sys
import time
from dataclasses import dataclass
from typing import Callable

import results as store
from ablation import figure_ablation, report_ablation
from ad import figure_ad, report_ad
from baseline import figure_baseline, programs_of_figures, report_baseline
from basis import BASIS, BASIS_ENTRIES, figure_basis
from builds import figure_builds, figure_generated, report_builds, report_generated
from checks import figure_checks, report_checks
from exhaustive import figure_tuned, report_tuned
from forced import figure_forced, report_forced
from gpu import DEVICES, chart, figure_gpu, report_gpu
from harness import (
    CFLAGS,
    HERE,
    ROOT,
    WORK,
    all_implementations,
    build_all,
    compiler,
    find_program,
    run_checked,
)
from irregular import figure_irregular, report_irregular
from lanes import figure_functions, figure_growth, figure_lanes, report_functions, report_growth, report_lanes
from levels import figure_levels, programs, report_levels
from memory_peaks import figure_peaks, report_peaks
from middle import figure_kernels, figure_middle, report_kernels, report_middle
from mini import BENCHMARKS, MINI, data_file, figure_mini, figure_small
from nests import figure_nests, figure_scaling, report_nests, report_scaling
from reference import figure_reference, report_reference
from results import number, summary, table
from roofline import figure_roofline, report_roofline
from rows import figure_rows
from users import PEERS as LIBRARIES, figure_users
from users_cases import MAIN
from values import random_i32s

sys.path.insert(0, str(HERE / "machine"))
from machine import compare, measure  # noqa: E402

TRIVIAL = "entry main (x: i32) : i32 = x + 1\n"
# Old names of figures.
RENAMED = {"before": "baseline"}
# Options of runs of whole figures.
COMPLETE = {"--rounds", "--runs", "--seconds", "--backend"}
# Environment variables that are part of a figure's command.
VARIABLES = {
    "builds": ["BASELINE", "BENCHMARKS"], "baseline": ["BASELINE", "BENCHMARKS"], "checks": ["BASELINE", "BENCHMARKS"],
    "nests": ["DATA"], "roofline": ["DATA"], "forced": ["DATA"], "scaling": ["DATA"], "tuned": ["DATA"],
    "middle": ["BENCHMARKS"], "kernels": ["BENCHMARKS"], "reference": ["BENCHMARKS", "DATA"], "gpu": ["DATA", "PREBUILT"],
    "ad": ["GRADBENCH"],
}


def median_wall_time(command, repeats, **options):
    """Median wall time in seconds of a command over several processes."""
    samples = []
    for _ in range(repeats):
        start = time.perf_counter()
        run_checked(command, **options)
        samples.append(time.perf_counter() - start)
    return statistics.median(samples)


def program_of_300_lines():
    """Writes a file of 300 lines of code from the mini-benchmarks and test programs."""
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


def figure_check(_options, _warnings):
    """Seconds of `check`."""
    path, lines = program_of_300_lines()
    futhark, row = find_program("FUTHARK", "futhark"), {}
    if compiler():
        row["bindrune"] = median_wall_time([compiler(), "check", path], 20)
    if futhark:
        row["futhark"] = median_wall_time([futhark, "check", path], 3)
    return {"lines": lines, "seconds": row}


def figure_build(_options, _warnings):
    """Seconds of `build`."""
    futhark, row, out = find_program("FUTHARK", "futhark"), {}, WORK / "timed"
    if compiler():
        row["bindrune"] = median_wall_time([compiler(), "build", MINI, "-o", out], 5)
    if futhark:
        env = {**os.environ, "CFLAGS": CFLAGS}
        for backend in ["c", "multicore"]:
            row[f"futhark {backend}"] = median_wall_time([futhark, backend, MINI, "-o", out], 1, env=env)
    return {"seconds": row}


def figure_startup(_options, warnings):
    """Wall time of a process that adds 1 to a number."""
    path = WORK / "trivial.fut"
    path.write_text(TRIVIAL)
    built = build_all(path, "trivial", warnings)
    return {"seconds": {impl: median_wall_time([exe], 50, input=b"41") for impl, exe in built.items()}}


def figure_memory(options, warnings):
    """Peak memory of reduce_plus over 10^8 integers relative to the file's size."""
    data = WORK / f"memory-{options.memory_size}.in"
    data.write_bytes(random_i32s(options.memory_size, "memory"))
    size, row = data.stat().st_size, {}
    for each in all_implementations("reduce_plus", build_all(MINI, "mini", warnings)):
        command = [sys.executable, HERE / "peak_memory.py", data, *each.command, "-b"]
        row[each.name] = int(run_checked(command)) / size
    data.unlink()
    return {"file_bytes": size, "peak_to_file": row}


def figure_cycles(_options, warnings):
    """Cycles of the vector units, and the nearest microarchitecture of the compiler's table."""
    cycles = measure()
    if "fma_f64_y" not in cycles:
        warnings.add("without AVX2 the machine cannot be compared with the table of microarchitectures")
        return {"cycles": cycles}
    _, _, nearest = compare(cycles)
    print("machine", cycles, nearest, flush=True)
    return {"cycles": cycles, "nearest": nearest}


def figure_of_levels(options, warnings):
    """Code for several processor levels."""
    if not compiler():
        warnings.add("bindrune is not built")
        return {"microseconds": {}, "agree": True}
    return figure_levels(options, warnings, programs(MINI, options.only, data_file))


def figure_of_baseline(options, warnings):
    """This compiler compared with the one in BASELINE."""
    cases = programs_of_figures(MINI, options.only, data_file, BASIS, BASIS_ENTRIES)
    small = [(name, MINI, data_file(name, 10_000)) for name in options.only]
    return figure_baseline(options, warnings, cases, small)


def figure_of_fusion(options, warnings):
    """Run times with and without fusion."""
    return figure_ablation(options, warnings, MINI, data_file)


def ratios(figure, peers):
    """The fastest peer's time over Bindrune's, for the rows that have both."""
    if "ratios" in figure:
        return figure["ratios"]
    found = {}
    for name, row in figure["microseconds"].items():
        others = [row[peer] for peer in peers if peer in row]
        if "bindrune" in row and others:
            found[name] = min(others) / row["bindrune"]
    return found


def report_times(figure, peers):
    """A table of run times with the ratio to the fastest of `peers`."""
    rows = figure["microseconds"]
    names = list(dict.fromkeys(impl for row in rows.values() for impl in row))
    found = ratios(figure, peers)
    cells = [
        [name, *(number(row.get(impl), 1) for impl in names), *([number(found.get(name))] if peers else [])]
        for name, row in rows.items()
    ]
    lines = table(["µs", *names, *(["ratio"] if peers else [])], cells)
    if found:
        fastest = peers[0] if len(peers) == 1 else f"the fastest of {', '.join(f'`{peer}`' for peer in peers)}"
        lines += ["", f"Ratio: {fastest} over Bindrune; {summary(found)}."]
    return lines


def report_mini(figure):
    peers = ["futhark c", "futhark multicore"]
    lines = [f"{figure['elements']:,} elements.", "", *report_times(figure, peers)]
    if "futhark ispc" in next(iter(figure["microseconds"].values()), {}):
        lines.append(f"With `futhark ispc` among the peers: {summary(ratios(figure, [*peers, 'futhark ispc']))}.")
    return lines


def report_small(figure):
    return [f"{figure['calls']:,} calls with {figure['elements']:,} elements each.", "", *report_times(figure, ["C"])]


def report_basis(figure):
    return [f"{figure['elements']:,} elements.", "", *report_times(figure, [])]


def report_users(figure):
    lines = report_times(figure, LIBRARIES)
    main = {name: ratio for name, ratio in ratios(figure, LIBRARIES).items() if name in MAIN}
    if main:
        lines += ["", f"Over {len(main)} of the {len(MAIN)} programs of the goal: {summary(main)}."]
    speeds = ", ".join(f"{name} {number(speed)}" for name, speed in figure["gflops"].items())
    return [*lines, "", f"Operations per nanosecond: {speeds}."] if speeds else lines


def report_rows(figure):
    return report_times(figure, ["futhark c", "futhark multicore"])


def report_numbers(key, unit, scale):
    """A report with one number per implementation."""
    def report(figure):
        return table(["", unit], [[impl, number(value * scale)] for impl, value in figure[key].items()])

    return report


def report_cycles(figure):
    cells = [[f"`{name}`", number(cycles)] for name, cycles in figure["cycles"].items()]
    lines = table(["operation", "cycles"], cells)
    return lines + (["", f"The nearest microarchitecture is `{figure['nearest']}`."] if "nearest" in figure else [])


@dataclass
class Figure:
    """A function that measures, one that returns the lines of the report, a title, and a function
    that returns a chart as SVG, or None."""

    measure: Callable
    report: Callable
    title: str
    chart: Callable | None = None


FIGURES = {
    "mini": Figure(figure_mini, report_mini, "The nine mini-benchmarks"),
    "small": Figure(figure_small, report_small, "The mini-benchmarks on small inputs"),
    "basis": Figure(figure_basis, report_basis, "Library functions written in Futhark and built-in ones"),
    "users": Figure(figure_users, report_users, "Programs as users write them"),
    "ad": Figure(figure_ad, report_ad, "Derivatives and their primals"),
    "rows": Figure(figure_rows, report_rows, "Reductions along the rows and columns of matrices of 32 MB"),
    "lanes": Figure(figure_lanes, report_lanes, "Programs with and without vector lanes"),
    "functions": Figure(figure_functions, report_functions, "Mathematical functions on one core"),
    "growth": Figure(figure_growth, report_growth, "The cost of vector lanes in compile time"),
    "check": Figure(figure_check, report_numbers("seconds", "ms", 1e3), "`check` of a program of 300 lines"),
    "build": Figure(figure_build, report_numbers("seconds", "s", 1), "`build` of `programs/mini.fut`"),
    "startup": Figure(figure_startup, report_numbers("seconds", "ms", 1e3), "A process that adds 1 to a number"),
    "memory": Figure(
        figure_memory, report_numbers("peak_to_file", "peak over the file's size", 1), "Peak memory of `reduce_plus`"
    ),
    "peaks": Figure(figure_peaks, report_peaks, "Peak memory of the programs of `users`"),
    "cycles": Figure(figure_cycles, report_cycles, "Reciprocal throughput of vector operations"),
    "generated": Figure(figure_generated, report_generated, "Builds of generated programs"),
    "builds": Figure(figure_builds, report_builds, "Builds of the programs of `futhark-benchmarks`"),
    "levels": Figure(figure_of_levels, report_levels, "Code for several processor levels on one core"),
    "baseline": Figure(figure_of_baseline, report_baseline, "This compiler and a baseline"),
    "checks": Figure(figure_checks, report_checks, "Checks left in parallel loops"),
    "roofline": Figure(figure_roofline, report_roofline, "Nests as shares of the machine's peaks"),
    "ablation": Figure(figure_of_fusion, report_ablation, "Programs with and without fusion"),
    "nests": Figure(figure_nests, report_nests, "Nested parallelism"),
    "irregular": Figure(figure_irregular, report_irregular, "Irregular nests and their sequential variants"),
    "forced": Figure(figure_forced, report_forced, "The version that default thresholds choose and the best one"),
    "scaling": Figure(figure_scaling, report_scaling, "Two threads and one"),
    "middle": Figure(figure_middle, report_middle, "Time and growth of the middle end"),
    "kernels": Figure(figure_kernels, report_kernels, "Time of all passes up to kernels"),
    "reference": Figure(figure_reference, report_reference, "The reference compiler's benchmark programs"),
    "tuned": Figure(figure_tuned, report_tuned, "The tuner and exhaustive search"),
    "gpu": Figure(figure_gpu, report_gpu, "Programs on a device", chart),
}


def settings_of(action, value):
    """The words of an option on the command line."""
    flag = action.option_strings[0]
    if value is True:
        return [flag]
    return [word for each in (value if isinstance(value, list) else [value]) for word in (flag, shlex.quote(str(each)))]


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("figures", nargs="*", help=f"{' '.join(FIGURES)} (default: all), or render")
    flags = []

    def flag(name, **settings):
        flags.append(parser.add_argument(name, **settings))

    flag("--only", action="append", choices=BENCHMARKS, help="one of the mini-benchmarks")
    flag("--case", default="", metavar="TEXT", help="only the cases with this in the name")
    flag("--seconds", type=float, default=math.inf, help="begin no case after this long")
    flag("--quick", action="store_true", help="one round of three runs, to test the benchmarks")
    flag("--rounds", type=int, default=5, help="rounds in which implementations alternate")
    flag("--runs", type=int, default=10, help="runs of each implementation in a round")
    flag("--size", type=int, default=10_000_000, help="elements in `mini` and `ablation`")
    flag("--calls", type=int, default=10_000, help="calls in `small`")
    flag("--backend", choices=DEVICES, help="devices of `gpu` (default cuda) and `reference` (default none)")
    flag("--memory-size", type=int, default=100_000_000, help="elements in `memory`")
    parser.add_argument("--label", default="", help="write results/FIGURE-LABEL.json, for another machine")
    options = parser.parse_args()
    for old, new in RENAMED.items():
        if old in options.figures:
            print(f"warning: the figure `{old}` is now `{new}`", file=sys.stderr)
            options.figures = [new if name == old else name for name in options.figures]
    unknown = set(options.figures) - set(FIGURES) - {"render"}
    if unknown:
        parser.error(f"no such figure: {' '.join(sorted(unknown))}")
    if "render" in options.figures and len(options.figures) > 1:
        parser.error("render takes no figures")
    options.figures = options.figures or list(FIGURES)
    options.settings = [
        word for action in flags if (value := getattr(options, action.dest)) != action.default
        for word in settings_of(action, value)
    ]
    options.partial = not {word for word in options.settings if word.startswith("--")} <= COMPLETE
    options.only = options.only or BENCHMARKS
    if options.quick:
        options.rounds, options.runs = 1, 3
    return options


def command(figure, settings):
    """The command that measures a figure again; folders and compilers are placeholders."""
    variables = [f"{name}=..." for name in VARIABLES.get(figure, ()) if os.environ.get(name)]
    return " ".join([*variables, "python3 bench/run.py", figure, *settings])


def label_of(figure, options):
    """The label of the results: that of the user, or a backend other than the figure's default."""
    backend = options.backend if figure in ("gpu", "reference") else None
    return options.label or (backend if backend and (figure, backend) != ("gpu", DEVICES[0]) else "")


def measure_figure(name, options):
    """Measures a figure and writes its results. Returns true if all results agree."""
    warnings, load = set(), os.getloadavg()[0]
    found = FIGURES[name].measure(options, warnings)
    agree, complete = found.pop("agree", True), found.pop("complete", True)
    data = store.record(name, label_of(name, options), command(name, options.settings), load, found, warnings)
    empty = not any(isinstance(value, dict) and value for value in found.values())
    if empty:
        print(f"{name}: nothing was measured", *(f"- {each}" for each in sorted(warnings)), sep="\n", flush=True)
        return agree
    print("\n".join(store.section(data, FIGURES[name])), flush=True)
    path = store.save(data, complete and agree and not options.partial)
    print(f"{name}: the results are in {path}", flush=True)
    return agree


def main():
    options = parse_arguments()
    if options.figures == ["render"]:
        store.render(FIGURES)
        return 0
    WORK.mkdir(parents=True, exist_ok=True)
    agree = True
    for name in options.figures:
        agree &= measure_figure(name, options)
        store.render(FIGURES)
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
