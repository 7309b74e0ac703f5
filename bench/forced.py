"""The quality of the choice between versions: `forced` compares the version chosen by default
thresholds with the best one that `--param` can force.

The trees of choices come from `bindrune dev --stage versions --form json`. Each path of a tree
is forced while the other trees keep their thresholds. Then the best paths of all trees are
combined, because their choices are independent. Paths that end at the same versions, according to
`--log-versions`, are merged.
"""

import json
import re
import statistics
import subprocess
from itertools import chain

from harness import WORK, Implementation, compiler, run_checked
from nests import executables, median_ratio, results_agree, round_medians, selected_cases
from results import geometric_mean, number, table

# A threshold that every size reaches, and one that none does.
ALWAYS, NEVER = 0, 1 << 62
GOAL = 1.2
# The time limit of a forced version in seconds; longer if the default takes long.
LIMIT = 40
COMPARED = re.compile(r"^Compared (\S+) <= (-?\d+): (true|false);", re.MULTILINE)


def paths(node):
    """The settings that lead to the versions below a node."""
    if "parameter" not in node:
        inside = [path for tree in node["inside"] for path in paths(tree)]
        return inside or [{}]
    found = []
    for outcome, value in (("holds", ALWAYS), ("fails", NEVER)):
        step = {node["parameter"]: value}
        for path in chain.from_iterable(map(paths, node[outcome])):
            if all(path.get(name, given) == given for name, given in step.items()):
                found.append(step | path)
    return found


def reached_versions(node, taken):
    """The versions below a node that comparisons lead to; `taken` has the set of outcomes of
    each parameter."""
    if "parameter" in node:
        branches = [node["holds" if holds else "fails"] for holds in taken.get(node["parameter"], ())]
        return frozenset().union(*(reached_versions(child, taken) for branch in branches for child in branch))
    inside = (reached_versions(tree, taken) for tree in node["inside"])
    return frozenset([node["version"]]).union(*inside)


def choice_trees(case):
    """The trees of the entry point's function."""
    text = run_checked([compiler(), "dev", "--stage", "versions", "--form", "json", case.path])
    return [t for function in json.loads(text) if function["function"] == case.entry for t in function["roots"]]


def run_logged(command, data, limit):
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
        (name, int(size), outcome == "true")
        for name, size, outcome in COMPARED.findall(done.stderr.decode(errors="replace"))
    }
    return float(times.read_text().split()[-1]), done.stdout, comparisons


def comparison_outcomes(comparisons):
    """The set of outcomes of comparisons with each parameter."""
    taken = {}
    for name, _, holds in comparisons:
        taken.setdefault(name, set()).add(holds)
    return taken


def run_with_versions(command, data, limit, trees):
    """As `run_logged`, with the versions taken in place of the comparisons."""
    found = run_logged(command, data, limit)
    if found is None:
        return None
    taken = comparison_outcomes(found[2])
    return *found[:2], frozenset().union(*(reached_versions(tree, taken) for tree in trees))


def with_parameters(implementation, name, settings):
    flags = chain.from_iterable(("--param", f"{key}={value}") for key, value in settings.items())
    return Implementation(name, [*implementation.command, *flags])


def best_paths(trees, seen, measure):
    """The settings of the best path of each tree. Runs are added to `seen` by the versions they
    took."""
    combined = {}
    for tree in trees:
        measured = []
        for path in paths(tree):
            found = measure(path)
            if found is None:
                continue
            seen.setdefault(found[2], (found[0], path))
            measured.append((found[0], path))
        if measured:
            _, path = min(measured, key=lambda pair: pair[0])
            combined |= path
    return combined


def compare_versions(case, implementation, options, warnings):
    """A row: the default, the best forced version, and the number of different versions."""
    data, trees = case.input(), choice_trees(case)
    default = run_with_versions(implementation.command, data, None, trees)
    if default is None:
        warnings.add(f"{case.name}: fails")
        return None
    limit = LIMIT + 5 * default[0] / 1e6

    def measure(path):
        found = run_with_versions(with_parameters(implementation, "", path).command, data, limit, trees)
        if found and not results_agree(case, found[1], default[1]):
            warnings.add(f"{case.name}: {path} changes the result")
        return found

    seen = {default[2]: (default[0], {})}
    combined = best_paths(trees, seen, measure)
    found = measure(combined)
    if found:
        seen.setdefault(found[2], (found[0], combined))
    # The fastest single runs are timed again, alternating with the default.
    others = [pair for versions, pair in seen.items() if versions != default[2]]
    fastest = sorted(others, key=lambda pair: pair[0])[:3]
    implementations = [Implementation("default", implementation.command)]
    implementations += [with_parameters(implementation, str(i), path) for i, (_, path) in enumerate(fastest)]
    rounds = round_medians(implementations, data, options, default[0])
    ratios = {impl: median_ratio(rounds["default"], found) for impl, found in rounds.items()}
    best = max(ratios, key=ratios.get)
    return {
        "versions": len(seen), "default": statistics.median(rounds["default"]),
        "best": statistics.median(rounds[best]), "ratio": ratios[best],
        "least": min(rounds["default"]) / max(min(rounds[best]), 1),
        "settings": {} if best == "default" else fastest[int(best)][1],
    }


def figure_forced(options, warnings):
    """The default compared with the best forced version."""
    if not compiler():
        warnings.add("bindrune is not built")
        return {"rows": {}}
    built, rows = {}, {}
    for case in selected_cases(options, warnings):
        (ours,) = executables(case, built, warnings, peers=False)
        row = compare_versions(case, ours, options, warnings)
        case.delete_input()
        if row:
            rows[case.name] = row
            print(case.name, row, flush=True)
    return {"rows": rows}


def report_forced(figure):
    """The report's lines on this figure."""
    rows, cells = figure["rows"], []
    for name, row in rows.items():
        settings = ", ".join(
            f"`{key.split('.')[-1]}` {'holds' if value == ALWAYS else 'fails'}"
            for key, value in row["settings"].items()
        )
        cells.append([
            name, str(row["versions"]), number(row["default"], 0), number(row["best"], 0), number(row["ratio"]),
            number(row["least"]), settings,
        ])
    over = [name for name, row in rows.items() if min(row["ratio"], row["least"]) > GOAL]
    mean = geometric_mean(row["ratio"] for row in rows.values())
    head = ["µs", "versions", "default", "best", "ratio", "of the best rounds", "best by"]
    return table(head, cells, ["best by"]) + [
        "", f"Ratio: default over best; geometric mean {mean:.2f}; both ratios above {GOAL}: "
        f"{', '.join(over) or 'none'}.",
    ]
