#!/usr/bin/env python3
"""Measures what the figures of the papers show, for `cargo xtask figures`.

    python3 bench/figures.py                        all figures
    python3 bench/figures.py redomap --case mssp    some rows of one figure
    python3 bench/figures.py --quick                one round, into build/bench/figures

Figures: redomap, products, volatility, bulk, nests, tuning, basis, book (see README.md). Rows are
written to `data.json` in the folder (default docs/figures) as soon as they are measured, each
figure with the machine, the compilers, the settings and the command. Rows of earlier calls stay
if these are unchanged; other figures are not touched. Requirements and environment are those of
run.py. Exits 1 if implementations disagree on a result.
"""

import argparse
import json
import math
import os
import sys
import time
from pathlib import Path

from harness import ROOT, WORK, compiler, machine, run_checked, tools
from papers import BACKENDS, FIGURES, Request, absent
from tuning import Tuner

FOLDER = ROOT / "docs" / "figures"


def conditions():
    """The machine and the compilers."""
    return machine() | tools() | {"bindrune": run_checked([compiler(), "--version"]).decode().strip()}


def command(name, options):
    words = ["python3", "bench/figures.py", name, "--rounds", options.rounds, "--runs", options.runs]
    if options.backend != next(iter(BACKENDS)):
        words += ["--backend", options.backend]
    return " ".join(map(str, words))


def reusable_rows(known, head):
    """The rows of a figure that were measured in the same conditions."""
    same = all(known.get(key) == value for key, value in head.items())
    return known.get("rows", {}) if same else {}


def load(path):
    """Reads the stored figures."""
    return json.loads(path.read_text())["figures"] if path.exists() else {}


def save(path, key, figure):
    """Adds a figure to the file. The file is replaced atomically, so that an interruption loses
    nothing."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps({"figures": load(path) | {key: figure}}, indent=1, sort_keys=True) + "\n")
    os.replace(new, path)


def measure(name, request, path):
    """Measures the requested rows of a figure. Returns true if all results agree."""
    key = name if request.backend == next(iter(BACKENDS)) else f"{name} {request.backend}"
    head = {"command": command(name, request.options), "machine": conditions(), "backend": request.backend}
    rows, figure = reusable_rows(load(path).get(key, {}), head), FIGURES[name][0]
    selected, good = dict(figure(request)), True
    if not any(request.options.case in row for row in selected):
        print(f"{key}: no row has {request.options.case!r} in its name; there are: {', '.join(selected)}", flush=True)
    rows = {row: found for row, found in rows.items() if row in selected}
    for index, (row, measure_row) in enumerate(selected.items()):
        requested = request.options.case in row and not (request.options.missing and row in rows)
        if requested and time.monotonic() < request.options.end:
            load_average = os.getloadavg()[0]
            rows[row] = measure_row() | {"date": time.strftime("%Y-%m-%d"), "load": round(load_average, 2)}
            good &= rows[row]["agree"]
            print(f"{key} {index + 1}/{len(selected)} {row}: {brief(rows[row])}", flush=True)
        if row in rows:
            rows[row]["rank"] = index
        save(path, key, head | {"absent": absent(name, request), "rows": rows})
    return good


def brief(row):
    """The one-line form of a row."""
    times = {impl: round(found["median"], 2) for impl, found in row.get("times", {}).items()}
    shown = ", ".join(f"{impl} {value}" for impl, value in (times | row.get("counts", {})).items())
    return "; ".join([shown, *row["notes"]])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("figures", nargs="*", default=list(FIGURES), help=" ".join(FIGURES))
    parser.add_argument("--case", default="", help="only rows with this in the name")
    parser.add_argument("--missing", action="store_true", help="only rows without measurements")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no row after this long")
    parser.add_argument("--quick", action="store_true", help="one round of two runs, to test the benchmarks")
    parser.add_argument("--rounds", type=int, default=5, help="rounds in which implementations alternate")
    parser.add_argument("--runs", type=int, default=5, help="runs of each implementation in a round")
    parser.add_argument("--backend", choices=BACKENDS, default=next(iter(BACKENDS)), help="the backend of Bindrune")
    parser.add_argument("--folder", type=Path, help="the folder of data.json")
    options = parser.parse_args()
    options.end = time.monotonic() + options.seconds
    if options.quick:
        options.rounds, options.runs = 1, 2
        options.folder = options.folder or WORK / "figures"
    unknown = set(options.figures) - set(FIGURES)
    if unknown:
        parser.error(f"no such figure: {' '.join(sorted(unknown))}")
    if not compiler():
        sys.exit("bindrune is not built")
    folder = options.folder or FOLDER
    for needed in (WORK, folder):
        needed.mkdir(parents=True, exist_ok=True)
    path = folder / "data.json"
    request, good = Request(options, options.backend, Tuner()), True
    for name in options.figures:
        good &= measure(name, request, path)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
