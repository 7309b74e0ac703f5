"""What the generators have in common: the list of data sets, their files, and random arrays.

A generator takes a source of random numbers, seeded by its name and sizes, and the sizes, and
yields the values of a data set in Futhark's binary format. Several programs may share one.
"""

import array
import math
import os
import random
from dataclasses import dataclass
from pathlib import Path

from contest import WORK
from values import CODES, TYPES, matrix, scalar

FOLDER = WORK / "inputs"
SETS = []


@dataclass
class Set:
    """A data set of a program; `script` is what makes the arguments of the values, if anything does."""

    program: str
    entry: str
    maker: object
    sizes: tuple
    script: str = ""

    @property
    def name(self):
        return "-".join([self.maker.__name__, *map(str, self.sizes)])


def made(program, *sizes, entry="main", script=""):
    """Marks a generator: a data set of the program's is made by it from these sizes."""

    def mark(maker):
        SETS.append(Set(program, entry, maker, sizes, script))
        return maker

    return mark


def at_hand(program, place):
    """A data set whose file is below the folder in `DATA`, if there is one."""
    path = Path(os.environ.get("DATA", ""), place)
    if path.is_file():
        def real(_source, _name):
            yield path.read_bytes()

        made(program, path.stem)(real)


def file(entry):
    """The path of a data set's file, which is made if it is not there yet."""
    path = FOLDER / f"{entry.name}.in"
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new")
        with open(new, "wb") as out:
            for value in entry.maker(random.Random(entry.name), *entry.sizes):
                out.write(value)
        os.replace(new, path)
    return path


def array_of(elem, shape, items):
    """The bytes of an array of numbers, from anything that yields them."""
    return matrix(elem, shape, array.array(CODES[TYPES[elem]], items).tobytes())


def uniform(source, elem, shape, low, high):
    """Floats between two bounds."""
    draw, width = source.random, high - low
    return array_of(elem, shape, [low + width * draw() for _ in range(math.prod(shape))])


def normal(source, elem, shape, mean, deviation):
    """Floats of a normal distribution."""
    draw = source.gauss
    return array_of(elem, shape, [draw(mean, deviation) for _ in range(math.prod(shape))])


def integers(source, elem, shape, low, high):
    """Integers from `low` to below `high`."""
    draw, width = source.random, high - low
    return array_of(elem, shape, [low + int(width * draw()) for _ in range(math.prod(shape))])


def numbers(elem, *items):
    """The bytes of numbers one after another, none an array."""
    return b"".join(scalar(elem, item) for item in items)
