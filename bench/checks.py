"""The figure `checks`: the number of checks left in the bodies of parallel loops, counted in the
compiler's text of the stage `segs`."""

import os
import re
import statistics
import subprocess
import time
from collections import Counter
from pathlib import Path

from harness import ROOT, baseline_compiler, compiler
from results import table

SEGOP = re.compile(r"= seg[a-z]+\b")
CHECK = re.compile(r"\bassert [^ ]+ \((.*)\)\s*$")
# Kinds of checks, with parts of their messages.
KINDS = [
    ("index", "out of bounds"), ("division", "division by zero"), ("range", "Range "),
    ("shape", "cannot match shape"), ("size", "size"), ("match", "match"), ("assertion", "assert"),
]
# The most programs in the report.
MOST_ROWS = 40


def kind(message):
    """The kind of a check, from its message."""
    return next((name for name, part in KINDS if part.lower() in message.lower()), "other")


def checks(text):
    """The number of checks of each kind in the bodies of segmented operations."""
    found, parallel, opens = Counter(), [], []
    for line in text.splitlines():
        bare = re.sub(r'"(?:[^"\\]|\\.)*"', '""', line)
        if parallel:
            check = CHECK.search(line)
            if check:
                found[kind(check.group(1))] += 1
        segop = bool(SEGOP.search(bare))
        for char in bare:
            if char == "{":
                opens.append(segop)
                if segop:
                    parallel.append(len(opens))
            elif char == "}" and opens:
                if parallel and parallel[-1] == len(opens):
                    parallel.pop()
                opens.pop()
    return found


def programs():
    """The programs below BENCHMARKS (folders separated by colons) and in `tests/programs`. Of
    identical files, which are copies of libraries, only the first is used."""
    roots = [Path(p) for p in os.environ.get("BENCHMARKS", "").split(":") if p]
    roots.append(ROOT / "tests" / "programs")
    found = {}
    for path in (path for root in roots for path in sorted(root.rglob("*.fut"))):
        found.setdefault(path.read_bytes(), path)
    return list(found.values())


def count(binary, paths):
    """Checks by kind for each program that compiles, and the total time in seconds."""
    found, start = {}, time.perf_counter()
    for path in paths:
        command = [binary, "dev", "--stage", "segs", path]
        try:
            done = subprocess.run(command, capture_output=True, timeout=60)
        except subprocess.TimeoutExpired:
            continue
        if done.returncode == 0:
            found[str(path)] = checks(done.stdout.decode(errors="replace"))
    return found, time.perf_counter() - start


def figure_checks(_options, warnings):
    """Checks in parallel loops left by Bindrune and by the baseline."""
    if not compiler():
        warnings.add("bindrune is not built")
        return {"programs": {}, "kinds": {}}
    compilers = {"bindrune": compiler()}
    if baseline := baseline_compiler():
        compilers["baseline"] = baseline
    paths, counts, seconds = programs(), {}, {}
    for name, binary in compilers.items():
        counts[name], seconds[name] = count(binary, paths)
    both = [p for p in map(str, paths) if all(p in found for found in counts.values())]
    rows = {p: {name: sum(found[p].values()) for name, found in counts.items()} for p in both}
    kinds = {name: sum((found[p] for p in both), Counter()) for name, found in counts.items()}
    return {
        "programs": {"/".join(Path(p).parts[-3:]): row for p, row in rows.items() if any(row.values())},
        "compiled": len(both), "kinds": kinds, "seconds": seconds,
    }


def report_checks(figure):
    """The report's lines on this figure."""
    names, rows = list(figure["kinds"]), figure["programs"]
    by_count = sorted(rows.items(), key=lambda item: -max(item[1].values()))
    cells = [[Path(path).name, *(str(row[name]) for name in names)] for path, row in by_count[:MOST_ROWS]]
    for each in sorted({kind for counted in figure["kinds"].values() for kind in counted}):
        cells.append([f"*{each}*", *(str(figure["kinds"][name].get(each, 0)) for name in names)])
    sums = {name: sum(row[name] for row in rows.values()) for name in names}
    cells.append(["**sum**", *(str(sums[name]) for name in names)])
    lines = table(["program", *names], cells)
    lines += ["", f"{figure['compiled']} programs compile; {len(rows)} of them have checks in parallel loops."]
    if "baseline" in names and sums["baseline"]:
        left = [row["bindrune"] / row["baseline"] for row in rows.values() if row["baseline"]]
        lines.append(
            f"Of the baseline's checks, {sums['bindrune'] / sums['baseline']:.2f} are left in sum, "
            f"{statistics.median(left):.2f} in the median program."
        )
    return lines
