"""Figures on vector lanes: programs with and without them, mathematical functions compared with
the C library's vector functions, and the cost in compile time."""

import array
import math
import random
import statistics
import time

from contest import HERE, ROOT, WORK, Contestant, build_peer, medians, shell, take_turns, tool
from values import agree, matrix, parse, random_i32s, scalar, vector

CLASSIC = ROOT / "tests" / "programs" / "classic"
FUNCTIONS = HERE / "programs" / "functions.fut"
# Elements per block, so that arguments and results stay in the L1 cache.
BLOCK = 4096
ELEMENTS = 10_000_000


def reals(elem, count, seed, low=0.0, high=1.0):
    source = random.Random(seed)
    return array.array("f" if elem == "f32" else "d", (source.uniform(low, high) for _ in range(count)))


def real_matrix(rows, columns, seed):
    return matrix("f64", (rows, columns), reals("f64", rows * columns, seed))


def nbody_input(n=10_000):
    bodies = real_matrix(n, 3, 1) + real_matrix(n, 3, 2)
    return scalar("i32", 1) + scalar("f64", 0.01) + bodies + vector("f64", reals("f64", n, 3))


def lu_input():
    n, source = 512, random.Random(4)
    data = array.array("d", (source.random() + (n if i % (n + 1) == 0 else 0) for i in range(n * n)))
    return matrix("f64", (n, n), data)


def mandelbrot_input():
    size = scalar("i64", 2000) * 2 + scalar("i32", 100)
    return size + b"".join(scalar("f64", x) for x in (-2.07, 0.73, -1.17, 1.19))


def life_input():
    source = random.Random(5)
    world = array.array("b", (source.randrange(2) for _ in range(2000 * 2000)))
    return scalar("i32", 10) + matrix("i8", (2000, 2000), world)


def radix_input():
    data = array.array("I", random.Random(6).randbytes(4 * 1_000_000))
    return vector("u32", data)


def histogram_input():
    source = random.Random(7)
    data = array.array("i", (source.randrange(1000) for _ in range(ELEMENTS)))
    return scalar("i64", 1000) + vector("i32", data)


# Name: file, entry point, input, the goal for the ratio.
PROGRAMS = {
    "mandelbrot": (CLASSIC / "mandelbrot.fut", "counts", mandelbrot_input, 5.0),
    "nbody": (CLASSIC / "simulation.fut", "nbody", nbody_input, 5.0),
    "kmeans": (CLASSIC / "simulation.fut", "kmeans",
               lambda: scalar("i64", 16) + scalar("i32", 5) + real_matrix(200_000, 4, 8), 1.0),
    "jacobi": (CLASSIC / "stencils.fut", "jacobi",
               lambda: scalar("i32", 20) + real_matrix(1000, 1000, 9), 1.0),
    "life": (CLASSIC / "stencils.fut", "life", life_input, 1.0),
    "lu": (CLASSIC / "linear_algebra.fut", "lu", lu_input, 1.0),
    "histogram": (CLASSIC / "simulation.fut", "histogram", histogram_input, 1.0),
    "radix_sort": (CLASSIC / "sorting.fut", "radix_sort", radix_input, 1.0),
}


def compiler():
    return tool("BINDRUNE", str(ROOT / "build" / "bindrune"))


def input_file(name, make):
    path = WORK / f"{name}.in"
    if not path.exists():
        path.write_bytes(make())
    return path


def result(contestant, data):
    with open(data, "rb") as source:
        return shell([*contestant.command, "-b"], stdin=source)


def figure_lanes(options, notes):
    """Programs with and without lanes: equal bits, and times."""
    if not compiler():
        notes.add("bindrune is not built")
        return {"microseconds": {}, "agree": True}
    rows, good = {}, True
    for name, (path, entry, make, _) in PROGRAMS.items():
        entrants = []
        for label, lanes in [("bindrune", "auto"), ("lanes off", "off")]:
            exe = WORK / f"lanes-{path.stem}-{lanes}"
            shell([compiler(), "build", path, "--lanes", lanes, "-o", exe])
            entrants.append(Contestant(label, [exe, "-e", entry]))
        data = input_file(f"lanes-{name}", make)
        if result(entrants[0], data) != result(entrants[1], data):
            notes.add(f"{name}: lanes change the result")
            good = False
        rows[name] = medians(take_turns(entrants, data, options))
        print(name, rows[name], flush=True)
    return {"microseconds": rows, "agree": good}


# Name: the C function, ranges (low, high) of well-behaved and badly behaved arguments.
ARGUMENTS = {
    "exp": ((-10, 10), (-1000, 1000)),
    "log": ((0.01, 100), (-1, 1)),
    "sin": ((-3, 3), (-1e9, 1e9)),
    "cos": ((-3, 3), (-1e9, 1e9)),
    "pow": ((0.01, 100), (-1e-30, 1e30)),
}


def function_input(elem, name, bounds, seed):
    rounds = ELEMENTS // BLOCK
    data = scalar("i64", rounds) + vector(elem, reals(elem, BLOCK, seed, *bounds))
    if name == "pow":
        data += vector(elem, reals(elem, BLOCK, seed + 1, -5, 5))
    return data


def build_function(name, elem):
    real, suffix = ("float", "f") if elem == "f32" else ("double", "")
    flags = ["-Ofast", f"-DFUNCTION={name}{suffix}", f"-DREAL={real}", f'-DTYPE=" {elem}"']
    flags += ["-DARGUMENTS=2"] if name == "pow" else []
    return build_peer("functions", f"{name}-{elem}", flags)


def figure_functions(options, notes):
    """Mathematical functions on one core, compared with the C library's vector functions."""
    if not compiler():
        notes.add("bindrune is not built")
        return {"microseconds": {}, "agree": True}
    exe, rows, good = WORK / "functions", {}, True
    shell([compiler(), "build", FUNCTIONS, "-o", exe])
    for elem in ["f32", "f64"]:
        for name, (well, badly) in ARGUMENTS.items():
            ours = Contestant("bindrune", [exe, "--num-threads", "1", "-e", f"{name}_{elem}"])
            peer = Contestant("libmvec", [build_function(name, elem)])
            row = {}
            for kind, bounds in [("", well), (" bad", badly)]:
                data = input_file(
                    f"functions-{name}-{elem}{kind.strip()}",
                    lambda b=bounds: function_input(elem, name, b, len(name)),
                )
                times = medians(take_turns([peer, ours], data, options))
                row |= {label + kind: time for label, time in times.items()}
                results = [parse(result(c, data)) for c in (peer, ours)]
                if not kind and not agree(*results, 1e-3):
                    notes.add(f"{name}_{elem}: bindrune and libmvec disagree")
                    good = False
            rows[f"{name}_{elem}"] = row
            print(f"{name}_{elem}", row, flush=True)
    return {"elements": ELEMENTS // BLOCK * BLOCK, "microseconds": rows, "agree": good}


def figure_growth(options, notes):
    """Seconds to compile the mini-benchmarks with and without lanes."""
    if not compiler():
        notes.add("bindrune is not built")
        return {"seconds": {}}
    program, samples = HERE / "programs" / "mini.fut", {"auto": [], "off": []}
    for _ in range(max(options.rounds, 5)):
        for lanes, times in samples.items():
            start = time.perf_counter()
            shell([compiler(), "build", program, "--lanes", lanes, "-o", WORK / "timed"])
            times.append(time.perf_counter() - start)
    row = {f"lanes {lanes}": statistics.median(times) for lanes, times in samples.items()}
    return {"seconds": row, "ratio": row["lanes auto"] / row["lanes off"]}


def report_lanes(results):
    """The report's lines on this module's figures."""
    lines = []
    if "lanes" in results:
        lines += ["## Lanes", "", "| µs | lanes off | bindrune | ratio | goal |", "|---|---:|---:|---:|---:|"]
        for name, row in results["lanes"]["microseconds"].items():
            off, on = row["lanes off"], row["bindrune"]
            lines.append(f"| {name} | {off:.0f} | {on:.0f} | {off / on:.2f} | {PROGRAMS[name][3]} |")
        lines.append("")
    if "functions" in results:
        lines += [
            "## Functions", "", "Nanoseconds an element; ratio: libmvec on good arguments to bindrune.", "",
            "| | libmvec | bindrune | ratio | libmvec, bad | bindrune, bad | ratio |",
            "|---|---:|---:|---:|---:|---:|---:|",
        ]
        elements = results["functions"]["elements"]
        for name, row in results["functions"]["microseconds"].items():
            ns = {k: v * 1e3 / elements for k, v in row.items()}
            good, bad = (ns["libmvec"] / ns[k] if ns[k] else math.nan for k in ("bindrune", "bindrune bad"))
            lines.append(
                f"| {name} | {ns['libmvec']:.3f} | {ns['bindrune']:.3f} | {good:.2f} | "
                f"{ns['libmvec bad']:.3f} | {ns['bindrune bad']:.3f} | {bad:.2f} |"
            )
        lines.append("")
    if "growth" in results and results["growth"]["seconds"]:
        row = results["growth"]["seconds"]
        values = ", ".join(f"{k} {v:.3f} s" for k, v in row.items())
        lines += [f"**growth** of compile time: {values}, ratio {results['growth']['ratio']:.2f}", ""]
    return lines
