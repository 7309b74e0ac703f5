"""The stencils of `bench/programs/users.fut`, and `users/stencils.fut`: cells in a dictionary by index
give parts of their values to their neighbours."""

from collections import Counter
from itertools import product

from futdata import shape_of
from registry import oracle

USERS = "bench/programs/users.fut"
STENCILS = "bench/programs/users/stencils.fut"


def cells_of(array, rank):
    """The elements by index."""
    cells = {}
    for index in product(*map(range, shape_of(array, rank))):
        element = array
        for i in index:
            element = element[i]
        cells[index] = element
    return cells


def array_of(cells, shape, start=()):
    """The inverse of `cells_of`."""
    if not shape:
        return cells[start]
    return [array_of(cells, shape[1:], start + (i,)) for i in range(shape[0])]


def spread(cells, shape, own, other):
    """The sums of what inner cells keep, `own` of their values, and receive, `other` of each neighbour's."""
    sums = {index: own * value for index, value in cells.items()}
    for index, value in cells.items():
        for axis, step in product(range(len(shape)), (-1, 1)):
            neighbour = index[:axis] + (index[axis] + step,) + index[axis + 1:]
            if neighbour in sums:
                sums[neighbour] += other * value
    return {i: s for i, s in sums.items() if all(0 < k < n - 1 for k, n in zip(i, shape))}


@oracle(USERS, "[][]f32")
def heat(steps, grid):
    return jacobi(steps, [[0.0] * len(row) for row in grid], grid)


@oracle(USERS, "[][]u8")
def life(steps, world):
    n, m = len(world), len(world[0])
    alive = {index for index, value in cells_of(world, 2).items() if value}
    around = [move for move in product((-1, 0, 1), repeat=2) if move != (0, 0)]
    for _ in range(steps):
        counts = Counter(((y + dy) % n, (x + dx) % m) for y, x in alive for dy, dx in around)
        alive = {index for index, count in counts.items() if count == 3 or (count == 2 and index in alive)}
    return [[int((y, x) in alive) for x in range(m)] for y in range(n)]


@oracle(STENCILS, "[][]f32")
def jacobi(steps, right, start):
    shape = shape_of(start, 2)
    cells, right = cells_of(start, 2), cells_of(right, 2)
    for _ in range(steps):
        inner = spread(cells, shape, 0.0, 0.25)
        cells |= {index: value - right[index] / 4 for index, value in inner.items()}
    return array_of(cells, shape)


@oracle(STENCILS, "[][]f32")
def wave(steps, start):
    shape = shape_of(start, 2)
    before = cells = cells_of(start, 2)
    for _ in range(steps):
        inner = spread(cells, shape, 1.0, 0.25)
        before, cells = cells, {i: inner[i] - before[i] if i in inner else 0.0 for i in cells}
    return array_of(cells, shape)


@oracle(STENCILS, "[][][]f32")
def diffusion(steps, start):
    shape = shape_of(start, 3)
    cells = cells_of(start, 3)
    for _ in range(steps):
        cells |= spread(cells, shape, 0.4, 0.1)
    return array_of(cells, shape)
