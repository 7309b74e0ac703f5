"""Irregular nests: iterations with different amounts of work.

Compares each entry point of programs/irregular.fut with its sequential variant: on one thread,
where tasks should cost nothing, and on two. Times are processor times, so other load on the machine
matters little; times of two threads are those of the busier one, including busy waiting.
"""

import array
import os
import random
import statistics
import subprocess
import sys
import time

from harness import HERE, WORK, Implementation, build_bindrune, compiler, result
from results import number, table
from values import agree, parse, scalar, vector

PROGRAM = HERE / "programs" / "irregular.fut"
# The approximate duration of a measurement.
SECONDS = 0.5


def skewed(n, usual):
    """Numbers of which every fiftieth is much larger."""
    source = random.Random(n)
    return [usual * 20 if i % 50 == 7 else source.randrange(usual) for i in range(n)]


def integers(numbers):
    return vector("i64", array.array("q", numbers))


def sparse(n):
    """A sparse matrix with four rows that are as long as all others together."""
    source = random.Random(n)
    begins, entries = [], 0
    for i in range(n):
        begins.append(entries)
        entries += 2 * n if i % max(n // 4, 1) == 1 else 20 + source.randrange(10)
    columns = [source.randrange(n) for _ in range(entries)]
    values = array.array("d", (source.random() for _ in range(entries + n)))
    return integers(begins) + integers(columns) + vector("f64", values[:entries]) + vector("f64", values[entries:])


def shuffled(n):
    source = random.Random(n)
    return vector("i32", array.array("i", (source.randrange(-2**31, 2**31) for _ in range(n))))


INPUTS = {
    "quicksort": {n: shuffled for n in (10, 100, 1000, 10_000, 100_000, 1_000_000)},
    "queens": {n: lambda n: scalar("i64", n) for n in (4, 6, 8, 10, 12)},
    "mandelbrot": {n: lambda n: scalar("i64", n) + scalar("i32", 500) for n in (4, 16, 64, 256, 1000)},
    "sparse": {n: sparse for n in (10, 100, 1000, 10_000, 100_000)},
    "collatz": {n: lambda n: integers(skewed(n, 100)) for n in (2, 10, 100, 1000, 10_000)},
    "expand": {n: lambda n: integers(skewed(n, 100)) for n in (2, 10, 100, 1000, 10_000)},
}


def thread_times(process):
    """Milliseconds of processor time of the threads of a process, sampled until it ends."""
    spent = {}
    while process.poll() is None:
        try:
            for thread in os.listdir(f"/proc/{process.pid}/task"):
                with open(f"/proc/{process.pid}/task/{thread}/schedstat") as file:
                    spent[thread] = int(file.read().split()[0]) / 1e6
        except (FileNotFoundError, ProcessLookupError, ValueError):
            continue
        time.sleep(0.001)
    return spent.values()


def busiest_thread(executable, entry, data, threads, runs):
    """Milliseconds per run of the busiest thread."""
    command = [executable, "-e", entry, f"--num-threads={threads}", "-r", str(runs), "-n"]
    with open(data, "rb") as source:
        process = subprocess.Popen(command, stdin=source, stdout=subprocess.DEVNULL)
        # A process that ends at once is not sampled.
        return max(thread_times(process), default=0.0) / runs


def runs_for(executable, entry, data):
    """The number of runs for a measurement of the intended duration."""
    runs = 1
    while runs < 1_000_000:
        start = time.monotonic()
        busiest_thread(executable, entry, data, 1, runs)
        duration = time.monotonic() - start
        if duration > SECONDS / 4:
            return max(int(runs * SECONDS / duration), 1)
        runs *= 8
    return runs


def measure_row(executable, entry, data, options):
    """A row: the sequential variant, one thread and two threads."""
    sequential, runs = f"{entry}_sequential", runs_for(executable, entry, data)
    variants = {"sequential": (sequential, 1), "one": (entry, 1), "two": (entry, 2)}
    times = {name: [] for name in variants}
    for _ in range(options.rounds):
        for name, (each, threads) in variants.items():
            times[name].append(busiest_thread(executable, each, data, threads, runs))
    return {name: statistics.median(found) for name, found in times.items()}


def figure_irregular(options, warnings):
    """Times of all programs at all sizes."""
    if not compiler():
        warnings.add("bindrune is not built")
        return {"rows": {}}
    executable, data = build_bindrune(PROGRAM, "irregular-bindrune"), WORK / "irregular.in"
    rows, good = {}, True
    for entry, sizes in INPUTS.items():
        for size, generate in sizes.items():
            name = f"{entry} {size}"
            if options.case not in name:
                continue
            data.write_bytes(generate(size))
            variants = [Implementation(each, [executable, "-e", each]) for each in (entry, f"{entry}_sequential")]
            if not agree(*(parse(result(each, data)) for each in variants), 1e-9):
                warnings.add(f"{name}: the results of the sequential variant differ")
                good = False
            rows[name] = measure_row(executable, entry, data, options)
            print(name, {key: round(value, 4) for key, value in rows[name].items()}, flush=True)
            data.unlink()
    return {"rows": rows, "agree": good}


def report_irregular(figure):
    """The report's lines on this figure."""
    cells = []
    for name, row in figure["rows"].items():
        alone, one, two = row["sequential"], row["one"], row["two"]
        ratios = [number(a / b) if b else "" for a, b in ((alone, one), (one, two))]
        cells.append([name, number(alone, 4), number(one, 4), ratios[0], number(two, 4), ratios[1]])
    head = ["ms", "sequential", "one thread", "sequential over one", "two threads", "one over two"]
    return table(head, cells)


if __name__ == "__main__":
    sys.exit("this is now a figure: python3 bench/run.py irregular [--case TEXT]")
