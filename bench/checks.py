"""The figure `checks`: the number of checks left in the bodies of parallel loops, counted in the
compiler's text of the stage `segs`."""

import os
import re
import statistics
import subprocess
import time
from collections import Counter
from pathlib import Path

from contest import ROOT, tool

SEGOP = re.compile(r"= seg[a-z]+\b")
CHECK = re.compile(r"\bassert [^ ]+ \((.*)\)\s*$")
# Kinds of checks, with parts of their messages.
KINDS = [
    ("index", "out of bounds"), ("division", "division by zero"), ("range", "Range "),
    ("shape", "cannot match shape"), ("size", "size"), ("match", "match"), ("assertion", "assert"),
]


def kind(message):
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
    """The programs below BENCHMARKS (folders separated by colons) and our own. Of identical
    files, which are copies of libraries, only the first is used."""
    roots = [Path(p) for p in os.environ.get("BENCHMARKS", "").split(":") if p]
    roots.append(ROOT / "tests" / "programs")
    found = {}
    for path in (path for root in roots for path in sorted(root.rglob("*.fut"))):
        found.setdefault(path.read_bytes(), path)
    return list(found.values())


def count(compiler, paths):
    """Checks by kind for each program that compiles, and the total time in seconds."""
    found, start = {}, time.perf_counter()
    for path in paths:
        command = [compiler, "dev", "--stage", "segs", path]
        try:
            done = subprocess.run(command, capture_output=True, timeout=60)
        except subprocess.TimeoutExpired:
            continue
        if done.returncode == 0:
            found[str(path)] = checks(done.stdout.decode(errors="replace"))
    return found, time.perf_counter() - start


def figure_checks(_options, notes):
    """Checks in parallel loops, and those left by the compiler BEFORE."""
    compilers = {"bindrune": tool("BINDRUNE", str(ROOT / "build" / "bindrune"))}
    if os.environ.get("BEFORE"):
        compilers["before"] = os.environ["BEFORE"]
    if not compilers["bindrune"]:
        notes.add("bindrune is not built")
        return {"programs": {}, "kinds": {}}
    paths, counts, seconds = programs(), {}, {}
    for name, compiler in compilers.items():
        counts[name], seconds[name] = count(compiler, paths)
    both = [p for p in map(str, paths) if all(p in found for found in counts.values())]
    rows = {p: {name: sum(found[p].values()) for name, found in counts.items()} for p in both}
    kinds = {name: sum((found[p] for p in both), Counter()) for name, found in counts.items()}
    return {
        "programs": {p: row for p, row in rows.items() if any(row.values())},
        "compiled": len(both), "kinds": kinds, "seconds": seconds,
    }


def report_checks(results):
    if "checks" not in results or not results["checks"]["kinds"]:
        return []
    figure = results["checks"]
    names, rows = list(figure["kinds"]), figure["programs"]
    lines = ["## Checks in parallel loops", "", "| program | " + " | ".join(names) + " |"]
    lines.append("|---|" + "---:|" * len(names))
    by_count = sorted(rows.items(), key=lambda item: -max(item[1].values()))
    for path, row in by_count[:40]:
        lines.append(f"| {Path(path).name} | " + " | ".join(str(row[n]) for n in names) + " |")
    for kind_ in sorted({k for counted in figure["kinds"].values() for k in counted}):
        line = " | ".join(str(figure["kinds"][n].get(kind_, 0)) for n in names)
        lines.append(f"| *{kind_}* | {line} |")
    sums = {n: sum(row[n] for row in rows.values()) for n in names}
    lines.append("| **sum** | " + " | ".join(str(sums[n]) for n in names) + " |")
    lines += ["", f"{figure['compiled']} programs compile, {len(rows)} of them with checks there."]
    if "before" in names and sums["before"]:
        left = [row["bindrune"] / row["before"] for row in rows.values() if row["before"]]
        lines.append(
            f"Left of those before: {sums['bindrune'] / sums['before']:.2f} in sum, "
            f"{statistics.median(left):.2f} in the median program."
        )
    return [*lines, ""]
