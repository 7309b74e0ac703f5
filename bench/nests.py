"""Nested parallelism (`cases.py`): `nests` compares Bindrune with the fastest back end of the
reference compiler, `scaling` two threads with one.

Each executable measures its own time. All peers run once to find the relevant ones; those slower
than the fastest peer by more than the factor `FAR` are not measured further. A ratio is the peer's
median over Bindrune's within one round; the median over the rounds is reported. If both threads of
a process start on one core, they may stay there; so `least` compares the best round of each.
"""

import argparse
import math
import statistics
import subprocess

from cases import cases
from harness import WORK, Implementation, build_all, build_bindrune, compiler, interleave
from results import geometric_mean, number, table
from values import agree, parse

PEERS = ["futhark c", "futhark multicore", "futhark ispc"]
FAR = 1.4
# The time limit of a process in seconds, longer if others take long; and the duration above which a
# round has a single run.
LIMIT = 20
LONG = 2.0
# The goals for the gain from a second thread.
GAIN = {"compute": 1.8, "irregular": 1.6}


def executables(case, built, warnings, peers=True):
    """The implementations of the case; those of a program are built once and kept in `built`."""
    key = (case.path, peers)
    if key not in built:
        if peers:
            built[key] = build_all(case.path, f"nest-{case.program}", warnings)
        else:
            built[key] = {"bindrune": build_bindrune(case.path, f"nest-{case.program}-bindrune")}
    return [Implementation(impl, [exe, "-e", case.entry]) for impl, exe in built[key].items()]


def run_once(implementation, data, limit):
    """The result of a run, and its microseconds by the executable's own clock; None if it fails
    or takes more than `limit` seconds."""
    times = WORK / "once"
    with open(data, "rb") as source:
        try:
            done = subprocess.run(
                [*implementation.command, "-b", "-t", times], stdin=source, capture_output=True, timeout=limit
            )
        except subprocess.TimeoutExpired:
            return None
    if done.returncode:
        return None
    return done.stdout, float(times.read_text().split()[-1])


def results_agree(case, left, right):
    """Returns true if results are equal, floats within the case's tolerance."""
    return left == right or agree(parse(left), parse(right), case.tolerance)


def matches_expected(case, result):
    """Returns true if a result agrees with that provided with the input, or if there is none."""
    known = case.expected_results()
    if known is None:
        return True
    found = [x for values in parse(result) for x in values]
    close = [math.isclose(x, y, rel_tol=case.tolerance) for x, y in zip(found, known)]
    return len(found) == len(known) and all(close)


def round_medians(implementations, data, options, expected):
    """Medians of each round by implementation. `expected`, a run's microseconds, determines the
    number of runs per process."""
    runs = 1 if expected > LONG * 1e6 else options.runs
    settings = argparse.Namespace(rounds=options.rounds, runs=runs)
    rounds = interleave(implementations, data, settings)
    return {impl: [statistics.median(times) for times in found] for impl, found in rounds.items()}


def median_ratio(numerators, denominators):
    """The median over the rounds of the ratio of two times."""
    return statistics.median(a / max(b, 1) for a, b in zip(numerators, denominators))


def compare(case, implementations, options, warnings):
    """A row: times, the fastest peer and the ratio to it."""
    data, first = case.input(), {}
    for each in implementations:
        # Peers far behind the others are irrelevant; Bindrune always runs.
        others = min((time for _, time in first.values()), default=math.inf) / 1e6
        found = run_once(each, data, LIMIT + 10 * others if others < math.inf else None)
        if found is None:
            warnings.add(f"{case.name}: {each.name} fails or takes too long")
        else:
            first[each.name] = found
    if "bindrune" not in first:
        return {"agree": False}
    results = {impl: result for impl, (result, _) in first.items()}
    wrong = [impl for impl, result in results.items() if not results_agree(case, results["bindrune"], result)]
    if wrong:
        warnings.add(f"{case.name}: {', '.join(wrong)} and bindrune disagree")
    if not matches_expected(case, results["bindrune"]):
        warnings.add(f"{case.name}: bindrune's result differs from the one provided with the input")
        wrong.append("bindrune")
    times = {impl: time for impl, (_, time) in first.items()}
    least = min((times[impl] for impl in times if impl in PEERS), default=math.inf)
    near = [
        each for each in implementations
        if each.name == "bindrune" or times.get(each.name, math.inf) <= FAR * least
    ]
    rounds = round_medians(near, data, options, max(times[each.name] for each in near))
    row = {"microseconds": times | {impl: statistics.median(found) for impl, found in rounds.items()}}
    peers = [impl for impl in rounds if impl != "bindrune"]
    if peers:
        ratios = {impl: median_ratio(rounds[impl], rounds["bindrune"]) for impl in peers}
        row["peer"] = min(ratios, key=ratios.get)
        row["ratio"] = ratios[row["peer"]]
        row["least"] = min(min(rounds[impl]) for impl in peers) / max(min(rounds["bindrune"]), 1)
    return row | {"agree": not wrong}


def selected_cases(options, warnings, predicate=lambda _: True):
    """The requested cases with available inputs."""
    for case in filter(predicate, cases(options.case)):
        if case.input():
            yield case
        else:
            warnings.add(f"{case.name}: the input is not available (DATA names its folder)")


def figure_nests(options, warnings):
    """Times of Bindrune and of the fastest peers."""
    if not compiler():
        warnings.add("bindrune is not built")
        return {"rows": {}, "agree": True}
    built, rows = {}, {}
    for case in selected_cases(options, warnings):
        rows[case.name] = compare(case, executables(case, built, warnings), options, warnings)
        case.delete_input()
        print(case.name, brief(rows[case.name]), flush=True)
    return {"rows": rows, "agree": all(row["agree"] for row in rows.values())}


def brief(row):
    """The one-line form of a row."""
    return " ".join(f"{impl} {value:.0f}" for impl, value in row.get("microseconds", {}).items()) + (
        f": {row['ratio']:.2f} to {row['peer']}, of the best rounds {row['least']:.2f}" if "ratio" in row else ""
    )


def figure_scaling(options, warnings):
    """Two threads compared with one, for the cases with a goal."""
    if not compiler():
        warnings.add("bindrune is not built")
        return {"rows": {}}
    built, rows = {}, {}
    for case in selected_cases(options, warnings, lambda case: case.scaling):
        (ours,) = executables(case, built, warnings, peers=False)
        implementations = [Implementation(str(n), [*ours.command, "--num-threads", str(n)]) for n in (1, 2)]
        found = run_once(implementations[0], case.input(), None)
        if found is None:
            warnings.add(f"{case.name}: fails on one thread")
            continue
        rounds = round_medians(implementations, case.input(), options, found[1])
        rows[case.name] = {
            "one": statistics.median(rounds["1"]), "two": statistics.median(rounds["2"]),
            "gain": median_ratio(rounds["1"], rounds["2"]), "least": min(rounds["1"]) / min(rounds["2"]),
            "goal": GAIN[case.scaling],
        }
        case.delete_input()
        print(case.name, {key: round(value, 2) for key, value in rows[case.name].items()}, flush=True)
    return {"rows": rows}


def report_nests(figure):
    """The report's lines on run times."""
    cells = []
    for name, row in figure["rows"].items():
        times = row.get("microseconds", {})
        shown = [number(times.get(impl), 0) for impl in ("bindrune", *PEERS)]
        cells.append([name, *shown, number(row.get("ratio")), number(row.get("least"))])
    lines = table(["µs", "bindrune", *PEERS, "ratio", "of the best rounds"], cells)
    ratios = {name: row["ratio"] for name, row in figure["rows"].items() if "ratio" in row}
    if ratios:
        low = sorted((name for name in ratios if ratios[name] < 1), key=ratios.get)
        below = ", ".join(f"{name} {ratios[name]:.2f}" for name in low) or "none"
        mean = geometric_mean(ratios.values())
        lines += [
            "", f"Ratio: the fastest peer over Bindrune; geometric mean {mean:.2f} of {len(ratios)} cases; "
            f"below 1: {below}.",
        ]
    return lines


def report_scaling(figure):
    """The report's lines on two threads."""
    cells = [
        [
            name, number(row["one"], 0), number(row["two"], 0), number(row["gain"]), number(row.get("least")),
            str(row["goal"]),
        ]
        for name, row in figure["rows"].items()
    ]
    return table(["µs", "one thread", "two threads", "gain", "of the best rounds", "goal"], cells)
