"""Compares the tuner with all settings. `tuned` runs every path of each data set, computes the best
thresholds from the times, and compares them with those that `bindrune tune` finds, with its number
of runs, and with the number that a blind search needs.

A path is identified by its comparisons. From each path run, those are derived that differ in one
comparison and agree in all earlier ones; so every path runs once, for any trees. Paths that lead to
the same versions are merged, with the median of their times. A path holds for an interval of each
parameter; the best setting is the cheapest point in an intersection of paths, one per data set
(branch and bound).

The tuner runs once for thresholds only, which corresponds to all settings, and once with the grain
sizes of tasks: `sizes` is the additional gain, with the additional time.

All runs are stored in `build/bench/tuned.json` immediately, so that the figure can be measured in
parts (`--case`, `--seconds`) when the machine is quiet. Another compiler invalidates them.
"""

import json
import math
import random
import statistics
import subprocess
import time
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from cases import Case, cases, products, segments, traps
from contest import WORK, Contestant, build_bindrune, shell, timed_runs
from forced import COMPARED, LIMIT, outcomes, reached
from kept import Kept
from lanes import compiler
from nests import turns
from papers import volatility
from tuned import BUDGET, DRAWS, FOLDER, GREATEST, NOISE, with_cases
from values import matrix

KEPT = WORK / "tuned.json"
# The most paths of a data set in the comparison with all settings.
MOST_PATHS = 150
RANDOM = 20
# Paths shorter than this number of microseconds are run several times in a row, up to the maximum.
SHORT, MOST_RUNS = 100_000, 50
LEAST, LARGEST = -(1 << 63), (1 << 63) - 1
# The goals: mean and worst gap, blind runs over ours, time over one run of each path.
MEAN, WORST, BLIND, TIME = 1.05, 1.2, 10, 1.5
# Seconds of all paths below which compilation dominates.
LONG = 10


@dataclass
class Made(Case):
    """A case with a generated program."""

    text: str = ""

    @property
    def path(self):
        FOLDER.mkdir(parents=True, exist_ok=True)
        path = FOLDER / f"{self.program}.fut"
        if not path.exists() or path.read_text() != self.text:
            path.write_text(self.text)
        return path


def nest(source, depth, name):
    """An expression of type i64 over an array with `depth` dimensions."""
    if depth == 0:
        return source.choice([f"{name} * {name} + 3", f"({name} ^ 7) - 1", f"loop y = {name} for i < 8 do y * 3 + i"])
    inner = nest(source, depth - 1, f"{name}{depth}")
    mapped = f"(map (\\{name}{depth} -> {inner}) {name})"
    return source.choice([
        f"i64.sum {mapped}", f"i64.maximum {mapped}", f"i64.sum (scan (+) 0 {mapped})",
        f"i64.sum (map2 (*) {mapped} (indices {name}))",
    ])


def random_cases():
    """Random nested programs, each on three shapes."""
    for seed in range(1, RANDOM + 1):
        source = random.Random(seed)
        depth, beside = source.choice([2, 2, 3]), source.choice([1, 1, 2])
        sizes = "".join(f"[n{d}]" for d in range(depth))
        parts = [f"map (\\x -> {nest(source, depth - 1, 'x')}) xs" for _ in range(beside)]
        body = parts[0] if beside == 1 else f"map2 (+) ({parts[0]}) ({parts[1]})"
        text = f"entry main {sizes} (xs: {sizes}i64) : [n0]i64 =\n  {body}\n"
        for number in range(3):
            cuts = sorted(source.uniform(0, 20) for _ in range(depth - 1))
            ends = [0, *cuts, source.uniform(21, 23)]
            shape = [max(int(2 ** (b - a)), 1) for a, b in zip(ends, ends[1:])]
            make = lambda s=shape: matrix("i64", tuple(s), random.Random(1).randbytes(8 * math.prod(s)))
            yield Made(f"random {seed} {'x'.join(map(str, shape))} {number}", f"random-{seed}", "main", make, tolerance=0, text=text)


def groups():
    """Cases that are tuned together, by name."""
    found = {}
    for case in products():
        found.setdefault(" ".join(case.name.split()[:2]), []).append(case)
    found["LocVolCalib"] = list(volatility())
    for case in cases():
        if case.name.startswith(("OptionPricing", "Heston 1062", "LavaMD")):
            key = case.name.split()[0] if case.entry == "main" else case.name
            found.setdefault(key, []).append(case)
    for case in random_cases():
        found.setdefault(case.program, []).append(case)
    others = sorted([*segments(), *traps()], key=lambda case: (case.program, case.entry))
    for (program, entry), own in groupby(others, key=lambda case: (case.program, case.entry)):
        found[f"{program}:{entry}"] = list(own)
    return found


def run(command, setting, data, limit):
    """Runs a setting: its comparisons in order, microseconds, and seconds of the whole process.
    The last two are None if it fails or times out."""
    times, flags = WORK / "tuned-times", [f"--param={name}={value}" for name, value in setting.items()]
    log, start = WORK / "tuned-log", time.monotonic()
    with open(data, "rb") as source, open(log, "wb") as errors:
        try:
            done = subprocess.run(
                [*map(str, command), *flags, "-n", "-t", times, "--log-versions"],
                stdin=source, stdout=subprocess.DEVNULL, stderr=errors, timeout=limit,
            )
        except subprocess.TimeoutExpired:
            return [], None, None
    if done.returncode:
        return [], None, None
    seconds = time.monotonic() - start
    comparisons = COMPARED.findall(log.read_text(errors="replace"))
    met = list(dict.fromkeys((name, int(size), answer == "true") for name, size, answer in comparisons))
    micros = float(times.read_text().split()[-1])
    if micros < SHORT:
        # A short run, or one that logs much, is not precise.
        runs = min(max(int(SHORT / max(micros, 1)), 3), MOST_RUNS)
        micros = statistics.median(timed_runs(Contestant("", [*command, *flags]), data, runs))
    return met, micros, seconds


def intervals(comparisons):
    """The intervals of parameters for which comparisons have these outcomes; None if there are
    none."""
    found = {}
    for name, size, holds in comparisons:
        low, high = found.get(name, (LEAST, LARGEST))
        low, high = (low, min(high, size)) if holds else (max(low, size + 1), high)
        if low > high:
            return None
        found[name] = (low, high)
    return found


def point(spans, defaults):
    """The setting in these intervals that is nearest to the defaults."""
    near = {name: min(max(defaults[name], low), high) for name, (low, high) in spans.items()}
    return {name: value for name, value in near.items() if value != defaults[name]}


def explore(command, case, defaults, kept, end):
    """Runs every path of a data set. Returns true if all have run."""
    known = kept.data["cases"].setdefault(case.name, {"runs": [], "open": [[]], "complete": False})
    while known["open"] and len(known["runs"]) <= MOST_PATHS:
        if time.monotonic() > end:
            return False
        wanted = [tuple(one) for one in known["open"][-1]]
        spans = intervals(wanted)
        seen = [{tuple(one) for one in run["met"]} for run in known["runs"]]
        if spans is None or any(set(wanted) <= met for met in seen):
            known["open"].pop()
            continue
        first = known["runs"][0]["micros"] if known["runs"] else None
        limit = LIMIT + 5 * first / 1e6 if first else None
        met, micros, seconds = run(command, point(spans, defaults), case.input(), limit)
        known["open"].pop()
        if micros is None:
            # Its comparisons are unknown.
            known["runs"].append({"met": wanted, "micros": None, "seconds": limit})
        elif not any(set(met) == other for other in seen):
            known["runs"].append({"met": met, "micros": micros, "seconds": seconds})
            # Parallel iterations may compare in any order, so the fixed comparisons stay in front.
            met = wanted + [one for one in met if one not in wanted]
            for place in range(len(wanted), len(met)):
                name, size, holds = met[place]
                known["open"].append([*met[:place], (name, size, not holds)])
        kept.save()
        print(f"{case.name}: path {len(known['runs'])}, {micros} us", flush=True)
    known["complete"] = not known["open"]
    kept.save()
    return True


def time_of(paths, setting, defaults):
    """Microseconds of the path that a setting takes."""
    value = lambda name: setting.get(name, defaults[name])
    for spans, micros in paths:
        if all(low <= value(name) <= high for name, (low, high) in spans.items()):
            return micros
    return math.inf


def best(tables):
    """The least sum of times of one path per data set that a single setting takes, and the
    intervals of such settings."""
    least, found = math.inf, {}
    tables = [sorted(paths, key=lambda path: path[1]) for paths in tables]
    rest = [0.0]
    for paths in reversed(tables):
        rest.insert(0, rest[0] + paths[0][1])

    def search(at, spans, total):
        nonlocal least, found
        if total + rest[at] >= least:
            return
        if at == len(tables):
            least, found = total, spans
            return
        for own, micros in tables[at]:
            both = dict(spans)
            for name, (low, high) in own.items():
                left, right = both.get(name, (LEAST, LARGEST))
                both[name] = (max(low, left), min(high, right))
            if all(low <= high for low, high in both.values()):
                search(at + 1, both, total + micros)

    search(0, {}, 0.0)
    return least, found


def blind(tables, defaults, least):
    """The average number of random settings until one is as good as the best."""
    source, names = random.Random(1), sorted({name for paths in tables for spans, _ in paths for name in spans})
    hits = 0
    for _ in range(DRAWS):
        setting = {name: int(2 ** source.uniform(0, GREATEST)) for name in names}
        hits += sum(time_of(paths, setting, defaults) for paths in tables) <= NOISE * least
    return DRAWS / max(hits, 1)


def tune(name, own, *flags):
    """Runs `bindrune tune`. Returns its setting and its record."""
    program = with_cases(f"all-{name.replace(' ', '-').replace(':', '-')}", own)
    account = Path(f"{program}.account")
    for old in (Path(f"{program}.tuning"), Path(f"{program}.tuning.json")):
        old.unlink(missing_ok=True)
    start = time.monotonic()
    shell([compiler(), "tune", "--json", account, "--budget", BUDGET, *flags, program])
    seconds = time.monotonic() - start
    (found,) = json.loads(account.read_text()).values()
    return found, seconds


def sides(command, case, paths, defaults, settings, options):
    """Microseconds of two settings, measured in alternation; equal if both take the same path."""
    times = [time_of(paths, setting, defaults) for setting in settings]
    if times[0] == times[1]:
        return times
    return contest(command, case, settings, options, times)


def contest(command, case, settings, options, times):
    """Microseconds of settings, measured in alternation; `times` are rough estimates."""
    flags = [[f"--param={name}={value}" for name, value in setting.items()] for setting in settings]
    entrants = [Contestant(str(place), [*command, *own]) for place, own in enumerate(flags)]
    finite = [time for time in times if time < math.inf]
    rounds = turns(entrants, case.input(), options, max(finite, default=1))
    return [statistics.median(rounds[entrant.name]) for entrant in entrants]


def over(pairs):
    """The ratio of the sums of the first and second elements of pairs."""
    return sum(one for one, _ in pairs) / max(sum(other for _, other in pairs), 1)


def row(name, own, command, trees, kept, options):
    """A row, computed from tables of all paths."""
    known, defaults = [kept.data["cases"][case.name] for case in own], defaults_of(trees)
    both = [table_of(data, trees) for data in known]
    tables = [paths for paths, _ in both]
    found, seconds = tune(name, own, "--thresholds-only")
    setting = found["setting"]
    whole, whole_seconds = tune(name, own)
    least, spans = best(tables)
    against = point(spans, defaults)
    default = sum(time_of(paths, {}, defaults) for paths in tables)
    pairs = list(zip(own, tables))
    beside = [sides(command, case, paths, defaults, [setting, against], options) for case, paths in pairs]
    gaps = [sides(command, case, paths, defaults, [{}, setting], options) for case, paths in pairs]
    sizes = [(1, 1)]
    if whole["setting"] != setting:
        both_ways = [setting, whole["setting"]]
        times = [[time_of(paths, setting, defaults)] for _, paths in pairs]
        sizes = [contest(command, case, both_ways, options, time) for (case, _), time in zip(pairs, times)]
    # Paths that timed out are counted too.
    cut = sum(one["micros"] is None for data in known for one in data["runs"])
    paths, runs = sum(len(each) for _, each in both) + cut, found["paths"]
    draws = blind(tables, defaults, least)
    return {
        "data sets": len(own), "paths": paths, "runs": runs, "repeated": found["repeated"],
        "all": all(data["complete"] for data in known),
        "blind": draws * len(own), "blind ratio": draws * len(own) / runs,
        "over best": over(beside), "untuned": over(gaps),
        "untuned, worst": max(one / max(other, 1) for one, other in gaps),
        "sizes": over(sizes), "seconds with sizes": whole_seconds,
        "seconds": seconds, "each path": sum(sum(each) for _, each in both),
        "default over best, by single runs": default / least,
    }


def trees_of(program):
    """The trees of all functions of a program."""
    text = shell([compiler(), "dev", "--stage", "versions", "--form", "json", program])
    return [root for function in json.loads(text) for root in function["roots"]]


def defaults_of(trees):
    """The defaults of the trees' parameters."""
    found = {}

    def walk(node):
        if "parameter" in node:
            found[node["parameter"]] = node["default"]
        for key in ("holds", "fails", "inside"):
            for child in node.get(key, []):
                walk(child)

    for root in trees:
        walk(root)
    return found


def versions(trees, met):
    """The result of comparisons: the versions of each tree, and the outcomes for parameters that
    have both."""
    taken = outcomes(met)
    mixed = frozenset(one for one in met if len(taken[one[0]]) > 1)
    return tuple(reached(tree, taken) for tree in trees), mixed


def table_of(data, trees):
    """The paths of a data set, with intervals and microseconds, and the seconds of a process by
    versions."""
    found = {}
    for one in data["runs"]:
        if one["micros"] is not None:
            met = [tuple(comparison) for comparison in one["met"]]
            found.setdefault(versions(trees, met), []).append((intervals(met), one["micros"], one["seconds"]))
    paths = []
    for same in found.values():
        micros = statistics.median(micros for _, micros, _ in same)
        paths += [(spans, micros) for spans, _, _ in same]
    return paths, [min(seconds for _, _, seconds in same) for same in found.values()]


def figure_tuned(options, notes):
    """The requested groups, as far as time permits."""
    kept, end = Kept(KEPT), time.monotonic() + options.seconds
    for name, own in groups().items():
        wanted = [case for case in own if options.case in name or options.case in case.name]
        if not wanted or name in kept.data["rows"]:
            continue
        if missing := [case.name for case in own if case.input() is None]:
            notes.add(f"{name}: no data: {', '.join(missing)}")
            continue
        trees = trees_of(own[0].path)
        defaults = defaults_of(trees)
        if not defaults:
            continue
        label = f"tuned-{own[0].program}"
        command = [build_bindrune(own[0].path, label), "-e", own[0].entry]
        # One data set at a time, so that each can be measured separately.
        if not all([explore(command, case, defaults, kept, end) for case in wanted]):
            continue
        there = [kept.data["cases"].get(case.name, {"open": [1], "runs": []}) for case in own]
        done = all(not data["open"] or len(data["runs"]) > MOST_PATHS for data in there)
        if done and time.monotonic() < end:
            kept.data["rows"][name] = row(name, own, command, trees, kept, options)
            kept.save()
            print(name, kept.data["rows"][name], flush=True)
            for case in own:
                case.forget()
    left = [name for name in groups() if name not in kept.data["rows"]]
    if left:
        notes.add(f"tuned: not measured, or nothing to tune: {', '.join(left)}")
    return {"rows": kept.data["rows"]}


def report_tuned(results):
    """The report's lines on this figure."""
    rows = results.get("tuned", {}).get("rows")
    if not rows:
        return []
    lines = ["## The tuner against all settings", ""]
    lines.append("| | data sets | paths | runs | blind | over the best | untuned | worst | sizes | s | with sizes, s | each path once, s |")
    lines.append("|---|" + "---:|" * 11)
    for name, one in rows.items():
        lines.append(
            f"| {name} | {one['data sets']} | {one['paths']}{'' if one['all'] else ' and more'} | {one['runs']} | "
            f"{one['blind']:.0f} | {one['over best']:.3f} | {one['untuned']:.2f} | {one['untuned, worst']:.2f} | "
            f"{one['sizes']:.2f} | {one['seconds']:.0f} | {one['seconds with sizes']:.0f} | {one['each path']:.0f} |"
        )
    gaps = [one["untuned"] for one in rows.values()]
    mean = math.exp(statistics.fmean(map(math.log, gaps)))
    worst = max(rows, key=lambda name: rows[name]["untuned, worst"])

    def names(test):
        return ", ".join(name for name, one in rows.items() if test(one)) or "none"

    return [
        *lines, "",
        f"Over the best by more than {NOISE}: {names(lambda one: one['over best'] > NOISE)}. "
        f"More runs than paths: {names(lambda one: one['runs'] > one['paths'])}. "
        f"Blind less than {BLIND}×: {names(lambda one: one['blind ratio'] < BLIND)}. "
        f"Time over {TIME}× each path once, of those that take long: {names(lambda one: one['each path'] > LONG and one['seconds with sizes'] > TIME * one['each path'])}.",
        f"Untuned over tuned: geometric mean {mean:.3f} (goal {MEAN}), "
        f"worst {rows[worst]['untuned, worst']:.2f} ({worst}; goal {WORST}).", "",
    ]
