"""Figures on reductions along the rows and columns of matrices of several shapes."""

import array
import random

from harness import HERE, WORK, Implementation, build_all, interleave, medians, result
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


def figure_rows(options, warnings):
    """Median run times, implementations alternating."""
    built, rows, good = build_all(PROGRAM, "rows", warnings), {}, True
    for entry in ENTRIES:
        implementations = [Implementation(impl, [exe, "-e", entry]) for impl, exe in built.items()]
        for shape in SHAPES:
            data, name = input_file(entry, *shape), f"{entry} {shape[0]}x{shape[1]}"
            results = [parse(result(each, data)) for each in implementations]
            if not all(agree(results[0], other, 1e-9) for other in results):
                warnings.add(f"{name}: results differ")
                good = False
            rows[name] = medians(interleave(implementations, data, options))
            print(name, rows[name], flush=True)
            data.unlink()
    return {"microseconds": rows, "agree": good}
