"""The figures of the papers that the compiler is built from, as rows of measurements.

Each figure is a function that yields the names of rows with the functions that measure them, so
that rows can be measured separately (`figures.py`). A row of run times has, for each implementation,
the median of every round in microseconds, and the median, minimum and maximum of these. MF, IF and
AIF are moderate, incremental, and tuned incremental flattening.
"""

import math
import random
import shutil
import statistics
from argparse import Namespace
from dataclasses import dataclass

from basis import BASIS, BASIS_ENTRIES, basis_input
from cases import (
    DATA,
    Case,
    cases,
    f64s,
    known_slow_cases,
    lava_md_input,
    local_volatility_input,
    matrix_products,
    random_below,
    segmented_operations,
)
from harness import (
    ROOT,
    WORK,
    Implementation,
    all_implementations,
    build_all,
    build_bindrune,
    find_program,
    timed_runs,
    wall_per_call,
)
from mini import BENCHMARKS, MINI, check_results, data_file
from nests import LIMIT, matches_expected, results_agree, round_medians, run_once
from tuning import Tuner, search
from values import matrix

# The backends of Bindrune's executables: name, flags of `bindrune build`. Another entry measures
# all figures on that backend.
BACKENDS = {"cpu": ["--backend", "cpu"]}
# The sizes of the redomap paper, and those of the blog post on the minimal basis with run times of
# at most a second.
REDOMAP_SIZES = [100, 50_000, 100_000, 500_000, 1_000_000, 10_000_000]
BASIS_SIZES = [1000, 100_000, 10_000_000]
# The most elements for which results are compared.
COMPARED = 100_000
# Microseconds below which calls are timed by wall time, and their total time.
SHORT, LONG, MOST_CALLS = 100, 50_000, 1_000_000
# Seconds above which there is a single run, and the time limit of a run of Bindrune.
SINGLE, LONGEST = 3, 90
BOOK = ROOT / "tests" / "programs" / "book"
BOOK_ELEMENTS = 1_000_000
# Entries of table 1 of the paper on incremental flattening without a program or data.
ABSENT = {
    "Heston D2": "the 10,000 quotes are not available",
    "Backprop": "no program", "NW": "no program", "NN": "no program",
    "SRAD": "no program", "Pathfinder": "no program",
}


@dataclass
class Request:
    """A request: rounds and runs, the backend, and the tuner if there is one."""

    options: object
    backend: str
    tuner: Tuner

    def bindrune(self, program, label, *flags):
        """Builds a program with Bindrune and these flags."""
        return build_bindrune(program, f"figures-{self.backend}-{label}", *BACKENDS[self.backend], *flags)

    def peers(self, program, label, entry):
        """Builds a program with the reference compiler."""
        built = build_all(program, label, set())
        return [Implementation(impl, [exe, "-e", entry]) for impl, exe in built.items() if impl != "bindrune"]


def spread(rounds):
    """The measurements of each implementation in a row."""
    return {
        impl: {"median": statistics.median(found), "least": min(found), "most": max(found), "rounds": found}
        for impl, found in rounds.items()
    }


def calls_for(implementation, data):
    """The number of calls for a round of the intended duration."""
    calls = 10
    while calls < MOST_CALLS:
        each = wall_per_call(implementation, data, calls)
        if each * calls > LONG / 4:
            return max(int(LONG / each), 10)
        calls *= 8
    return MOST_CALLS


def times_of(implementations, data, options):
    """Median microseconds of each round by implementation, with their spread. A round takes at most
    a second, or has a single run."""
    first = {each.name: timed_runs(each, data, 1)[0] for each in implementations}
    if min(first.values()) >= SHORT:
        slowest = max(first.values())
        runs = min(max(int(1e6 / slowest), 1), options.runs)
        return spread(round_medians(implementations, data, Namespace(rounds=options.rounds, runs=runs), slowest))
    calls = {each.name: calls_for(each, data) for each in implementations}
    rounds = {each.name: [] for each in implementations}
    for i in range(options.rounds):
        for each in implementations if i % 2 else implementations[::-1]:
            # If a process with more calls takes no longer, the number of calls is too small.
            while (found := wall_per_call(each, data, calls[each.name])) <= 0:
                calls[each.name] *= 2
            rounds[each.name].append(found)
    return spread(rounds)


def redomap(request):
    """Figure 8 of the redomap paper: nine programs over sizes, with and without fusion, compared
    with C by hand and the reference compiler."""
    for name in BENCHMARKS:
        for size in REDOMAP_SIZES:
            yield f"{name} {size}", lambda n=name, s=size: redomap_row(request, n, s)


def redomap_row(request, name, size):
    built = {
        "bindrune": request.bindrune(MINI, "mini"),
        "no redomap": request.bindrune(MINI, "mini-unfused", "--fuse", "off"),
    }
    implementations = all_implementations(name, built) + request.peers(MINI, "mini", name)
    data, notes = data_file(name, size), set()
    agreed = size > COMPARED or check_results(name, implementations, data, notes)
    times = times_of(implementations, data, request.options)
    return {"group": name, "x": size, "times": times, "agree": agreed, "notes": sorted(notes)}


def flattening_variants(request, case, tuning):
    """Contestants of a case: moderate and incremental flattening, the latter also with the
    tuning file, and the reference compiler."""
    entry = ["-e", case.entry]
    moderate = request.bindrune(case.path, f"{case.program}-moderate", "--flatten", "moderate")
    incremental = request.bindrune(case.path, case.program)
    implementations = [Implementation("MF", [moderate, *entry]), Implementation("IF", [incremental, *entry])]
    if tuning:
        implementations.append(Implementation("AIF", [incremental, *entry, "--tuning", tuning]))
    return implementations + request.peers(case.path, f"nest-{case.program}", case.entry)


def compare_variants(request, case, group, x, tuning):
    """A row of a case. Peers that fail or are much slower are left out and reported."""
    data, notes, first, implementations = case.input(), [], {}, flattening_variants(request, case, tuning)
    limit = LIMIT
    for each in sorted(implementations, key=lambda each: each.name != "IF"):
        longest = limit if each.name.startswith("futhark") else LONGEST
        found = run_once(each, data, longest)
        if found:
            first[each.name] = found
        else:
            notes.append(f"{each.name} fails or takes more than {longest:.0f} s")
        if each.name == "IF":
            limit = min(LIMIT, max(10, 3 * found[1] / 1e6))
    results = {impl: result for impl, (result, _) in first.items()}
    wrong = [impl for impl, result in results.items() if not results_agree(case, results["IF"], result)]
    if not matches_expected(case, results["IF"]):
        notes.append("the result differs from the one provided with the input")
        wrong.append("IF")
    notes += [f"{impl} has another result" for impl in wrong]
    single = {impl: [time] for impl, (_, time) in first.items() if time > SINGLE * 1e6}
    notes += [f"{impl}: a single run" for impl in single]
    times = spread(single)
    if others := [each for each in implementations if each.name in first and each.name not in single]:
        times |= times_of(others, data, request.options)
    case.delete_input()
    return {"group": group, "x": x, "times": times, "agree": not wrong, "notes": notes}


def product_tuning(request):
    """The tuning file for matrix products, found on the small ones as in the paper."""
    return request.tuner.tuning_file([case for case in matrix_products() if "2^20" in case.name])


def product_rows(request):
    """Figure 2: matrix products of constant work in all shapes."""
    for case in matrix_products():
        _, work, n = case.name.split()
        x = int(n.removeprefix("n="))
        yield case.name, lambda c=case, w=work, x=x: compare_variants(request, c, w, x, product_tuning(request))


def volatility_cases():
    """The three data sets of figure 7. The largest is generated with the sizes that the paper
    gives and the parameters of the others."""
    for size in ("small", "medium", "large"):
        large = size == "large"
        yield Case(
            f"LocVolCalib {size}", "local_volatility", "main",
            make=(lambda: local_volatility_input(256, 256, 256, 64)) if large else None,
            file=None if large else f"LocVolCalib/{size}.in",
        )


def bulk_cases():
    """The available benchmarks of figure 8."""
    available = {case.name: case for case in cases()}
    for name in ("Heston 1062", "OptionPricing D1", "OptionPricing D2"):
        yield available[name]
    yield Case("LavaMD D1", "lava_md", "main", lambda: lava_md_input(10, 50))
    yield available["LavaMD D2"]


def training(case):
    """The training cases of a case: other data if there are any, as in the paper, else the case
    itself."""
    folder = case.file.rpartition("/")[0] if case.file else ""
    names = {"OptionPricing": ["train-D1.in"], "lavaMD": ["train-D2.in"], "heston32": ["train-1162-quotes.in"],
             "LocVolCalib": ["train-small.in", "train-medium.in"]}.get(folder, [])
    found = [Case(f"{case.name} {name}", case.program, case.entry, file=f"{folder}/{name}") for name in names]
    return [case for case in found if case.input()]


def training_sets(selected):
    """The training cases of each program, by program and entry point."""
    sets = {}
    for case in selected:
        if case.input():
            found = sets.setdefault((case.program, case.entry), {})
            found |= {other.name: other for other in training(case) or [case]}
    return {key: list(found.values()) for key, found in sets.items()}


def nest_rows(request, selected, group_of):
    """Rows of cases with available inputs."""
    sets = None
    for case in selected:
        def measure(case=case):
            nonlocal sets
            sets = sets or training_sets(selected)
            group, x = group_of(case)
            return compare_variants(request, case, group, x, request.tuner.tuning_file(sets[case.program, case.entry]))
        if case.make or case.input():
            yield case.name, measure


def volatility_rows(request):
    """Figure 7: LocVolCalib."""
    yield from nest_rows(request, list(volatility_cases()), lambda case: tuple(case.name.split()))


def bulk_rows(request):
    """Figure 8: the benchmarks with available programs and data."""
    names = {"Heston 1062": ("Heston", "D1")}
    yield from nest_rows(request, list(bulk_cases()), lambda case: names.get(case.name, tuple(case.name.split())))


def other_nest_rows(request):
    """The other nests: segments and known slow cases."""
    selected = [*segmented_operations(), *known_slow_cases()]
    yield from nest_rows(request, selected, lambda case: (case.program, case.name))


def tuning_rows(request):
    """The number of runs that a search for thresholds takes, by program."""
    sets = {("matmul", "main"): [case for case in matrix_products() if "2^20" in case.name]}
    for selected in ([*volatility_cases(), *bulk_cases()], [*segmented_operations(), *known_slow_cases()]):
        sets |= training_sets(selected)
    for (program, entry), trained in sets.items():
        name = program if entry == "main" else f"{program}:{entry}"
        yield name, lambda n=name, t=trained: tuning_row(request, n, t)


def tuning_row(request, name, trained):
    exe = request.bindrune(trained[0].path, trained[0].program)
    counts, notes = search([exe, "-e", trained[0].entry], trained) or ({}, ["a data set fails"])
    for case in trained:
        case.delete_input()
    return {"group": name, "x": len(trained), "counts": counts, "agree": bool(counts), "notes": notes}


def basis_rows(request):
    """The minimal basis: library functions compared with the built-in ones."""
    for size in BASIS_SIZES:
        for entry in BASIS_ENTRIES:
            yield f"{entry} {size}", lambda e=entry, s=size: basis_row(request, e, s)


def basis_row(request, entry, size):
    ours = Implementation("bindrune", [request.bindrune(BASIS, "basis"), "-e", entry])
    implementations = [ours, *request.peers(BASIS, "basis", entry)]
    times = times_of(implementations, basis_input(BASIS_ENTRIES[entry], size), request.options)
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
        "scan_sum": lambda: flags(n, 1) + random_below(1000, n, 2),
        "scan_max": lambda: flags(n, 1) + f64s(n, 3),
        "repl_iota": lambda: i64s(sizes(n, 4)),
        "repl": lambda: i64s(sizes(n, 4)) + random_below(1000, len(sizes(n, 4)), 5),
        "seg_iota": lambda: flags(n, 1),
        "to_flags": lambda: i64s(sizes(n, 4)),
        "reduce_sum": lambda: i64s(sizes(n, 4)) + random_below(1000, sum(sizes(n, 4)), 6),
        "map_iota": lambda: i64s(sizes(n, 4)),
    }
    rows = lambda: matrix("i32", (side, side), vector_bytes(side * side))
    segmented |= {"regular_scan": rows, "map_scan": rows}
    for entry, generate in segmented.items():
        yield "segmented", entry, generate
    for entry in ("by_reduction", "by_scan"):
        yield "longest_streak", entry, lambda: random_below(1 << 20, n, 7)


def vector_bytes(n):
    """The bytes of n integers below 1000, without the header."""
    return random_below(1000, n, 8)[-4 * n:]


def book_rows(request):
    """The book's examples in all modes of flattening."""
    for program, entry, generate in book_inputs():
        yield entry, lambda p=program, e=entry, g=generate: book_row(request, p, e, g)


def book_row(request, program, entry, generate):
    path, data = BOOK / f"{program}.fut", WORK / f"book-{entry}.in"
    if not data.exists():
        data.write_bytes(generate())
    modes = {"MF": "moderate", "IF": "incremental", "full": "full"}
    built = {impl: request.bindrune(path, f"{program}-{mode}", "--flatten", mode) for impl, mode in modes.items()}
    implementations = [Implementation(impl, [exe, "-e", entry]) for impl, exe in built.items()]
    implementations += request.peers(path, f"book-{program}", entry)
    results = [run_once(each, data, LIMIT) for each in implementations]
    wrong = [each.name for each, found in zip(implementations, results) if found is None or found[0] != results[0][0]]
    times = times_of([each for each in implementations if each.name not in wrong], data, request.options)
    notes = [f"{impl} fails or has another result" for impl in wrong]
    return {"group": program, "x": entry, "times": times, "agree": not wrong, "notes": notes}


# Name: the generator of rows, and the absent ones.
FIGURES = {
    "redomap": (redomap, {}), "products": (product_rows, {}), "volatility": (volatility_rows, {}),
    "bulk": (bulk_rows, ABSENT), "nests": (other_nest_rows, {}), "tuning": (tuning_rows, {}), "basis": (basis_rows, {}),
    "book": (book_rows, {}),
}


def absent(name, request):
    """The data and implementations that a figure lacks, and why."""
    found = dict(FIGURES[name][1])
    selected = {"bulk": bulk_cases, "volatility": volatility_cases, "products": matrix_products}.get(name)
    for case in selected() if selected else ():
        if not case.make and not case.input():
            found[case.name] = f"the input is not in {DATA.name}"
    if not find_program("FUTHARK", "futhark"):
        found["futhark c, multicore, ispc"] = "the reference compiler is not installed"
    elif not shutil.which("ispc"):
        found["futhark ispc"] = "the compiler ispc is not installed"
    if name in ("products", "volatility", "bulk", "nests") and not request.tuner.available:
        found["AIF"] = "this compiler has no command `tune`"
    return found
