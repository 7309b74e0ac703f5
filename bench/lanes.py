"""Figures on vector lanes: programs with and without them, mathematical functions compared with
the C library's vector functions, and the cost in compile time."""

import array
import random
import statistics
import time

from harness import (
    HERE,
    ROOT,
    WORK,
    Implementation,
    build_c_peer,
    compiler,
    input_file,
    interleave,
    medians,
    result,
    run_checked,
)
from results import number, table
from values import agree, matrix, parse, scalar, vector

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


def figure_lanes(options, warnings):
    """Programs with and without lanes: equal bits, and times."""
    if not compiler():
        warnings.add("bindrune is not built")
        return {"microseconds": {}, "agree": True}
    rows, good = {}, True
    for name, (path, entry, generate, _) in PROGRAMS.items():
        implementations = []
        for label, lanes in [("bindrune", "auto"), ("lanes off", "off")]:
            exe = WORK / f"lanes-{path.stem}-{lanes}"
            run_checked([compiler(), "build", path, "--lanes", lanes, "-o", exe])
            implementations.append(Implementation(label, [exe, "-e", entry]))
        data = input_file(f"lanes-{name}", generate)
        if result(implementations[0], data) != result(implementations[1], data):
            warnings.add(f"{name}: lanes change the result")
            good = False
        rows[name] = medians(interleave(implementations, data, options))
        print(name, rows[name], flush=True)
    return {"microseconds": rows, "agree": good}


# Name of the C function: ranges (low, high) of typical arguments, and of arguments that include
# overflow, underflow, negative or large ones.
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
    return build_c_peer("functions", f"{name}-{elem}", flags)


def figure_functions(options, warnings):
    """Nanoseconds per element of mathematical functions, compared with libmvec's."""
    if not compiler():
        warnings.add("bindrune is not built")
        return {"nanoseconds": {}, "agree": True}
    exe, rows, good, elements = WORK / "functions", {}, True, ELEMENTS // BLOCK * BLOCK
    run_checked([compiler(), "build", FUNCTIONS, "-o", exe])
    for elem in ["f32", "f64"]:
        for name, (well, badly) in ARGUMENTS.items():
            ours = Implementation("bindrune", [exe, "--num-threads", "1", "-e", f"{name}_{elem}"])
            peer = Implementation("libmvec", [build_function(name, elem)])
            row = {}
            for kind, bounds in [("", well), (" bad", badly)]:
                data = input_file(
                    f"functions-{name}-{elem}{kind.strip()}",
                    lambda b=bounds: function_input(elem, name, b, len(name)),
                )
                times = medians(interleave([peer, ours], data, options))
                row |= {label + kind: time * 1e3 / elements for label, time in times.items()}
                results = [parse(result(each, data)) for each in (peer, ours)]
                if not kind and not agree(*results, 1e-3):
                    warnings.add(f"{name}_{elem}: bindrune and libmvec disagree")
                    good = False
            rows[f"{name}_{elem}"] = row
            print(f"{name}_{elem}", row, flush=True)
    ratios = {name: ratios_to_libmvec(row) for name, row in rows.items()}
    return {"elements": elements, "nanoseconds": rows, "ratios": ratios, "agree": good}


def figure_growth(options, warnings):
    """Seconds to compile the mini-benchmarks with and without lanes."""
    if not compiler():
        warnings.add("bindrune is not built")
        return {"seconds": {}}
    program, samples = HERE / "programs" / "mini.fut", {"auto": [], "off": []}
    for _ in range(max(options.rounds, 5)):
        for lanes, times in samples.items():
            start = time.perf_counter()
            run_checked([compiler(), "build", program, "--lanes", lanes, "-o", WORK / "timed"])
            times.append(time.perf_counter() - start)
    row = {f"lanes {lanes}": statistics.median(times) for lanes, times in samples.items()}
    return {"seconds": row, "ratio": row["lanes auto"] / row["lanes off"]}


def report_lanes(figure):
    """The report's lines on programs."""
    cells = []
    for name, row in figure["microseconds"].items():
        off, on = row["lanes off"], row["bindrune"]
        cells.append([name, number(off, 0), number(on, 0), number(off / on), str(PROGRAMS[name][3])])
    return table(["µs", "lanes off", "bindrune", "ratio", "goal"], cells)


def ratios_to_libmvec(row):
    """libmvec's time on typical arguments over Bindrune's on typical and on difficult ones."""
    return [row["libmvec"] / row[impl] for impl in ("bindrune", "bindrune bad")]


def report_functions(figure):
    """The report's lines on mathematical functions."""
    cells = []
    for name, row in figure["nanoseconds"].items():
        ratios = figure.get("ratios", {}).get(name) or ratios_to_libmvec(row)
        shown = [number(row[impl], 3) for impl in ("libmvec", "bindrune", "libmvec bad", "bindrune bad")]
        cells.append([name, *shown[:2], number(ratios[0]), *shown[2:], number(ratios[1])])
    head = ["ns per element", "libmvec", "bindrune", "ratio", "libmvec, difficult", "bindrune, difficult", "ratio"]
    return table(head, cells) + [
        "", "Ratios: libmvec on typical arguments over Bindrune on typical and on difficult ones.",
    ]


def report_growth(figure):
    """The report's lines on compile time."""
    cells = [[name, number(seconds, 3)] for name, seconds in figure["seconds"].items()]
    return [*(table(["", "s"], cells) + [""] if cells else []), f"Ratio: {figure['ratio']:.2f}."]
