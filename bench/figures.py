#!/usr/bin/env python3
"""Measures what the figures of the papers show, and keeps it for `cargo xtask figures`.

    python3 bench/figures.py                        all figures
    python3 bench/figures.py redomap --case mssp    some rows of one, the others are kept
    python3 bench/figures.py --quick                one round, into build/bench/figures

Figures: redomap, products, volatility, bulk, nests, tuning, basis, book (see README.md). Rows are
written to `data.json` in the folder (default docs/figures) as soon as they are measured, each
figure with the machine, the compilers, the settings and the command. Rows of earlier calls are kept
if these are unchanged; other figures are not touched. Requirements and environment are those of
run.py. Exits 1 if contestants disagree on a result.
"""

import argparse
import json
import math
import os
import sys
import time
from pathlib import Path

from contest import ROOT, WORK, machine, shell
from lanes import compiler
from papers import BACKENDS, FIGURES, Ask, absent
from tuned import Tuner

FOLDER = ROOT / "docs" / "figures"


def where():
    """The machine and the compilers, without transient properties."""
    found = machine()
    del found["date"], found["load"]
    return found | {"bindrune": shell([compiler(), "--version"]).decode().strip()}


def command(name, options):
    words = ["python3", "bench/figures.py", name, "--rounds", options.rounds, "--runs", options.runs]
    if options.backend != next(iter(BACKENDS)):
        words += ["--backend", options.backend]
    return " ".join(map(str, words))


def kept(known, head):
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


def measure(name, ask, path):
    """Measures the requested rows of a figure. Returns true if all results agree."""
    key = name if ask.backend == next(iter(BACKENDS)) else f"{name} {ask.backend}"
    head = {"command": command(name, ask.options), "machine": where(), "backend": ask.backend}
    rows, figure = kept(load(path).get(key, {}), head), FIGURES[name][0]
    listed, good = dict(figure(ask)), True
    if not any(ask.options.case in row for row in listed):
        print(f"{key}: no row has {ask.options.case!r} in its name; there are: {', '.join(listed)}", flush=True)
    rows = {row: found for row, found in rows.items() if row in listed}
    for place, (row, make) in enumerate(listed.items()):
        wanted = ask.options.case in row and not (ask.options.missing and row in rows)
        if wanted and time.monotonic() < ask.options.end:
            busy = os.getloadavg()[0]
            rows[row] = make() | {"date": time.strftime("%Y-%m-%d"), "load": round(busy, 2)}
            good &= rows[row]["agree"]
            print(f"{key} {place + 1}/{len(listed)} {row}: {brief(rows[row])}", flush=True)
        if row in rows:
            rows[row]["place"] = place
        save(path, key, head | {"absent": absent(name, ask), "rows": rows})
    return good


def brief(row):
    """The one-line form of a row."""
    times = {who: round(found["median"], 2) for who, found in row.get("times", {}).items()}
    shown = ", ".join(f"{who} {value}" for who, value in (times | row.get("counts", {})).items())
    return "; ".join([shown, *row["notes"]])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("figures", nargs="*", default=list(FIGURES), help=" ".join(FIGURES))
    parser.add_argument("--case", default="", help="only rows with this in the name")
    parser.add_argument("--missing", action="store_true", help="only rows that are not there yet")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no row after this long")
    parser.add_argument("--quick", action="store_true", help="one round of two runs, to see that all works")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contestant")
    parser.add_argument("--runs", type=int, default=5, help="runs a turn")
    parser.add_argument("--backend", choices=BACKENDS, default=next(iter(BACKENDS)), help="what our code runs on")
    parser.add_argument("--folder", type=Path, help="where data.json is")
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
    ask, good = Ask(options, options.backend, Tuner()), True
    for name in options.figures:
        good &= measure(name, ask, path)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
