#!/usr/bin/env python3
"""Figures on nests whose points have different amounts of work.

    python3 bench/irregular.py                    all programs, all sizes
    python3 bench/irregular.py --only quicksort --rounds 5

Compares each entry point of programs/irregular.fut with its sequential variant: on one thread,
where tasks should cost nothing, and on two. Times of one thread are processor times, so other load
on the machine matters little; times of two threads are those of the busier one, including busy
waiting. Environment: BINDRUNE.
"""

import argparse
import array
import os
import random
import statistics
import subprocess
import sys
import time

from contest import HERE, ROOT, WORK, shell, tool
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


def threads_of(process):
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


def measure(executable, entry, data, threads, runs):
    """Milliseconds per run of the busiest thread."""
    command = [executable, "-e", entry, f"--num-threads={threads}", "-r", str(runs), "-n"]
    with open(data, "rb") as source:
        process = subprocess.Popen(command, stdin=source, stdout=subprocess.DEVNULL)
        # A process that ends at once is not sampled.
        return max(threads_of(process), default=0.0) / runs


def runs_for(executable, entry, data):
    """The number of runs for a measurement of the intended duration."""
    runs = 1
    while runs < 1_000_000:
        begin = time.monotonic()
        measure(executable, entry, data, 1, runs)
        taken = time.monotonic() - begin
        if taken > SECONDS / 4:
            return max(int(runs * SECONDS / taken), 1)
        runs *= 8
    return runs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", choices=INPUTS, help="one program")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each contestant")
    options = parser.parse_args()
    compiler = tool("BINDRUNE", str(ROOT / "build" / "bindrune"))
    if not compiler:
        sys.exit("bindrune is not built")
    WORK.mkdir(parents=True, exist_ok=True)
    executable, data = WORK / "irregular-bindrune", WORK / "irregular.in"
    shell([compiler, "build", PROGRAM, "-o", executable])
    print("| program | size | in order, ms | one thread, ms | times as fast | two threads, ms | times as fast as one |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    good = True
    for entry in options.only or INPUTS:
        for size, make in INPUTS[entry].items():
            data.write_bytes(make(size))
            in_order, results = f"{entry}_in_order", []
            for name in (entry, in_order):
                with open(data, "rb") as source:
                    results.append(parse(shell([executable, "-e", name, "-b"], stdin=source)))
            if not agree(*results, 1e-9):
                print(f"{entry} {size}: results differ")
                good = False
            runs = runs_for(executable, entry, data)
            turns = [(in_order, 1), (entry, 1), (entry, 2)]
            times = {turn: [] for turn in turns}
            for _ in range(options.rounds):
                for turn in turns:
                    times[turn].append(measure(executable, turn[0], data, turn[1], runs))
            alone, one, two = (statistics.median(times[turn]) for turn in turns)
            print(f"| {entry} | {size} | {alone:.4f} | {one:.4f} | {alone / one:.2f} | {two:.4f} | {one / two:.2f} |", flush=True)
    data.unlink()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
