"""Adds the generated data sets to the test blocks of the programs in a copy of the folder."""

import os
import re

from inputs import SETS, data_file

BLOCK = re.compile(r"(?m)^-- ==\n(?:^--.*\n)*")
# A line that begins a data set within a block.
BEGIN = re.compile(r'--\s+(?:"[^"]*"\s+)?(?:\w+\s+)*input\b')
NAMED = re.compile(r'@\s*(\S+)|\$load\w+\s+"([^"]*)"')


def install(original, copy):
    """Gives the programs in a copy of the folder test blocks with generated data sets, in place
    of those whose files are missing. Programs without missing files are unchanged."""
    programs = {}
    for entry in SETS:
        programs.setdefault(entry.program, []).append(entry)
    for program, entries in programs.items():
        path = original / program
        if not path.exists():
            continue
        target = copy / program
        (target.parent / "generated").mkdir(exist_ok=True)
        for entry in entries:
            link = target.parent / "generated" / f"{entry.name}.in"
            if not link.exists():
                os.link(data_file(entry), link)
        text = target.read_text(errors="surrogateescape")
        changed = with_test_blocks(without_missing(path.read_text(errors="surrogateescape"), path.parent), entries)
        if text != changed:
            target.write_text(changed, errors="surrogateescape")


def without_missing(text, folder):
    """Removes tags of back ends, data sets whose files are missing, and the entry points for
    derivatives, which are last."""
    text = re.sub(r"(?m)^-- tags \{.*\}\n", "", text)
    text = re.sub(r"(?ms)^(?:--[^\n]*\n)*entry diff .*?(?=^entry |^def |\Z)", "", text)
    return BLOCK.sub(lambda block: present_data_sets(block[0], folder), text)


def present_data_sets(block, folder):
    """Removes data sets whose files are missing from a block; it becomes a comment if none is
    left."""
    head, sets = [], []
    for line in block.splitlines(keepends=True):
        if BEGIN.match(line):
            sets.append([line])
        else:
            (sets[-1] if sets else head).append(line)
    remaining = [lines for lines in sets if is_present(lines, folder)]
    whole = "".join([*head, *(line for lines in remaining for line in lines)])
    return whole if remaining and "-- entry: diff\n" not in head else "--\n"


def is_present(lines, folder):
    names = [name for line in lines for match in NAMED.findall(line) for name in match if name]
    return all((folder / name).exists() for name in names)


def with_test_blocks(text, entries):
    """Adds a block for each entry point that has generated data sets."""
    points = {}
    for entry in entries:
        source = f"generated/{entry.name}.in"
        value = f'script input {{ {entry.script} ($loaddata "{source}") }}' if entry.script else f"input @ {source}"
        points.setdefault(entry.entry, []).append(f'-- "{entry.name}" {value}\n')
    text = text.rstrip("\n") + "\n"
    for point, lines in points.items():
        text += "".join(["\n-- ==\n", f"-- entry: {point}\n", *lines])
    return text
