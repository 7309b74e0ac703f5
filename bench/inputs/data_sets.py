"""Shared parts of the generators: the list of data sets, their files, and random arrays.

A generator takes a random-number source, seeded by its name and sizes, and the sizes. It yields the
values of a data set in Futhark's binary format. Several programs may share a generator.
"""

import array
import math
import os
import random
from dataclasses import dataclass
from pathlib import Path

from harness import WORK
from values import CODES, TYPES, matrix, scalar

FOLDER = WORK / "inputs"
SETS = []


@dataclass
class DataSet:
    """A data set of a program; `script` is the expression that computes the arguments from the
    values."""

    program: str
    entry: str
    generator: object
    sizes: tuple
    script: str = ""

    @property
    def name(self):
        return "-".join([self.generator.__name__, *map(str, self.sizes)])


def data_set(program, *sizes, entry="main", script=""):
    """Registers a generator as the source of a data set of a program with these sizes."""

    def register(generator):
        SETS.append(DataSet(program, entry, generator, sizes, script))
        return generator

    return register


def local_data_set(program, name):
    """Registers a data set whose file is in the folder `DATA`, if there is one."""
    path = Path(os.environ.get("DATA", ""), name)
    if path.is_file():
        def real(_source, _name):
            yield path.read_bytes()

        data_set(program, path.stem)(real)


def data_file(entry):
    """The path of a data set's file, which is generated if missing."""
    path = FOLDER / f"{entry.name}.in"
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new")
        with open(new, "wb") as out:
            for value in entry.generator(random.Random(entry.name), *entry.sizes):
                out.write(value)
        os.replace(new, path)
    return path


def array_of(elem, shape, items):
    """The bytes of an array, from an iterable of numbers."""
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
    """Integers from `low` to `high` - 1."""
    draw, width = source.random, high - low
    return array_of(elem, shape, [low + int(width * draw()) for _ in range(math.prod(shape))])


def numbers(elem, *items):
    """The bytes of a sequence of scalars."""
    return b"".join(scalar(elem, item) for item in items)
