"""The quality of the choice between versions: `forced` compares the version chosen by default
thresholds with the best one that `--param` can force.

The forest of versions comes from `bindrune dev --stage versions --form json`. Each path of a tree
is forced while the other trees keep their thresholds. Then the best paths of all trees are
combined, because their choices are independent. Paths that end at the same versions, according to
`--log-versions`, are merged.
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
# The time limit of a forced version in seconds; longer if the default takes long.
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
    """The versions below a node that comparisons lead to; `taken` has the set of outcomes of
    each parameter."""
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
    """Microseconds and result of a run, and its comparisons (parameter, size, outcome). None if
    it times out or fails, as versions may need more memory than available."""
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
    """The set of outcomes of comparisons with each parameter."""
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
    """The settings of the best path of each tree. Runs are added to `seen` by the versions they
    took."""
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
    """A row: the default, the best forced version, and the number of different versions."""
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
    # The fastest single runs are timed again, alternating with the default.
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
    """The default compared with the best forced version."""
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
    """The report's lines on this figure."""
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
