"""The figure `tuned`: compares the tuner with exhaustive search. It runs every path of each data
set, computes the best thresholds from the times, and compares them with the ones found by `bindrune
tune`, and the tuner's number of runs with that of random search.

A path is identified by its comparisons. From each path run, those are derived that differ in one
comparison and agree in all earlier ones; so every path runs once, for any trees. Paths that lead to
the same versions are merged, with the median of their times. A path holds for an interval of each
parameter; the best setting is the cheapest point in an intersection of paths, one per data set
(branch and bound).

The tuner runs once for thresholds only, which corresponds to exhaustive search, and once with grain
sizes, for their additional gain and time.

All runs are stored in `build/bench/tuned.cache.json` immediately, so that the figure can be measured in
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

from cache import MeasurementCache
from cases import Case, cases, known_slow_cases, matrix_products, segmented_operations
from forced import COMPARED, LIMIT, comparison_outcomes, reached_versions
from harness import WORK, Implementation, build_bindrune, compiler, run_checked, timed_runs
from nests import round_medians
from papers import volatility_cases
from results import geometric_mean, number, table
from tuning import BUDGET, DRAWS, FOLDER, GREATEST, NOISE, program_with_cases
from values import matrix

CACHE = WORK / "tuned.cache.json"
# The most paths of a data set.
MOST_PATHS = 150
# The number of random programs.
RANDOM = 20
# Paths shorter than this number of microseconds are run several times in a row, up to the maximum.
SHORT, MOST_RUNS = 100_000, 50
LEAST, LARGEST = -(1 << 63), (1 << 63) - 1
# The goals: defaults over tuned thresholds on the mean and at most; runs of random search over the
# tuner's; time of tuning over one run of each path.
MEAN, WORST, RANDOM_RUNS, TIME = 1.05, 1.2, 10, 1.5
# Seconds of all paths below which compilation dominates.
LONG = 10


@dataclass
class GeneratedCase(Case):
    """A case with a generated program."""

    text: str = ""

    @property
    def path(self):
        FOLDER.mkdir(parents=True, exist_ok=True)
        path = FOLDER / f"{self.program}.fut"
        if not path.exists() or path.read_text() != self.text:
            path.write_text(self.text)
        return path


def random_nest(source, depth, name):
    """An expression of type i64 over an array with `depth` dimensions."""
    if depth == 0:
        return source.choice([f"{name} * {name} + 3", f"({name} ^ 7) - 1", f"loop y = {name} for i < 8 do y * 3 + i"])
    inner = random_nest(source, depth - 1, f"{name}{depth}")
    mapped = f"(map (\\{name}{depth} -> {inner}) {name})"
    return source.choice([
        f"i64.sum {mapped}", f"i64.maximum {mapped}", f"i64.sum (scan (+) 0 {mapped})",
        f"i64.sum (map2 (*) {mapped} (indices {name}))",
    ])


def random_cases():
    """Random nested programs, each on three shapes."""
    for seed in range(1, RANDOM + 1):
        source = random.Random(seed)
        depth, count = source.choice([2, 2, 3]), source.choice([1, 1, 2])
        sizes = "".join(f"[n{d}]" for d in range(depth))
        parts = [f"map (\\x -> {random_nest(source, depth - 1, 'x')}) xs" for _ in range(count)]
        body = parts[0] if count == 1 else f"map2 (+) ({parts[0]}) ({parts[1]})"
        text = f"entry main {sizes} (xs: {sizes}i64) : [n0]i64 =\n  {body}\n"
        for index in range(3):
            cuts = sorted(source.uniform(0, 20) for _ in range(depth - 1))
            ends = [0, *cuts, source.uniform(21, 23)]
            shape = [max(int(2 ** (b - a)), 1) for a, b in zip(ends, ends[1:])]
            generate = lambda s=shape: matrix("i64", tuple(s), random.Random(1).randbytes(8 * math.prod(s)))
            name = f"random {seed} {'x'.join(map(str, shape))} {index}"
            yield GeneratedCase(name, f"random-{seed}", "main", generate, tolerance=0, text=text)


def tuning_groups():
    """Cases that are tuned together, by name."""
    found = {}
    for case in matrix_products():
        found.setdefault(" ".join(case.name.split()[:2]), []).append(case)
    found["LocVolCalib"] = list(volatility_cases())
    for case in cases():
        if case.name.startswith(("OptionPricing", "Heston 1062", "LavaMD")):
            key = case.name.split()[0] if case.entry == "main" else case.name
            found.setdefault(key, []).append(case)
    for case in random_cases():
        found.setdefault(case.program, []).append(case)
    others = sorted([*segmented_operations(), *known_slow_cases()], key=lambda case: (case.program, case.entry))
    for (program, entry), own in groupby(others, key=lambda case: (case.program, case.entry)):
        found[f"{program}:{entry}"] = list(own)
    return found


def run_setting(command, setting, data, limit):
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
    lines = COMPARED.findall(log.read_text(errors="replace"))
    comparisons = list(dict.fromkeys((name, int(size), outcome == "true") for name, size, outcome in lines))
    microseconds = float(times.read_text().split()[-1])
    if microseconds < SHORT:
        # A short run, or one that logs much, is not precise.
        runs = min(max(int(SHORT / max(microseconds, 1)), 3), MOST_RUNS)
        microseconds = statistics.median(timed_runs(Implementation("", [*command, *flags]), data, runs))
    return comparisons, microseconds, seconds


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


def nearest_setting(spans, defaults):
    """The setting in these intervals that is nearest to the defaults."""
    near = {name: min(max(defaults[name], low), high) for name, (low, high) in spans.items()}
    return {name: value for name, value in near.items() if value != defaults[name]}


def explore(command, case, defaults, cache, end):
    """Runs every path of a data set. Returns true if all have run."""
    known = cache.data["cases"].setdefault(case.name, {"runs": [], "pending": [[]], "complete": False})
    while known["pending"] and len(known["runs"]) <= MOST_PATHS:
        if time.monotonic() > end:
            return False
        prefix = [tuple(one) for one in known["pending"][-1]]
        spans = intervals(prefix)
        seen = [{tuple(one) for one in run["comparisons"]} for run in known["runs"]]
        if spans is None or any(set(prefix) <= comparisons for comparisons in seen):
            known["pending"].pop()
            continue
        first = known["runs"][0]["microseconds"] if known["runs"] else None
        limit = LIMIT + 5 * first / 1e6 if first else None
        comparisons, microseconds, seconds = run_setting(command, nearest_setting(spans, defaults), case.input(), limit)
        known["pending"].pop()
        if microseconds is None:
            # Its comparisons are unknown.
            known["runs"].append({"comparisons": prefix, "microseconds": None, "seconds": limit})
        elif not any(set(comparisons) == other for other in seen):
            known["runs"].append({"comparisons": comparisons, "microseconds": microseconds, "seconds": seconds})
            # Parallel iterations may compare in any order, so the fixed comparisons stay first.
            comparisons = prefix + [one for one in comparisons if one not in prefix]
            for at in range(len(prefix), len(comparisons)):
                name, size, holds = comparisons[at]
                known["pending"].append([*comparisons[:at], (name, size, not holds)])
        cache.save()
        print(f"{case.name}: path {len(known['runs'])}, {microseconds} us", flush=True)
    known["complete"] = not known["pending"]
    cache.save()
    return True


def time_of(paths, setting, defaults):
    """Microseconds of the path that a setting takes."""
    value = lambda name: setting.get(name, defaults[name])
    for spans, microseconds in paths:
        if all(low <= value(name) <= high for name, (low, high) in spans.items()):
            return microseconds
    return math.inf


def best_setting(tables):
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
        for own, microseconds in tables[at]:
            both = dict(spans)
            for name, (low, high) in own.items():
                left, right = both.get(name, (LEAST, LARGEST))
                both[name] = (max(low, left), min(high, right))
            if all(low <= high for low, high in both.values()):
                search(at + 1, both, total + microseconds)

    search(0, {}, 0.0)
    return least, found


def random_search(tables, defaults, least):
    """The average number of random settings until one is as good as the best."""
    source, names = random.Random(1), sorted({name for paths in tables for spans, _ in paths for name in spans})
    hits = 0
    for _ in range(DRAWS):
        setting = {name: int(2 ** source.uniform(0, GREATEST)) for name in names}
        hits += sum(time_of(paths, setting, defaults) for paths in tables) <= NOISE * least
    return DRAWS / max(hits, 1)


def tune(name, own, *flags):
    """Runs `bindrune tune`. Returns its setting and its record."""
    program = program_with_cases(f"all-{name.replace(' ', '-').replace(':', '-')}", own)
    record = Path(f"{program}.record.json")
    for old in (Path(f"{program}.tuning"), Path(f"{program}.tuning.json")):
        old.unlink(missing_ok=True)
    start = time.monotonic()
    run_checked([compiler(), "tune", "--json", record, "--budget", BUDGET, *flags, program])
    seconds = time.monotonic() - start
    (found,) = json.loads(record.read_text()).values()
    return found, seconds


def compare_settings(command, case, paths, defaults, settings, options):
    """Microseconds of two settings, measured in alternation; equal if both take the same path."""
    times = [time_of(paths, setting, defaults) for setting in settings]
    if times[0] == times[1]:
        return times
    return time_settings(command, case, settings, options, times)


def time_settings(command, case, settings, options, times):
    """Microseconds of settings, measured in alternation; `times` are rough estimates."""
    flags = [[f"--param={name}={value}" for name, value in setting.items()] for setting in settings]
    implementations = [Implementation(str(i), [*command, *own]) for i, own in enumerate(flags)]
    finite = [time for time in times if time < math.inf]
    rounds = round_medians(implementations, case.input(), options, max(finite, default=1))
    return [statistics.median(rounds[each.name]) for each in implementations]


def ratio_of_sums(pairs):
    """The ratio of the sums of the first and second elements of pairs."""
    return sum(one for one, _ in pairs) / max(sum(other for _, other in pairs), 1)


def measure_row(name, own, command, trees, cache, options):
    """A row, computed from tables of all paths."""
    known, defaults = [cache.data["cases"][case.name] for case in own], defaults_of(trees)
    both = [table_of(data, trees) for data in known]
    tables = [paths for paths, _ in both]
    found, seconds = tune(name, own, "--thresholds-only")
    setting = found["setting"]
    whole, whole_seconds = tune(name, own)
    least, spans = best_setting(tables)
    against = nearest_setting(spans, defaults)
    default = sum(time_of(paths, {}, defaults) for paths in tables)
    pairs = list(zip(own, tables))
    to_best = [compare_settings(command, case, paths, defaults, [setting, against], options) for case, paths in pairs]
    gaps = [compare_settings(command, case, paths, defaults, [{}, setting], options) for case, paths in pairs]
    sizes = [(1, 1)]
    if whole["setting"] != setting:
        settings = [setting, whole["setting"]]
        times = [[time_of(paths, setting, defaults)] for _, paths in pairs]
        sizes = [time_settings(command, case, settings, options, time) for (case, _), time in zip(pairs, times)]
    # Paths that timed out are counted too.
    cut = sum(one["microseconds"] is None for data in known for one in data["runs"])
    paths, runs = sum(len(each) for _, each in both) + cut, found["paths"]
    draws = random_search(tables, defaults, least)
    return {
        "data sets": len(own), "paths": paths, "runs": runs, "repeated": found["repeated"],
        "all paths": all(data["complete"] for data in known), "random search": draws * len(own),
        "over best": ratio_of_sums(to_best), "defaults": ratio_of_sums(gaps),
        "defaults, worst": max(one / max(other, 1) for one, other in gaps),
        "grain sizes": ratio_of_sums(sizes), "seconds with grain sizes": whole_seconds,
        "seconds": seconds, "each path": sum(sum(each) for _, each in both),
        "default over best, by single runs": default / least,
    }


def trees_of(program):
    """The trees of all functions of a program."""
    text = run_checked([compiler(), "dev", "--stage", "versions", "--form", "json", program])
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


def versions(trees, comparisons):
    """The result of comparisons: the versions of each tree, and the outcomes for parameters that
    have both."""
    taken = comparison_outcomes(comparisons)
    mixed = frozenset(one for one in comparisons if len(taken[one[0]]) > 1)
    return tuple(reached_versions(tree, taken) for tree in trees), mixed


def table_of(data, trees):
    """The paths of a data set, with intervals and microseconds, and the seconds of a process by
    versions."""
    found = {}
    for one in data["runs"]:
        if one["microseconds"] is not None:
            comparisons = [tuple(comparison) for comparison in one["comparisons"]]
            runs = found.setdefault(versions(trees, comparisons), [])
            runs.append((intervals(comparisons), one["microseconds"], one["seconds"]))
    paths = []
    for runs in found.values():
        median = statistics.median(microseconds for _, microseconds, _ in runs)
        paths += [(spans, median) for spans, _, _ in runs]
    return paths, [min(seconds for _, _, seconds in runs) for runs in found.values()]


def figure_tuned(options, warnings):
    """The requested groups, as far as time permits."""
    if not compiler():
        warnings.add("bindrune is not built")
        return {"rows": {}}
    cache, end, complete = MeasurementCache(CACHE), time.monotonic() + options.seconds, True
    for name, own in tuning_groups().items():
        selected = [case for case in own if options.case in name or options.case in case.name]
        if not selected or name in cache.data["rows"]:
            continue
        if missing := [case.name for case in own if case.input() is None]:
            warnings.add(f"{name}: no input for {', '.join(missing)}")
            continue
        trees = trees_of(own[0].path)
        defaults = defaults_of(trees)
        if not defaults:
            continue
        label = f"tuned-{own[0].program}"
        command = [build_bindrune(own[0].path, label), "-e", own[0].entry]
        # One data set at a time, so that each can be measured separately.
        if not all([explore(command, case, defaults, cache, end) for case in selected]):
            complete = False
            continue
        stored = [cache.data["cases"].get(case.name, {"pending": [1], "runs": []}) for case in own]
        done = all(not data["pending"] or len(data["runs"]) > MOST_PATHS for data in stored)
        if done and time.monotonic() < end:
            cache.data["rows"][name] = measure_row(name, own, command, trees, cache, options)
            cache.save()
            print(name, cache.data["rows"][name], flush=True)
            for case in own:
                case.delete_input()
        complete &= name in cache.data["rows"]
    left = [name for name in tuning_groups() if name not in cache.data["rows"]]
    if left:
        warnings.add(f"tuned: not measured, or without thresholds: {', '.join(left)}")
    return {"rows": cache.data["rows"], "complete": complete}


def report_tuned(figure):
    """The report's lines on this figure."""
    rows, cells = figure["rows"], []
    for name, row in rows.items():
        paths = f"{row['paths']}{'' if row['all paths'] else ' or more'}"
        cells.append([
            name, str(row["data sets"]), paths, str(row["runs"]), number(row["random search"], 0),
            number(row["over best"], 3), number(row["defaults"]), number(row["defaults, worst"]),
            number(row["grain sizes"]),
            number(row["seconds"], 0), number(row["seconds with grain sizes"], 0), number(row["each path"], 0),
        ])
    head = [
        "", "data sets", "paths", "runs", "random search", "tuned over best", "defaults over tuned", "worst data set",
        "grain sizes", "tuning, s", "with grain sizes, s", "each path once, s",
    ]

    def names(predicate):
        return ", ".join(name for name, row in rows.items() if predicate(row)) or "none"

    mean = geometric_mean(row["defaults"] for row in rows.values())
    worst = max(rows, key=lambda name: rows[name]["defaults, worst"])
    slow = names(lambda row: row["each path"] > LONG and row["seconds with grain sizes"] > TIME * row["each path"])
    return table(head, cells) + [
        "", f"Defaults over tuned: geometric mean {mean:.3f} (goal {MEAN}), "
        f"worst data set {rows[worst]['defaults, worst']:.2f} ({worst}; goal {WORST}).", "",
        f"- tuned over best above {NOISE}: {names(lambda row: row['over best'] > NOISE)}",
        f"- more runs than paths: {names(lambda row: row['runs'] > row['paths'])}",
        f"- random search takes fewer than {RANDOM_RUNS} times the runs: "
        f"{names(lambda row: row['random search'] < RANDOM_RUNS * row['runs'])}",
        f"- of those whose paths take more than {LONG} s, tuning takes more than {TIME} times as long: {slow}",
    ]
