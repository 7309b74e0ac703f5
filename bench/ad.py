"""The figure `ad`: derivatives and their primals in Bindrune, the reference compiler, JAX and GradBench's C++."""

import math
import random
import statistics
import time

from ad_cases import CASES, GROUPS
from ad_peers import ALL_THREADS, ONE_THREAD, Failure, Library, executables, gradbench, libraries
from harness import WORK, compiler
from results import geometric_mean, number, table
from users import WARM, agree_loosely

ENTRIES = ["primal", "derivative"]
IMPLEMENTATIONS = [
    ONE_THREAD, ALL_THREADS, "futhark c", "futhark multicore", "futhark ispc", "C++ by hand", "Tapenade", "JAX, 1 core",
    "JAX",
]
FASTEST = "the fastest peer"
# The microseconds that the measured runs of a process may take.
BUDGET = 500_000
# Of longer results, every 97th element is compared, and the extreme ones.
COMPARED = 1_000_000


def thinned(values):
    """The elements of an array that are compared."""
    return values if len(values) <= COMPARED else [*values[::97], min(values), max(values)]


def results_agree(left, right, tolerance):
    """Equality of arrays up to the tolerance, relative to the greatest element of an array."""
    return left == right or (
        [len(each) for each in left] == [len(each) for each in right]
        and agree_loosely([*map(thinned, left)], [*map(thinned, right)], tolerance)
    )


def first_runs(name, entry, implementations, data, warnings):
    """Microseconds of a run by implementation, if it has the entry point, and true if all results agree."""
    case, found, expected, good = CASES[name], {}, None, True
    for each in implementations:
        try:
            measured = each.run(case, entry, data, 1)
        except Failure as failure:
            warnings.add(f"{name}: the {entry} of {each.name} {failure}")
            continue
        if measured is None:
            continue
        found[each], results = measured[0][0], measured[1]
        expected = expected or results
        if not results_agree(expected, results, case.tolerance):
            warnings.add(f"{name}: the {entry} of {each.name} is not that of {next(iter(found)).name}")
            good = False
    return found, good


def timed(implementation, name, entry, data, options, expected):
    """Microseconds of the runs of a round, after runs that wake threads; `expected` is the time of a run."""
    before = math.ceil(WARM / expected) if expected < WARM else 0
    runs = max(1, min(options.runs, int(BUDGET / expected)))
    return implementation.run(CASES[name], entry, data, before + runs)[0][before:]


def measure(name, implementations, data, options, warnings):
    """Medians of the primal and the derivative by implementation, and true if all results agree."""
    expected, good = {}, True
    for entry in ENTRIES:
        found, same = first_runs(name, entry, implementations, data, warnings)
        expected |= {(each, entry): time for each, time in found.items()}
        good &= same
    samples = {key: [] for key in expected}
    for i in range(options.rounds):
        for each, entry in list(expected)[::-1 if i % 2 else 1]:
            samples[each, entry] += timed(each, name, entry, data, options, expected[each, entry])
    row = {}
    for (each, entry), times in samples.items():
        row.setdefault(each.name, {})[entry] = statistics.median(times)
    return row, good


def figure_ad(options, warnings):
    """Times of primals and derivatives, implementations alternating."""
    if not compiler():
        warnings.add("bindrune is not built")
        return {"microseconds": {}, "agree": True}
    peers, built, rows, good = [*gradbench(warnings), *libraries(warnings)], {}, {}, True
    selected = {name: case for name, case in CASES.items() if options.case in name}
    end = time.perf_counter() + options.seconds
    for name, case in selected.items():
        if time.perf_counter() > end:
            break
        if case.program not in built:
            built[case.program] = executables(case.program, warnings)
        data, source = WORK / "ad.in", random.Random(name)
        data.write_bytes(b"".join(argument(source) for argument in case.arguments))
        rows[name], same = measure(name, [*built[case.program], *peers], data, options, warnings)
        good &= same
        print(name, *(f"{impl} {brief(times)}" for impl, times in rows[name].items()), sep="; ", flush=True)
        data.unlink()
    for each in peers:
        if isinstance(each, Library):
            each.close()
    return {"microseconds": rows, "agree": good, "complete": len(rows) == len(selected)}


def brief(times):
    """Milliseconds of primal and derivative, and their ratio."""
    found = [times[entry] / 1e3 if entry in times else None for entry in ENTRIES]
    shown = ["-" if each is None else number(each, 3 if each < 1 else 1) for each in found]
    return " / ".join(shown) + (f" ({number(overhead(times), 1)})" if overhead(times) else "")


def overhead(times):
    """The derivative's time over the primal's, or None."""
    return times["derivative"] / times["primal"] if all(entry in times for entry in ENTRIES) else None


def derivative(row, impl):
    """The time of an implementation's derivative in a row, or None."""
    return row.get(impl, {}).get("derivative")


def over_ours(rows, impl):
    """The derivative's times of a peer, or of Bindrune on all threads, over those of Bindrune on one, by row."""
    return {
        name: derivative(row, impl) / derivative(row, ONE_THREAD) for name, row in rows.items()
        if derivative(row, impl) and derivative(row, ONE_THREAD)
    }


def fastest_peers(rows):
    """The rows with the fastest peer's derivative as those of one implementation."""
    found = {}
    for name, row in rows.items():
        times = [derivative(row, impl) for impl in row if impl not in (ONE_THREAD, ALL_THREADS)]
        times = [time for time in times if time]
        if times and ONE_THREAD in row:
            found[name] = {ONE_THREAD: row[ONE_THREAD], FASTEST: {"derivative": min(times)}}
    return found


def mean_cells(ratios, extremes):
    """The geometric mean of named ratios, and the least or greatest ones (`extremes`) with their names."""
    if not ratios:
        return ["", *("" for _ in extremes)]
    names = [extreme(ratios, key=ratios.get) for extreme in extremes]
    return [number(geometric_mean(ratios.values())), *(f"{number(ratios[name])} {name}" for name in names)]


def report_means(rows, impls):
    """The lines of a table of geometric means by implementation."""
    cells = []
    for impl in [*impls, FASTEST]:
        compared = fastest_peers(rows) if impl == FASTEST else rows
        overheads = {name: overhead(row[impl]) for name, row in compared.items() if overhead(row.get(impl, {}))}
        ratios = over_ours(compared, impl) if impl != ONE_THREAD else {}
        count = len(overheads) or len(ratios)
        cells.append([impl, str(count), *mean_cells(overheads, [max]), *mean_cells(ratios, [min, max])])
    heads = ["geometric mean", "rows", "over primal", "most", f"over {ONE_THREAD}", "least", "greatest"]
    return table(heads, cells, left=("most", "least", "greatest"))


def report_group(title, rows):
    """The lines on a group of rows: times and geometric means."""
    impls = [impl for impl in IMPLEMENTATIONS if any(impl in row for row in rows.values())]
    cells = [[name, *(brief(row[impl]) if impl in row else "" for impl in impls)] for name, row in rows.items()]
    return [*table([title, *impls], cells), "", *report_means(rows, impls)]


def report_ad(figure):
    """The report's lines on this figure."""
    lines = [
        "Milliseconds of primal / derivative (derivative over primal). The second table of a group has geometric "
        "means: of derivative over primal, and of an implementation's derivative over that of Bindrune on one thread.",
        "",
    ]
    for title, cases in GROUPS.items():
        rows = {name: figure["microseconds"][name] for name in cases if figure["microseconds"].get(name)}
        if rows:
            lines += [*report_group(title, rows), ""]
    return lines[:-1]
