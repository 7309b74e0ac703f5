"""The programs of the figure `ad` in JAX.

    python3 ad.py [CORE]

Measures on request, on a single core if one is given. A request is a line of standard input, a JSON array of the name
of a program, `primal` or `derivative`, a file with arguments in Futhark's binary format, a file for the results, and
the number of runs. The answer is a line with the microseconds of each run after one that is not measured, null if there is
no such program, or a string with an error. Compiled functions are kept until a request names another program.
"""

import json
import os
import sys
import time

if len(sys.argv) > 1:
    # Before JAX starts its threads.
    os.sched_setaffinity(0, {int(sys.argv[1])})

import jax
import numpy as np

from ad_operators import OPERATORS
from ad_programs import PROGRAMS
from users import read, write


def compile_program(name, path):
    """Primal and derivative as compiled functions, and the arguments; None without the program."""
    make = (PROGRAMS | OPERATORS).get(name)
    if make is None:
        return None
    with open(path, "rb") as file:
        args = read(file.read())
    primal, derivative = make(*args)
    arrays = [jax.device_put(arg) for arg in args]
    return {"primal": jax.jit(primal), "derivative": jax.jit(derivative)}, arrays


def measure(function, args, target, runs):
    """Microseconds of each run; the results are written to a file."""
    times = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        results = jax.block_until_ready(function(*args))
        times.append((time.perf_counter() - start) * 1e6)
    with open(target, "wb") as file:
        for value in jax.tree.leaves(results):
            file.write(write(np.asarray(value)))
    return times[1:]


def main():
    jax.config.update("jax_enable_x64", True)
    current, compiled = None, None
    for line in sys.stdin:
        name, entry, source, target, runs = json.loads(line)
        try:
            if name != current:
                jax.clear_caches()
                current, compiled = name, compile_program(name, source)
            answer = compiled and measure(compiled[0][entry], compiled[1], target, runs)
        except Exception as error:
            answer = str(error).split("\n")[0]
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
