"""Inputs for the two programs that simulate neutron transport."""

import array

from values import matrix

from .data_sets import array_of, data_set, integers, numbers, uniform

NUCLIDES = 68
# The number of nuclides of each material, fuel first.
PARTS = [34, 5, 4, 4, 27, 21, 21, 21, 21, 21, 9, 9]


def materials(source):
    """The number of nuclides of each material, their indices, and their concentrations."""
    size = max(PARTS)
    kinds = []
    for parts in PARTS:
        kinds += source.sample(range(NUCLIDES), parts) + [0] * (size - parts)
    amounts = uniform(source, "f64", (len(PARTS), size), 0, 1)
    return array_of("i32", (len(PARTS),), PARTS), array_of("i32", (len(PARTS), size), kinds), amounts


def cross_sections(source, points, lookups):
    """A table of each nuclide sorted by energy, and all energies with their positions in the
    tables."""
    tables = [sorted(source.random() for _ in range(points)) for _ in range(NUCLIDES)]
    rows = array.array("d")
    for table in tables:
        for energy in table:
            rows.extend([energy, *(source.random() for _ in range(5))])
    every = sorted((energy, nuclide) for nuclide, table in enumerate(tables) for energy in table)
    at, positions = [-1] * NUCLIDES, array.array("i")
    for _, nuclide in every:
        at[nuclide] += 1
        positions.extend([max(position, 0) for position in at])
    parts, kinds, amounts = materials(source)
    yield numbers("i64", NUCLIDES, points, 0, 10000, lookups)
    yield parts + amounts + kinds
    yield matrix("f64", (NUCLIDES, points, 6), rows.tobytes())
    yield matrix("i32", (len(every), NUCLIDES), positions.tobytes())
    yield array_of("f64", (len(every),), [energy for energy, _ in every])


data_set("xsbench/xsbench.fut", 100, 20000)(cross_sections)
data_set("xsbench/xsbench.fut", 400, 200000)(cross_sections)


@data_set("rsbench/rsbench.fut", 200, 20, 1000)
@data_set("rsbench/rsbench.fut", 1000, 100, 10000)
def resonances(source, poles, windows, lookups):
    """The poles of each nuclide, and the poles of each energy window."""
    most_poles, most_windows = 2 * poles, 2 * windows
    counts, bounds = [], []
    for _ in range(NUCLIDES):
        count = windows // 2 + int(windows * source.random())
        own = poles // 2 + int(poles * source.random())
        counts.append(count)
        for i in range(most_windows):
            bounds += [own * i // count, own * (i + 1) // count] if i < count else [0, 0]
    parts, kinds, amounts = materials(source)
    yield numbers("i64", lookups) + numbers("i32", 1)
    yield array_of("i32", (NUCLIDES,), counts)
    yield integers(source, "i16", (NUCLIDES, most_poles), 0, 4)
    yield uniform(source, "f64", (NUCLIDES, most_poles, 4, 2), 0, 1)
    yield uniform(source, "f64", (NUCLIDES, most_windows, 3), 0, 1)
    yield array_of("i32", (NUCLIDES, most_windows, 2), bounds)
    yield uniform(source, "f64", (NUCLIDES, 4), 0, 1)
    yield parts + kinds + amounts
