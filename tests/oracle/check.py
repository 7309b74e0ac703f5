#!/usr/bin/env python3
"""Recomputes the expected values of all test blocks of the Futhark programs.

    python3 tests/oracle/check.py            compare; exit 1 on a difference
    python3 tests/oracle/check.py --write    write the values that differ instead

Looks through `tests/programs`, `examples` and `bench/programs`.  The values
come from the `oracle_*.py` scripts beside this file: plain Python that shares
nothing with the compiler.  Every case with an `output` needs an oracle, and
every oracle needs a case.
"""

import importlib
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

from futdata import format_value, parse_values, read_cases, same, value_of  # noqa: E402
from registry import ORACLES  # noqa: E402

WHERE = ["tests/programs", "examples", "bench/programs"]


def main():
    write = "--write" in sys.argv[1:]
    for script in sorted(HERE.glob("oracle_*.py")):
        importlib.import_module(script.stem)
    problems, used, count = [], set(), 0
    for folder in WHERE:
        for path in sorted((ROOT / folder).rglob("*.fut")):
            count += check_file(path, write, problems, used)
    problems += [f"{p}: no case for entry {e}" for p, e in sorted(ORACLES.keys() - used)]
    for problem in problems:
        print(problem)
    print(f"{count} cases, {len(problems)} problems")
    return 1 if problems else 0


def check_file(path, write, problems, used):
    """Checks or rewrites one file; returns the number of its cases with values."""
    name = str(path.relative_to(ROOT))
    lines = path.read_text().splitlines()
    cases = [c for c in read_cases(lines) if c.error is None]
    changed = False
    for case in reversed(cases):
        written = False
        for entry in case.entries:
            place = f"{name}:{case.line + 1}: {entry}"
            if (name, entry) not in ORACLES:
                problems.append(f"{place}: no oracle")
                continue
            used.add((name, entry))
            kinds, function = ORACLES[name, entry]
            results = function(*[v.data for v in case.inputs])
            results = [results] if len(kinds) == 1 else list(results)
            values = [value_of(k, r) for k, r in zip(kinds, results, strict=True)]
            if case.expected is not None and agree(parse_values(case.expected), values):
                continue
            text = " ".join(format_value(v) for v in values)
            if write and not written:
                write_output(lines, case, text)
                written = changed = True
            elif case.expected is None:
                problems.append(f"{place}: no output")
            else:
                problems.append(f"{place}: {case.expected.strip()} should be {text}")
    if changed:
        path.write_text("\n".join(lines) + "\n")
    return len(cases)


def agree(found, values):
    return len(found) == len(values) and all(map(same, found, values))


def write_output(lines, case, text):
    """Replaces the output of a case, or adds one."""
    if case.expected is not None and case.end == case.line + 1:
        start = lines[case.line].index("} output {")
        lines[case.line] = f"{lines[case.line][:start]}}} output {{ {text} }}"
    else:
        end = case.line + 1
        while "}" not in lines[end - 1]:
            end += 1
        lines[end:case.end] = [f"-- output {{ {text} }}"]
    case.expected = text


if __name__ == "__main__":
    sys.exit(main())
