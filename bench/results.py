"""The files of results, and RESULTS.md, which is rendered from them.

`results/FIGURE.json` has the results of a figure, `results/FIGURE-LABEL.json` those of another
machine. README.md describes the format.
"""

import json
import math
import os
import statistics
import sys
import time

from harness import HERE, ROOT, WORK, compiler, machine, run_checked, tools, version_of

FOLDER = HERE / "results"
# Results of part of a figure.
PARTIAL = WORK / "results"
PAGE = HERE / "RESULTS.md"
HEAD = """\
# Results

<!-- Written by `python3 bench/run.py render` from results/*.json. Do not edit. -->

[README.md](README.md) describes the figures. Times are medians; a ratio is the peer's time over Bindrune's, so above 1
Bindrune is faster. Only times in one table are comparable: the load of a machine changes from one run to the next.
"""


def table(head, rows, left=()):
    """The lines of a table without its empty columns. Columns are aligned to the right, except the
    first one and those with these headings."""
    shown = [i for i in range(len(head)) if i == 0 or any(row[i] for row in rows)]
    head, rows = [head[i] for i in shown], [[row[i] for i in shown] for row in rows]
    aligned = ["---" if i == 0 or name in left else "---:" for i, name in enumerate(head)]
    lines = [f"| {' | '.join(head)} |", f"|{'|'.join(aligned)}|"]
    return lines + [f"| {' | '.join(row)} |" for row in rows]


def number(value, digits=2):
    """A number with this many digits, or nothing for None."""
    return "" if value is None else f"{value:.{digits}f}"


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def summary(ratios):
    """The geometric mean and the least of named ratios."""
    name = min(ratios, key=ratios.get)
    return f"geometric mean {geometric_mean(ratios.values()):.2f}, least {ratios[name]:.2f} ({name})"


def path_of(folder, figure, label):
    return folder / f"{figure}-{label}.json" if label else folder / f"{figure}.json"


def load(path):
    return json.loads(path.read_text()) if path.exists() else {}


def write(path, text):
    """Replaces a file atomically, so that an interruption loses nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.new")
    new.write_text(text)
    os.replace(new, path)


def commit():
    """The commit of the working tree, with `+` if there are other changes; None without Git."""
    try:
        text = run_checked(["git", "describe", "--always", "--abbrev=10", "--dirty=+", "--exclude=*"], cwd=ROOT)
    except (FileNotFoundError, SystemExit):
        return None
    return text.decode().strip()


def record(figure, label, command, load_average, results, warnings):
    """The contents of a file of results. Notes are those of the file in `results`."""
    known = load(path_of(FOLDER, figure, label))
    return {
        "figure": figure, "label": label, "command": command, "date": time.strftime("%Y-%m-%d"), "commit": commit(),
        "machine": machine() | {"load": round(load_average, 2)},
        "tools": {"bindrune": version_of(compiler()) or "none", **tools()},
        "results": results, "warnings": sorted(warnings),
        "notes": known.get("notes", []), "row_notes": known.get("row_notes", {}),
    }


def save(data, complete):
    """Writes a file of results and returns its path."""
    path = path_of(FOLDER if complete else PARTIAL, data["figure"], data["label"])
    write(path, json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    return path


def conditions(data):
    """The machine, the versions and the date as a line."""
    host, used = data["machine"], data.get("tools", {})
    cores = host.get("cores")
    parts = [
        host.get("processor") or "Processor not recorded",
        f"{cores} core{'s' if cores != 1 else ''}" if cores else "",
        f"load {host['load']:.1f} at the start" if "load" in host else "",
    ]
    versions = [
        version if version.lower().startswith(tool) else f"{tool} {version}"
        for tool, version in used.items() if version != "none"
    ]
    when = data["date"] or "date not recorded"
    at = f"commit {data['commit']}" if data["commit"] else "commit not recorded"
    return f"{', '.join(filter(None, parts))}; {'; '.join([*versions, when, at])}:"


def section(data, figure):
    """The lines of a figure's section."""
    label = data.get("label")
    lines = [f"## {data['figure']}{f', {label}' if label else ''}", "", f"{figure.title}.", conditions(data), ""]
    lines += [f"    {data['command']}", ""]
    lines += figure.report(data["results"])
    notes = [*data["notes"], *(f"`{row}`: {text}" for row, text in data["row_notes"].items()), *data["warnings"]]
    if notes:
        lines += ["", *(f"- {note}" for note in notes)]
    return [*lines, ""]


def render(figures):
    """Writes RESULTS.md from all files of results, in the order of `figures`."""
    found, order = [], list(figures)
    for path in sorted(FOLDER.glob("*.json")):
        found.append(load(path))
        if found[-1].get("figure") not in figures:
            sys.exit(f"{path}: no such figure: {found[-1].get('figure')}")
    found.sort(key=lambda data: (order.index(data["figure"]), data.get("label", "")))
    lines = [HEAD]
    for data in found:
        figure = figures[data["figure"]]
        lines += section(data, figure)
        if figure.chart and (chart := figure.chart(data["results"])):
            path = path_of(FOLDER, data["figure"], data.get("label")).with_suffix(".svg")
            write(path, chart)
            lines += [f"![Ratios](results/{path.name})", ""]
    write(PAGE, "\n".join(lines).rstrip("\n") + "\n")
