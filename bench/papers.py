"""The figures of the papers that the compiler is built from, as rows of measurements.

Each figure is a function that yields the names of rows with the functions that measure them, so
that some can be measured again while others are kept (`figures.py`). A row of run times holds, for
each contestant, the median of every round in microseconds, and the median, minimum and maximum of
these. MF, IF and AIF are moderate, incremental, and tuned incremental flattening.
"""

import math
import random
import shutil
import statistics
from argparse import Namespace
from dataclasses import dataclass

from basis import BASIS, BASIS_ENTRIES, basis_input
from cases import DATA, Case, below, boxes, calibration, cases, f64s, products, segments, traps
from contest import ROOT, WORK, Contestant, build_bindrune, build_futhark, contestants, timed_runs, tool, wall_per_call
from mini import BENCHMARKS, MINI, check_results, data_file
from nests import LIMIT, is_known, once, same, turns
from tuned import Tuner, search
from values import matrix, vector

# The backends of our executables: name, flags of `bindrune build`. Another entry measures all
# figures on that backend.
BACKENDS = {"cpu": ["--backend", "cpu"]}
# The sizes of the redomap paper, and those of the blog post on the minimal basis with run times of
# at most a second.
REDOMAP_SIZES = [100, 50_000, 100_000, 500_000, 1_000_000, 10_000_000]
BASIS_SIZES = [1000, 100_000, 10_000_000]
# The most elements for which results are compared.
COMPARED = 100_000
# Microseconds below which calls are timed by wall time, and their total time.
SHORT, LONG, MOST_CALLS = 100, 50_000, 1_000_000
# Seconds above which there is a single run, and the time limit of a run of ours.
SINGLE, PATIENCE = 3, 90
BOOK = ROOT / "tests" / "programs" / "book"
BOOK_ELEMENTS = 1_000_000
# Entries of table 1 of the paper on incremental flattening without a program or data here.
ABSENT = {
    "Heston D2": "the 10,000 quotes are not at hand",
    "Backprop": "no program of ours", "NW": "no program of ours", "NN": "no program of ours",
    "SRAD": "no program of ours", "Pathfinder": "no program of ours",
}


@dataclass
class Ask:
    """A request: rounds and runs, the backend, and the tuner if there is one."""

    options: object
    backend: str
    tuner: Tuner

    def ours(self, program, label, *flags):
        """Builds a program with our compiler and these flags."""
        return build_bindrune(program, f"figures-{self.backend}-{label}", *BACKENDS[self.backend], *flags)

    def peers(self, program, label, entry):
        """Builds a program with the reference compiler."""
        made = build_futhark(program, label, set())
        return [Contestant(who, [exe, "-e", entry]) for who, exe in made.items() if who != "bindrune"]


def spread(rounds):
    """The measurements of each contestant in a row."""
    return {
        who: {"median": statistics.median(found), "least": min(found), "most": max(found), "rounds": found}
        for who, found in rounds.items()
    }


def calls_for(contestant, data):
    """The number of calls for a round of the intended duration."""
    calls = 10
    while calls < MOST_CALLS:
        each = wall_per_call(contestant, data, calls)
        if each * calls > LONG / 4:
            return max(int(LONG / each), 10)
        calls *= 8
    return MOST_CALLS


def times_of(entrants, data, options):
    """Median microseconds of each round by contestant, with their spread. A round takes at most
    a second, or has a single run."""
    first = {c.name: timed_runs(c, data, 1)[0] for c in entrants}
    if min(first.values()) >= SHORT:
        slowest = max(first.values())
        runs = min(max(int(1e6 / slowest), 1), options.runs)
        return spread(turns(entrants, data, Namespace(rounds=options.rounds, runs=runs), slowest))
    calls, rounds = {c.name: calls_for(c, data) for c in entrants}, {c.name: [] for c in entrants}
    for i in range(options.rounds):
        for contestant in entrants if i % 2 else entrants[::-1]:
            # If a process with more calls takes no longer, the number of calls is too small.
            while (found := wall_per_call(contestant, data, calls[contestant.name])) <= 0:
                calls[contestant.name] *= 2
            rounds[contestant.name].append(found)
    return spread(rounds)


def redomap(ask):
    """Figure 8 of the redomap paper: nine programs over sizes, with and without fusion, compared
    with hand-written C and the reference compiler."""
    for name in BENCHMARKS:
        for size in REDOMAP_SIZES:
            yield f"{name} {size}", lambda n=name, s=size: redomap_row(ask, n, s)


def redomap_row(ask, name, size):
    made = {"bindrune": ask.ours(MINI, "mini"), "no redomap": ask.ours(MINI, "mini-apart", "--fuse", "off")}
    entrants = contestants(name, made) + ask.peers(MINI, "mini", name)
    data, notes = data_file(name, size), set()
    agreed = size > COMPARED or check_results(name, entrants, data, notes)
    times = times_of(entrants, data, ask.options)
    return {"group": name, "x": size, "times": times, "agree": agreed, "notes": sorted(notes)}


def versions(ask, case, tuning):
    """Contestants of a case: moderate and incremental flattening, the latter also with the
    tuning file, and the reference compiler."""
    entry = ["-e", case.entry]
    moderate = ask.ours(case.path, f"{case.program}-moderate", "--flatten", "moderate")
    incremental = ask.ours(case.path, case.program)
    entrants = [Contestant("MF", [moderate, *entry]), Contestant("IF", [incremental, *entry])]
    if tuning:
        entrants.append(Contestant("AIF", [incremental, *entry, "--tuning", tuning]))
    return entrants + ask.peers(case.path, f"nest-{case.program}", case.entry)


def compared(ask, case, group, x, tuning):
    """A row of a case. Peers that fail or are much slower are left out and reported."""
    data, notes, first, entrants = case.input(), [], {}, versions(ask, case, tuning)
    limit = LIMIT
    for contestant in sorted(entrants, key=lambda c: c.name != "IF"):
        patience = limit if contestant.name.startswith("futhark") else PATIENCE
        found = once(contestant, data, patience)
        if found:
            first[contestant.name] = found
        else:
            notes.append(f"{contestant.name} fails or takes more than {patience:.0f} s")
        if contestant.name == "IF":
            limit = min(LIMIT, max(10, 3 * found[1] / 1e6))
    results = {who: result for who, (result, _) in first.items()}
    wrong = [who for who, result in results.items() if not same(case, results["IF"], result)]
    if not is_known(case, results["IF"]):
        notes.append("the result is not the one beside the input")
        wrong.append("IF")
    notes += [f"{who} gives another result" for who in wrong]
    single = {who: [time] for who, (_, time) in first.items() if time > SINGLE * 1e6}
    notes += [f"{who}: a single run" for who in single]
    times = spread(single)
    if others := [c for c in entrants if c.name in first and c.name not in single]:
        times |= times_of(others, data, ask.options)
    case.forget()
    return {"group": group, "x": x, "times": times, "agree": not wrong, "notes": notes}


def product_tuning(ask):
    """The tuning file for matrix products, found on the small ones as in the paper."""
    return ask.tuner.of([case for case in products() if "2^20" in case.name])


def product_rows(ask):
    """Figure 2: matrix products of constant work in all shapes."""
    for case in products():
        _, work, n = case.name.split()
        make = lambda c=case, w=work, n=int(n.removeprefix("n=")): compared(ask, c, w, n, product_tuning(ask))
        yield case.name, make


def volatility():
    """The three data sets of figure 7. The largest is generated with the sizes that the paper
    gives and the parameters of the others."""
    for size in ("small", "medium", "large"):
        of = {"make": lambda: calibration(256, 256, 256, 64)} if size == "large" else {"file": f"LocVolCalib/{size}.in"}
        yield Case(f"LocVolCalib {size}", "local_volatility", "main", **of)


def benchmarks():
    """The available benchmarks of figure 8."""
    there = {case.name: case for case in cases()}
    for name in ("Heston 1062", "OptionPricing D1", "OptionPricing D2"):
        yield there[name]
    yield Case("LavaMD D1", "lava_md", "main", lambda: boxes(10, 50))
    yield there["LavaMD D2"]


def training(case):
    """The training cases of a case: other data if there are any, as in the paper, else the case
    itself."""
    folder = case.file.rpartition("/")[0] if case.file else ""
    names = {"OptionPricing": ["train-D1.in"], "lavaMD": ["train-D2.in"], "heston32": ["train-1162-quotes.in"],
             "LocVolCalib": ["train-small.in", "train-medium.in"]}.get(folder, [])
    found = [Case(f"{case.name} {name}", case.program, case.entry, file=f"{folder}/{name}") for name in names]
    return [case for case in found if case.input()]


def train_on(listed):
    """The training cases of each program, by program and entry point."""
    sets = {}
    for case in listed:
        if case.input():
            found = sets.setdefault((case.program, case.entry), {})
            found |= {other.name: other for other in training(case) or [case]}
    return {key: list(found.values()) for key, found in sets.items()}


def nest_rows(ask, listed, group_of):
    """Rows of cases with available inputs."""
    sets = None
    for case in listed:
        def make(case=case):
            nonlocal sets
            sets = sets or train_on(listed)
            group, x = group_of(case)
            return compared(ask, case, group, x, ask.tuner.of(sets[case.program, case.entry]))
        if case.make or case.input():
            yield case.name, make


def volatility_rows(ask):
    """Figure 7: LocVolCalib."""
    yield from nest_rows(ask, list(volatility()), lambda case: tuple(case.name.split()))


def bulk_rows(ask):
    """Figure 8: the benchmarks with available programs and data."""
    names = {"Heston 1062": ("Heston", "D1")}
    yield from nest_rows(ask, list(benchmarks()), lambda case: names.get(case.name, tuple(case.name.split())))


def own_rows(ask):
    """The other nests: segments and known slow cases."""
    yield from nest_rows(ask, [*segments(), *traps()], lambda case: (case.program, case.name))


def tuning_rows(ask):
    """The number of runs that a search for thresholds takes, by program."""
    sets = {("matmul", "main"): [case for case in products() if "2^20" in case.name]}
    sets |= train_on([*volatility(), *benchmarks()]) | train_on([*segments(), *traps()])
    for (program, entry), trained in sets.items():
        name = program if entry == "main" else f"{program}:{entry}"
        yield name, lambda n=name, t=trained: tuning_row(ask, n, t)


def tuning_row(ask, name, trained):
    exe = ask.ours(trained[0].path, trained[0].program)
    counts, notes = search([exe, "-e", trained[0].entry], trained) or ({}, ["a data set fails"])
    for case in trained:
        case.forget()
    return {"group": name, "x": len(trained), "counts": counts, "agree": bool(counts), "notes": notes}


def basis_rows(ask):
    """The minimal basis: library functions compared with the built-in ones."""
    for size in BASIS_SIZES:
        for entry in BASIS_ENTRIES:
            yield f"{entry} {size}", lambda e=entry, s=size: basis_row(ask, e, s)


def basis_row(ask, entry, size):
    entrants = [Contestant("bindrune", [ask.ours(BASIS, "basis"), "-e", entry]), *ask.peers(BASIS, "basis", entry)]
    times = times_of(entrants, basis_input(BASIS_ENTRIES[entry], size), ask.options)
    return {"group": entry, "x": size, "times": times, "agree": True, "notes": []}


def flags(n, seed):
    """Flags of which one in sixteen is set."""
    return matrix("bool", (n,), bytes(byte < 16 for byte in random.Random(seed).randbytes(n)))


def sizes(n, seed):
    """Segment sizes from 0 to 9, about n elements in total."""
    source = random.Random(seed)
    return [source.randrange(10) for _ in range(n * 2 // 9)]


def i64s(numbers):
    return matrix("i64", (len(numbers),), b"".join(n.to_bytes(8, "little") for n in numbers))


def book_inputs():
    """Program, entry point and a function that generates its input."""
    n, side = BOOK_ELEMENTS, math.isqrt(BOOK_ELEMENTS)
    segmented = {
        "scan_sum": lambda: flags(n, 1) + below(1000, n, 2),
        "scan_max": lambda: flags(n, 1) + f64s(n, 3),
        "repl_iota": lambda: i64s(sizes(n, 4)),
        "repl": lambda: i64s(sizes(n, 4)) + below(1000, len(sizes(n, 4)), 5),
        "seg_iota": lambda: flags(n, 1),
        "to_flags": lambda: i64s(sizes(n, 4)),
        "reduce_sum": lambda: i64s(sizes(n, 4)) + below(1000, sum(sizes(n, 4)), 6),
        "map_iota": lambda: i64s(sizes(n, 4)),
    }
    rows = lambda: matrix("i32", (side, side), vector_bytes(side * side))
    segmented |= {"regular_scan": rows, "map_scan": rows}
    for entry, make in segmented.items():
        yield "segmented", entry, make
    for entry in ("by_reduction", "by_scan"):
        yield "longest_streak", entry, lambda: below(1 << 20, n, 7)


def vector_bytes(n):
    """The bytes of n integers below 1000, without the header."""
    return below(1000, n, 8)[-4 * n:]


def book_rows(ask):
    """The book's examples in all modes of flattening."""
    for program, entry, make in book_inputs():
        yield entry, lambda p=program, e=entry, m=make: book_row(ask, p, e, m)


def book_row(ask, program, entry, make):
    path, data = BOOK / f"{program}.fut", WORK / f"book-{entry}.in"
    if not data.exists():
        data.write_bytes(make())
    modes = {"MF": "moderate", "IF": "incremental", "full": "full"}
    made = {who: ask.ours(path, f"{program}-{mode}", "--flatten", mode) for who, mode in modes.items()}
    entrants = [Contestant(who, [exe, "-e", entry]) for who, exe in made.items()]
    entrants += ask.peers(path, f"book-{program}", entry)
    results = [once(contestant, data, LIMIT) for contestant in entrants]
    wrong = [c.name for c, found in zip(entrants, results) if found is None or found[0] != results[0][0]]
    times = times_of([c for c in entrants if c.name not in wrong], data, ask.options)
    notes = [f"{who} fails or gives another result" for who in wrong]
    return {"group": program, "x": entry, "times": times, "agree": not wrong, "notes": notes}


# Name: the generator of rows, and the absent ones.
FIGURES = {
    "redomap": (redomap, {}), "products": (product_rows, {}), "volatility": (volatility_rows, {}),
    "bulk": (bulk_rows, ABSENT), "nests": (own_rows, {}), "tuning": (tuning_rows, {}), "basis": (basis_rows, {}),
    "book": (book_rows, {}),
}


def absent(name, ask):
    """The data and contestants that a figure lacks, and why."""
    found = dict(FIGURES[name][1])
    listed = {"bulk": benchmarks, "volatility": volatility, "products": products}.get(name)
    for case in listed() if listed else ():
        if not case.make and not case.input():
            found[case.name] = f"the input is not in {DATA.name}"
    if not tool("FUTHARK", "futhark"):
        found["futhark c, multicore, ispc"] = "the reference compiler is not installed"
    elif not shutil.which("ispc"):
        found["futhark ispc"] = "the compiler ispc is not installed"
    if name in ("products", "volatility", "bulk", "nests") and not ask.tuner.there:
        found["AIF"] = "this compiler has no command `tune`"
    return found
