"""What the choice between versions is worth: `forced` sets the version that default
thresholds take against the best of those that `--param` can force.

The forest comes from `bindrune dev --stage versions --form json`. Each path of a tree
is forced by itself while the other trees keep their thresholds, then the best of each
tree together: their choices do not look at each other. Paths that end at the same
versions, as `--log-versions` tells, are one.
"""

import json
import math
import re
import statistics
import subprocess
from itertools import chain

from contest import WORK, Contestant, shell
from lanes import compiler
from nests import executables, listed, paired, same, turns

# A threshold that every size reaches, and one that none does.
ALWAYS, NEVER = 0, 1 << 62
GOAL = 1.2
# Seconds that a forced version may take, more where the default takes long.
LIMIT = 40
COMPARED = re.compile(r"^Compared (\S+) <= (-?\d+): (true|false);", re.MULTILINE)


def paths(node):
    """The settings that lead to the versions below a node of the forest."""
    if "parameter" not in node:
        inside = [path for tree in node["inside"] for path in paths(tree)]
        return inside or [{}]
    found = []
    for side, value in (("holds", ALWAYS), ("fails", NEVER)):
        step = {node["parameter"]: value}
        for path in chain.from_iterable(map(paths, node[side])):
            if all(path.get(name, given) == given for name, given in step.items()):
                found.append(step | path)
    return found


def reached(node, taken):
    """The versions below a node that comparisons lead to; `taken` says of each
    parameter whether it held, failed, or both in turns."""
    if "parameter" in node:
        sides = [node["holds" if held else "fails"] for held in taken.get(node["parameter"], ())]
        return frozenset().union(*(reached(child, taken) for side in sides for child in side))
    inside = (reached(tree, taken) for tree in node["inside"])
    return frozenset([node["version"]]).union(*inside)


def forest(case):
    """The trees of the entry point's function."""
    text = shell([compiler(), "dev", "--stage", "versions", "--form", "json", case.path])
    return [t for function in json.loads(text) if function["function"] == case.entry for t in function["roots"]]


def logged(command, data, limit):
    """Microseconds and result of a run, and its comparisons (parameter, size, whether it
    held); None if it takes too long or fails, as versions may need more memory than
    there is."""
    times = WORK / "forced"
    with open(data, "rb") as source:
        try:
            done = subprocess.run(
                [*map(str, command), "-b", "-t", times, "--log-versions"],
                stdin=source, capture_output=True, timeout=limit,
            )
        except subprocess.TimeoutExpired:
            return None
    if done.returncode:
        return None
    comparisons = {
        (name, int(size), answer == "true")
        for name, size, answer in COMPARED.findall(done.stderr.decode(errors="replace"))
    }
    return float(times.read_text().split()[-1]), done.stdout, comparisons


def outcomes(comparisons):
    """How comparisons with each parameter came out."""
    taken = {}
    for name, _, held in comparisons:
        taken.setdefault(name, set()).add(held)
    return taken


def log(command, data, limit, trees):
    """As `logged`, with the versions taken."""
    found = logged(command, data, limit)
    if found is None:
        return None
    taken = outcomes(found[2])
    return *found[:2], frozenset().union(*(reached(tree, taken) for tree in trees))


def with_params(contestant, name, settings):
    flags = chain.from_iterable(("--param", f"{key}={value}") for key, value in settings.items())
    return Contestant(name, [*contestant.command, *flags])


def best_of_trees(trees, seen, measure):
    """The settings of the best path of each tree; `seen` gets what was run, by the
    versions it took."""
    together = {}
    for tree in trees:
        tried = []
        for path in paths(tree):
            found = measure(path)
            if found is None:
                continue
            seen.setdefault(found[2], (found[0], path))
            tried.append((found[0], path))
        if tried:
            _, path = min(tried, key=lambda pair: pair[0])
            together |= path
    return together


def examine(case, contestant, options, notes):
    """One row: the default, the best one forced, and how many were different."""
    data, trees = case.input(), forest(case)
    default = log(contestant.command, data, None, trees)
    if default is None:
        notes.add(f"{case.name}: fails")
        return None
    limit = LIMIT + 5 * default[0] / 1e6

    def measure(path):
        found = log(with_params(contestant, "", path).command, data, limit, trees)
        if found and not same(case, found[1], default[1]):
            notes.add(f"{case.name}: {path} changes the result")
        return found

    seen = {default[2]: (default[0], {})}
    together = best_of_trees(trees, seen, measure)
    found = measure(together)
    if found:
        seen.setdefault(found[2], (found[0], together))
    # Of single runs the fastest few are timed again, in turns with the default.
    others = [pair for versions, pair in seen.items() if versions != default[2]]
    fastest = sorted(others, key=lambda pair: pair[0])[:3]
    entrants = [Contestant("default", contestant.command)]
    entrants += [with_params(contestant, str(i), path) for i, (_, path) in enumerate(fastest)]
    rounds = turns(entrants, data, options, default[0])
    ratios = {who: paired(rounds["default"], found) for who, found in rounds.items()}
    best = max(ratios, key=ratios.get)
    return {
        "versions": len(seen), "default": statistics.median(rounds["default"]),
        "best": statistics.median(rounds[best]), "ratio": ratios[best],
        "least": min(rounds["default"]) / max(min(rounds[best]), 1),
        "settings": {} if best == "default" else fastest[int(best)][1],
    }


def figure_forced(options, notes):
    """The default beside the best version forced."""
    if not compiler():
        notes.add("bindrune is not built")
        return {"rows": {}}
    built, rows = {}, {}
    for case in listed(options, notes):
        (ours,) = executables(case, built, notes, peers=False)
        row = examine(case, ours, options, notes)
        case.forget()
        if row:
            rows[case.name] = row
            print(case.name, row, flush=True)
    return {"rows": rows}


def report_forced(results):
    """Lines of the report on this module's figure."""
    rows = results.get("forced", {}).get("rows")
    if not rows:
        return []
    lines = ["## The version taken and the best one", "", "| µs | versions | default | best | ratio | least | by |"]
    lines.append("|---|---:|---:|---:|---:|---:|---|")
    for name, row in rows.items():
        settings = ", ".join(
            f"{key.split('.')[-1]} {'holds' if value == ALWAYS else 'fails'}" for key, value in row["settings"].items()
        )
        lines.append(
            f"| {name} | {row['versions']} | {row['default']:.0f} | {row['best']:.0f} | {row['ratio']:.2f} | "
            f"{row['least']:.2f} | {settings} |"
        )
    over = [name for name, row in rows.items() if min(row["ratio"], row["least"]) > GOAL]
    mean = math.exp(statistics.fmean(math.log(row["ratio"]) for row in rows.values()))
    return [*lines, "", f"Geometric mean {mean:.2f}; both above {GOAL}: {', '.join(over) or 'none'}.", ""]
