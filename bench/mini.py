"""The nine mini-benchmarks of `programs/mini.fut` compared with C by hand and the reference compiler:
at 10^7 elements, and in many calls at 10^4."""

import statistics

from harness import HERE, WORK, all_implementations, build_all, interleave, medians, result, wall_per_call
from values import agree, parse, random_i32s, scalar

MINI = HERE / "programs" / "mini.fut"
BENCHMARKS = [
    "reduce_plus", "reduce_max", "index_of_max", "index_of_max_pack", "reduce_2x2mm",
    "mssp", "scan_plus", "redomap_nt", "black_scholes",
]


def data_file(name, n):
    """A file with a benchmark's inputs at size n, generated on first use."""
    path = WORK / f"{name}-{n}.in"
    if not path.exists():
        if name == "redomap_nt":
            data = scalar("f32", 0.001) + scalar("f32", 3.5) + scalar("i64", n)
        elif name == "black_scholes":
            data = scalar("i64", n)
        else:
            data = random_i32s(n, name, small=name == "mssp")
        path.write_bytes(data)
    return path


def check_results(name, implementations, data, warnings):
    """Compares all results with that of C; returns False on a difference."""
    results = [parse(result(each, data)) for each in implementations]
    good = True
    for each, own in zip(implementations[1:], results[1:]):
        # Sums of 10^7 f32 depend on the order by more than a unit in the last place.
        if not agree(results[0], own, 1e-3):
            warnings.add(f"{name}: {each.name} and C disagree")
            good = False
    return good


def figure_mini(options, warnings):
    """Median run times at 10^7 elements, implementations alternating."""
    built, rows, good = build_all(MINI, "mini", warnings), {}, True
    least = {}
    for name in options.only:
        implementations, data = all_implementations(name, built), data_file(name, options.size)
        good &= check_results(name, implementations, data, warnings)
        rounds = interleave(implementations, data, options)
        rows[name] = medians(rounds)
        least[name] = {impl: min(map(min, found)) for impl, found in rounds.items()}
        print(name, rows[name], flush=True)
    return {"elements": options.size, "microseconds": rows, "least": least, "agree": good}


def figure_small(options, warnings):
    """Microseconds per call at 10^4 elements: 10,000 calls in one process, minus the time of a
    process with one call."""
    built, rows, good = build_all(MINI, "mini", warnings), {}, True
    built = {impl: exe for impl, exe in built.items() if impl == "bindrune"}
    for name in options.only:
        implementations, data = all_implementations(name, built), data_file(name, 10_000)
        good &= check_results(name, implementations, data, warnings)
        samples = {each.name: [] for each in implementations}
        for i in range(options.rounds):
            for each in implementations if i % 2 else implementations[::-1]:
                samples[each.name].append(wall_per_call(each, data, options.calls))
        rows[name] = {impl: statistics.median(times) for impl, times in samples.items()}
        print(name, rows[name], flush=True)
    return {"elements": 10_000, "calls": options.calls, "microseconds": rows, "agree": good}
