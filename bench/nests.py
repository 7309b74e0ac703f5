"""Nested parallelism (`cases.py`) compared with the reference compiler: `nests` compares our times
with those of the fastest of its back ends, `scaling` two threads with one.

Each executable measures its own time. All peers run once to find the relevant ones; those slower
than the fastest peer by more than the factor `FAR` are not measured further. A ratio is the peer's
median over ours within one round; the median over the rounds is reported. If both threads of a
process start on one core, they may stay there; so `least` compares the best round of each.
"""

import argparse
import math
import statistics
import subprocess

from cases import cases
from contest import WORK, Contestant, build_bindrune, build_futhark, take_turns
from lanes import compiler
from values import agree, parse

PEERS = ["futhark c", "futhark multicore", "futhark ispc"]
FAR = 1.4
# The time limit of a process in seconds, longer if others take long; and the duration above which a
# round has a single run.
LIMIT = 20
LONG = 2.0
GAIN = {"compute": 1.8, "irregular": 1.6}


def executables(case, built, notes, peers=True):
    """The executables of the case's program, by contestant."""
    key = (case.path, peers)
    if key not in built:
        if peers:
            built[key] = build_futhark(case.path, f"nest-{case.program}", notes)
        else:
            built[key] = {"bindrune": build_bindrune(case.path, f"nest-{case.program}-bindrune")}
    return [Contestant(who, [exe, "-e", case.entry]) for who, exe in built[key].items()]


def once(contestant, data, limit):
    """The result of a run, and its microseconds by the executable's own clock; None if it fails
    or takes more than `limit` seconds."""
    times = WORK / "once"
    with open(data, "rb") as source:
        try:
            done = subprocess.run(
                [*contestant.command, "-b", "-t", times], stdin=source, capture_output=True, timeout=limit
            )
        except subprocess.TimeoutExpired:
            return None
    if done.returncode:
        return None
    return done.stdout, float(times.read_text().split()[-1])


def same(case, left, right):
    return left == right or agree(parse(left), parse(right), case.tolerance)


def is_known(case, result):
    """Returns true if a result agrees with that provided with the input, or if there is none."""
    known = case.known()
    if known is None:
        return True
    found = [x for values in parse(result) for x in values]
    close = [math.isclose(x, y, rel_tol=case.tolerance) for x, y in zip(found, known)]
    return len(found) == len(known) and all(close)


def turns(entrants, data, options, expected):
    """Medians of each round by contestant. `expected` microseconds determine the number of runs
    per process."""
    runs = 1 if expected > LONG * 1e6 else options.runs
    settings = argparse.Namespace(rounds=options.rounds, runs=runs)
    rounds = take_turns(entrants, data, settings)
    return {who: [statistics.median(times) for times in found] for who, found in rounds.items()}


def paired(theirs, ours):
    """The median over the rounds of their time over ours."""
    return statistics.median(a / max(b, 1) for a, b in zip(theirs, ours))


def compare(case, entrants, options, notes):
    """A row: times, the fastest peer and the ratio to it."""
    data, first = case.input(), {}
    for contestant in entrants:
        # Peers far behind the others are irrelevant; Bindrune always runs.
        others = min((time for _, time in first.values()), default=math.inf) / 1e6
        found = once(contestant, data, LIMIT + 10 * others if others < math.inf else None)
        if found is None:
            notes.add(f"{case.name}: {contestant.name} fails or takes too long")
        else:
            first[contestant.name] = found
    if "bindrune" not in first:
        return {"agree": False}
    results = {who: result for who, (result, _) in first.items()}
    wrong = [who for who, result in results.items() if not same(case, results["bindrune"], result)]
    if wrong:
        notes.add(f"{case.name}: {', '.join(wrong)} and bindrune disagree")
    if not is_known(case, results["bindrune"]):
        notes.add(f"{case.name}: bindrune's result is not the one beside the input")
        wrong.append("bindrune")
    times = {who: time for who, (_, time) in first.items()}
    least = min((times[who] for who in times if who in PEERS), default=math.inf)
    near = [c for c in entrants if c.name == "bindrune" or times.get(c.name, math.inf) <= FAR * least]
    rounds = turns(near, data, options, max(times[c.name] for c in near))
    row = {"microseconds": times | {who: statistics.median(found) for who, found in rounds.items()}}
    peers = [who for who in rounds if who != "bindrune"]
    if peers:
        ratios = {who: paired(rounds[who], rounds["bindrune"]) for who in peers}
        row["peer"] = min(ratios, key=ratios.get)
        row["ratio"] = ratios[row["peer"]]
        row["least"] = min(min(rounds[who]) for who in peers) / max(min(rounds["bindrune"]), 1)
    return row | {"agree": not wrong}


def listed(options, notes, wanted=lambda _: True):
    """The requested cases with available inputs."""
    for case in filter(wanted, cases(options.case)):
        if case.input():
            yield case
        else:
            notes.add(f"{case.name}: the input is not at hand (DATA names its folder)")


def figure_nests(options, notes):
    """Our times compared with those of the fastest peer."""
    if not compiler():
        notes.add("bindrune is not built")
        return {"rows": {}, "agree": True}
    built, rows = {}, {}
    for case in listed(options, notes):
        rows[case.name] = compare(case, executables(case, built, notes), options, notes)
        case.forget()
        print(case.name, brief(rows[case.name]), flush=True)
    return {"rows": rows, "agree": all(row["agree"] for row in rows.values())}


def brief(row):
    """The one-line form of a row."""
    return " ".join(f"{who} {value:.0f}" for who, value in row.get("microseconds", {}).items()) + (
        f": {row['ratio']:.2f} of {row['peer']}, least {row['least']:.2f}" if "ratio" in row else ""
    )


def figure_scaling(options, notes):
    """Two threads compared with one, for the nests that can gain."""
    if not compiler():
        notes.add("bindrune is not built")
        return {"rows": {}}
    built, rows = {}, {}
    for case in listed(options, notes, lambda case: case.bound):
        (ours,) = executables(case, built, notes, peers=False)
        entrants = [Contestant(str(n), [*ours.command, "--num-threads", str(n)]) for n in (1, 2)]
        found = once(entrants[0], case.input(), None)
        if found is None:
            notes.add(f"{case.name}: fails on one thread")
            continue
        rounds = turns(entrants, case.input(), options, found[1])
        rows[case.name] = {
            "one": statistics.median(rounds["1"]), "two": statistics.median(rounds["2"]),
            "gain": paired(rounds["1"], rounds["2"]), "least": min(rounds["1"]) / min(rounds["2"]),
            "wanted": GAIN[case.bound],
        }
        case.forget()
        print(case.name, {key: round(value, 2) for key, value in rows[case.name].items()}, flush=True)
    return {"rows": rows}


def report_nests(results):
    """The report's lines on this module's figures."""
    lines = []
    if results.get("nests", {}).get("rows"):
        rows = results["nests"]["rows"]
        names = ["bindrune", *PEERS]
        lines += ["## Nested parallelism", "", "| µs | " + " | ".join(names) + " | ratio | least |"]
        lines.append("|---|" + "---:|" * (len(names) + 2))
        for name, row in rows.items():
            times = [f"{row['microseconds'][n]:.0f}" if n in row.get("microseconds", {}) else "" for n in names]
            ratios = " | ".join(f"{row.get(key, math.nan):.2f}" for key in ("ratio", "least"))
            lines.append(f"| {name} | " + " | ".join(times) + f" | {ratios} |")
        ratios = {name: row["ratio"] for name, row in rows.items() if "ratio" in row}
        if ratios:
            mean = math.exp(statistics.fmean(map(math.log, ratios.values())))
            low = sorted((name for name in ratios if ratios[name] < 1), key=ratios.get)
            lines += ["", f"Ratio: the fastest peer to bindrune. Geometric mean {mean:.2f}; below 1: " + (
                ", ".join(f"{name} {ratios[name]:.2f}" for name in low) or "none") + "."]
        lines.append("")
    if results.get("scaling", {}).get("rows"):
        lines += ["## Two threads", "", "| µs | one | two | gain | least | wanted |", "|---|---:|---:|---:|---:|---:|"]
        for name, row in results["scaling"]["rows"].items():
            lines.append(
                f"| {name} | {row['one']:.0f} | {row['two']:.0f} | {row['gain']:.2f} | {row['least']:.2f} | {row['wanted']} |"
            )
        lines.append("")
    return lines
