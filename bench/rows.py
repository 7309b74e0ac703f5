"""Figures on reductions along the rows and columns of matrices of several shapes."""

import array
import random

from contest import HERE, WORK, Contestant, build_futhark, medians, shell, take_turns
from values import agree, matrix, parse, vector

PROGRAM = HERE / "programs" / "rows.fut"
ENTRIES = ["row_sums", "row_maxima", "column_sums", "matrix_vector"]
# Rows and columns: 32 MB of doubles.
SHAPES = [(2000, 2000), (500_000, 8), (8, 500_000), (50_000, 80)]


def input_file(entry, rows, columns):
    """A file with a matrix, and a vector if the entry point takes one."""
    path = WORK / f"{entry}-{rows}x{columns}.in"
    if not path.exists():
        source = random.Random(rows)
        reals = array.array("d", (source.random() for _ in range(rows * columns)))
        data = matrix("f64", (rows, columns), reals)
        if entry == "matrix_vector":
            data += vector("f64", reals[:columns])
        path.write_bytes(data)
    return path


def figure_rows(options, notes):
    """Median run times, contestants alternating."""
    futhark, rows, good = build_futhark(PROGRAM, "rows", notes), {}, True
    for entry in ENTRIES:
        entrants = [Contestant(k, [exe, "-e", entry]) for k, exe in futhark.items()]
        for shape in SHAPES:
            data, name = input_file(entry, *shape), f"{entry} {shape[0]}x{shape[1]}"
            results = []
            for contestant in entrants:
                with open(data, "rb") as source:
                    results.append(parse(shell([*contestant.command, "-b"], stdin=source)))
            if not all(agree(results[0], result, 1e-9) for result in results):
                notes.add(f"{name}: results differ")
                good = False
            rows[name] = medians(take_turns(entrants, data, options))
            print(name, rows[name], flush=True)
            data.unlink()
    return {"microseconds": rows, "agree": good}
