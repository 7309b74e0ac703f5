"""Tuning for the figures: tuning files by `bindrune tune`, and the number of runs of a search for
thresholds that knows the trees of comparisons, and of a random search.

A program is tuned in a copy whose test blocks are the training data sets.
"""

import math
import random
import subprocess
from pathlib import Path

from forced import LIMIT, choice_trees, comparison_outcomes, paths, reached_versions, run_logged, with_parameters
from harness import WORK, Implementation, compiler, run_checked

FOLDER = WORK / "tuned"
# The factor within which a setting is as good as the best.
NOISE = 1.02
# The tuner's time budget per program in seconds. If each row is compared, there are as many paths
# as row lengths.
BUDGET = "120"
# The largest binary logarithm that random search draws, and the number of draws.
GREATEST, DRAWS = 31, 20_000
# The number of complete searches, and the most draws of each.
REPEATS, MOST_DRAWS = 20, 5000


def without_test_blocks(text):
    """Removes the test blocks of a program."""
    lines, inside = [], False
    for line in text.splitlines():
        comment = line.lstrip().startswith("--")
        inside = comment and (inside or line.split() == ["--", "=="])
        if not inside:
            lines.append(line)
    return "\n".join(lines) + "\n"


def program_with_cases(name, cases):
    """Writes a copy of a program whose test blocks are these cases, all of one entry point."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    program = FOLDER / f"{name}.fut"
    block = [f"-- ==\n-- entry: {cases[0].entry}"]
    block += [f'-- "{case.name}" compiled input @ {Path(case.input()).resolve()}' for case in cases]
    program.write_text(without_test_blocks(cases[0].path.read_text()) + "\n".join(block) + "\n")
    return program


class Tuner:
    """`bindrune tune`; `available` is true if the compiler has it."""

    def __init__(self):
        done = subprocess.run([compiler(), "tune", "--help"], capture_output=True)
        self.available = done.returncode == 0
        self.known = {}

    def tuning_file(self, cases):
        """The tuning file of a program for these cases; None without a tuner."""
        if not self.available or not cases:
            return None
        key = tuple(case.name for case in cases)
        if key not in self.known:
            self.known[key] = self.tune(cases)
        return self.known[key]

    def tune(self, cases):
        """Runs the tuner and returns the path of the tuning file."""
        program = program_with_cases(f"{cases[0].program}-{cases[0].entry}", cases)
        run_checked([compiler(), "tune", "--budget", BUDGET, program])
        return f"{program}.tuning"


def explore_paths(command, trees, data):
    """The paths of each tree on a data set, with default settings of the other trees:
    microseconds and versions by path; and the sizes that parameters are compared with. None if
    the default fails."""
    sizes = {}

    def run(path, limit):
        implementation = with_parameters(Implementation("", command), "", path)
        found = run_logged(implementation.command, data, limit)
        for name, size, _ in found[2] if found else ():
            sizes.setdefault(name, set()).add(size)
        return found

    default = run({}, None)
    if default is None:
        return None
    limit, rows = LIMIT + 5 * default[0] / 1e6, []
    for tree in trees:
        runs = [run(path, limit) for path in paths(tree)]
        # A path that timed out is neither counted nor searched for.
        rows.append([
            (found[0], reached_versions(tree, comparison_outcomes(found[2]))) if found else (math.inf, None)
            for found in runs
        ])
    return rows, sizes


def versions_of(tree, setting, sizes):
    """The versions that a setting leads to with these sizes."""
    taken = {name: {setting[name] <= size for size in found} for name, found in sizes.items()}
    return reached_versions(tree, taken)


def parameters_of(node):
    """The parameters of a tree."""
    if "parameter" not in node:
        return {name for tree in node["inside"] for name in parameters_of(tree)}
    children = [*node["holds"], *node["fails"]]
    return {node["parameter"]}.union(*map(parameters_of, children))


def versions_on_sets(tree, setting, sets):
    """The versions that a setting leads to on each data set."""
    return tuple(versions_of(tree, setting, sizes) for sizes in sets)


class RandomSearch:
    """A search that draws random thresholds. It is simulated, because sizes determine the
    versions that a setting leads to."""

    def __init__(self, trees, sets):
        self.source, self.trees, self.sets = random.Random(1), trees, []
        # The parameters of each tree, and the sizes that they are compared with.
        for tree in trees:
            names = sorted(parameters_of(tree))
            self.sets.append((names, [{name: sizes[name] for name in names if name in sizes} for sizes in sets]))

    def draw(self, at):
        """The versions of a tree on each data set for one random draw."""
        names, sets = self.sets[at]
        setting = {name: 2 ** self.source.uniform(0, GREATEST) for name in names}
        return versions_on_sets(self.trees[at], setting, sets)

    def probability(self, at, good):
        """The probability that a draw leads to one of these; at least one hit is assumed."""
        return max(sum(self.draw(at) in good for _ in range(DRAWS)), 1) / DRAWS

    def draws_until_all(self, targets):
        """The average number of draws until each tree has taken all its paths on all data sets,
        and true if all searches ended."""
        total, ended = 0, True
        for _ in range(REPEATS):
            left = [[set(versions) for versions in rows] for rows in targets]
            draws = 0
            while any(map(any, left)) and draws < MOST_DRAWS:
                draws += 1
                for at, rows in enumerate(left):
                    if any(rows):
                        for unseen, versions in zip(rows, self.draw(at)):
                            unseen.discard(versions)
            ended &= draws < MOST_DRAWS
            total += draws
        return total / REPEATS, ended


def search(command, cases):
    """The numbers of runs of three searches on these cases, and remarks: one that takes each
    path of each tree once per data set; random search until it has taken all of these paths; and
    random search until it has thresholds as good as the best ones. None if a data set fails."""
    trees = choice_trees(cases[0])
    sets = [explore_paths(command, trees, case.input()) for case in cases]
    if None in sets:
        return None
    random_search, probability, targets = RandomSearch(trees, [sizes for _, sizes in sets]), 1.0, []
    for at in range(len(trees)):
        rows = [found[at] for found, _ in sets]
        totals = [sum(time for time, _ in path) for path in zip(*rows)]
        good = {
            tuple(versions for _, versions in path)
            for path, total in zip(zip(*rows), totals) if total <= NOISE * min(totals)
        }
        probability *= random_search.probability(at, good)
        targets.append([{versions for time, versions in row if time < math.inf} for row in rows])
    # The first run of a data set is that of the defaults, for all trees.
    known = sum(len(versions) - 1 for rows in targets for versions in rows)
    draws, ended = random_search.draws_until_all(targets)
    # `cargo xtask figures` knows these keys.
    counts = {
        "data sets": len(cases), "each path once": known + len(cases),
        "blind, all paths": max(round(draws * len(cases)), len(cases)),
        "blind, as good": round(len(cases) / probability),
    }
    return counts, [] if ended else [f"blind, all paths: a lower bound, as the search ended after {MOST_DRAWS} draws"]
