"""The nine mini-benchmarks of `programs/mini.fut` compared with hand-written C and the reference
compiler: at 10^7 elements, and in many calls at 10^4."""

import statistics

from contest import HERE, WORK, build_futhark, contestants, medians, shell, take_turns, wall_per_call
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


def check_results(name, entrants, data, notes):
    """Compares all results with that of C; returns False on a difference."""
    results = []
    for contestant in entrants:
        with open(data, "rb") as source:
            results.append(parse(shell([*contestant.command, "-b"], stdin=source)))
    good = True
    for contestant, result in zip(entrants[1:], results[1:]):
        # Sums of 10^7 f32 depend on the order by more than a unit in the last place.
        if not agree(results[0], result, 1e-3):
            notes.add(f"{name}: {contestant.name} and C disagree")
            good = False
    return good


def figure_mini(options, notes):
    """Median run times at 10^7 elements, contestants alternating."""
    futhark, rows, good = build_futhark(MINI, "mini", notes), {}, True
    least = {}
    for name in options.only:
        entrants, data = contestants(name, futhark), data_file(name, options.size)
        good &= check_results(name, entrants, data, notes)
        rounds = take_turns(entrants, data, options)
        rows[name] = medians(rounds)
        least[name] = {who: min(map(min, found)) for who, found in rounds.items()}
        print(name, rows[name], flush=True)
    return {"elements": options.size, "microseconds": rows, "least": least, "agree": good}


def figure_small(options, notes):
    """Microseconds per call at 10^4 elements: 10,000 calls in one process, minus the time of a
    process with one call."""
    futhark, rows, good = build_futhark(MINI, "mini", notes), {}, True
    futhark = {k: v for k, v in futhark.items() if k == "bindrune"}
    for name in options.only:
        entrants, data = contestants(name, futhark), data_file(name, 10_000)
        good &= check_results(name, entrants, data, notes)
        samples = {c.name: [] for c in entrants}
        for i in range(options.rounds):
            for contestant in entrants if i % 2 else entrants[::-1]:
                samples[contestant.name].append(wall_per_call(contestant, data, options.calls))
        rows[name] = {k: statistics.median(v) for k, v in samples.items()}
        print(name, rows[name], flush=True)
    return {"elements": 10_000, "calls": options.calls, "microseconds": rows, "agree": good}
