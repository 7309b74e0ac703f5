"""Inputs for the programs of Rodinia."""

import array
import math

from values import matrix

from .data_sets import array_of, data_set, integers, local_data_set, numbers, uniform


def starts(degrees):
    """The offsets of each node's edges."""
    found, at = [], 0
    for degree in degrees:
        found.append(at)
        at += degree
    return found


def network(source, degrees):
    """Nodes with these numbers of edges to random nodes. The first edge of each leads to the
    next node, so that all are reachable."""
    n = len(degrees)
    edges = []
    for node, degree in enumerate(degrees):
        edges.append((node * 7 + 1) % n)
        edges += [int(n * source.random()) for _ in range(degree - 1)]
    yield array_of("i32", (n,), starts(degrees))
    yield array_of("i32", (n,), degrees)
    yield array_of("i32", (len(edges),), edges)


BFS = ["asympt_ok_but_slow", "filt_padded_fused", "heuristic", "iter_work_ok", "sequential"]


def breadth_first(source, nodes):
    yield from network(source, [2 + int(9 * source.random()) for _ in range(nodes)])


def breadth_first_skewed(source, nodes):
    """Many nodes with few edges, and a few with up to 256."""
    yield from network(source, [1 + int(255 * source.random() ** 6) for _ in range(nodes)])


for variant in BFS:
    data_set(f"rodinia/bfs/bfs_{variant}.fut", 100000)(breadth_first)
    data_set(f"rodinia/bfs/bfs_{variant}.fut", 20000)(breadth_first_skewed)


@data_set("rodinia/hotspot/hotspot.fut", 360, 64)
@data_set("rodinia/hotspot/hotspot.fut", 360, 512)
@data_set("rodinia/hotspot/hotspot.fut", 60, 1024)
def hotspot(source, iterations, side):
    """Temperatures in kelvin, and power of the cells in watts, with some hot blocks."""
    yield numbers("i32", iterations)
    yield uniform(source, "f32", (side, side), 320, 345)
    hot = [[1e-3 * source.random() ** 4 for _ in range(16)] for _ in range(16)]
    cells = [hot[16 * i // side][16 * j // side] for i in range(side) for j in range(side)]
    yield array_of("f32", (side, side), cells)


@data_set("rodinia/kmeans/kmeans.fut", 4000, 5)
@data_set("rodinia/kmeans/kmeans.fut", 40000, 5)
def kmeans(source, points, clusters):
    """Points with 34 coordinates around centres."""
    size = 34
    centres = [[10 * source.random() for _ in range(size)] for _ in range(2 * clusters)]
    draw, items = source.random, []
    for _ in range(points):
        items += [x + 4 * draw() for x in centres[int(2 * clusters * draw())]]
    yield numbers("i32", 0, clusters, 20)
    yield array_of("f32", (points, size), items)


@data_set("rodinia/lavaMD/lavaMD.fut", 3, 100)
@data_set("rodinia/lavaMD/lavaMD.fut", 5, 100)
def lava(source, side, particles):
    """Boxes in a cube with lists of their neighbours, and their particles."""
    positions = [(x, y, z) for z in range(side) for y in range(side) for x in range(side)]
    index = {position: i for i, position in enumerate(positions)}
    near = [(x, y, z) for z in (-1, 0, 1) for y in (-1, 0, 1) for x in (-1, 0, 1) if (x, y, z) != (0, 0, 0)]
    lists = []
    for position in positions:
        around = [tuple(a + b for a, b in zip(position, step)) for step in near]
        lists.append([other for other in around if other in index])
    boxes, none = len(positions), (0, 0, 0)
    yield numbers("f32", 0.5)
    for axis in range(3):
        yield array_of("i32", (boxes,), [position[axis] for position in positions])
    yield array_of("i32", (boxes,), range(boxes))
    padded = [found + [none] * (26 - len(found)) for found in lists]
    for part in [lambda at: at[0], lambda at: at[1], lambda at: at[2], index.get]:
        yield array_of("i32", (26, boxes), [part(padded[box][k]) for k in range(26) for box in range(boxes)])
    yield array_of("i32", (boxes,), map(len, lists))
    for _ in range(5):
        tenths = [(1 + int(10 * source.random())) / 10 for _ in range(boxes * particles)]
        yield array_of("f32", (boxes, particles), tenths)


local_data_set("rodinia/lavaMD/lavaMD.fut", "lavaMD/D2.in")


@data_set("rodinia/lud/lud.fut", 512)
@data_set("rodinia/lud/lud.fut", 1024)
def lud(source, n):
    """A diagonally dominant matrix."""
    items = array.array("f", [source.random() for _ in range(n * n)])
    for i in range(n):
        items[i * n + i] += n
    yield matrix("f32", (n, n), items.tobytes())


@data_set("rodinia/nn/nn.fut", 10, 400000)
@data_set("rodinia/nn/nn.fut", 100, 400000)
def nearest(source, results, records):
    """Latitudes and longitudes of hurricanes, and the target location."""
    yield numbers("i32", results) + numbers("f32", 30, 90)
    yield uniform(source, "f32", (records,), 7, 65)
    yield uniform(source, "f32", (records,), 0, 180)


@data_set("rodinia/nw/nw.fut", 512)
@data_set("rodinia/nw/nw.fut", 2048)
def needleman(source, n):
    """Penalties along the edges, and similarity scores of the letters of two sequences."""
    penalty, size = 10, n + 1
    first = array.array("i", [-penalty * i for i in range(size)])
    table = array.array("i")
    for i in range(size):
        table += first if i == 0 else array.array("i", [-penalty * i]) + array.array("i", [0]) * n
    letters = range(24)
    scores = [[int(16 * source.random()) - 4 for _ in letters] for _ in letters]
    left, right = ([int(24 * source.random()) for _ in range(size)] for _ in range(2))
    fit = array.array("i")
    for a in left:
        row = scores[a]
        fit.extend([row[b] for b in right])
    yield numbers("i32", penalty)
    yield matrix("i32", (size, size), table.tobytes())
    yield matrix("i32", (size, size), fit.tobytes())


@data_set("rodinia/srad/srad.fut", 128, 128)
@data_set("rodinia/srad/srad.fut", 502, 458)
def speckles(source, rows, columns):
    """An ultrasound image: two bright discs with speckle noise."""
    items = []
    for i in range(rows):
        for j in range(columns):
            inside = any(math.hypot(i / rows - y, j / columns - x) < 0.2 for x, y in [(0.3, 0.3), (0.6, 0.7)])
            items.append(min(255, int((150 if inside else 60) * (0.5 + source.random()))))
    yield array_of("u8", (rows, columns), items)


@data_set("rodinia/particlefilter/particlefilter.fut", 128, 10, 2000)
@data_set("rodinia/particlefilter/particlefilter.fut", 128, 10, 10000)
def particles(source, side, frames, count):
    yield integers(source, "i32", (side, side, frames), 0, 256)
    yield numbers("i64", count)


@data_set("rodinia/cfd/cfd.fut", 16)
@data_set("rodinia/cfd/cfd.fut", 48)
def cfd(_source, side):
    """Square cells with inward normals: inflow and outflow at the sides, walls above, below and
    around a block in the flow."""
    solid = range(side // 3, side // 2)
    outside, wall = -2, -1
    faces = [(-1, 0), (1, 0), (0, -1), (0, 1)]
    cells = [(x, y) for y in range(side) for x in range(side)]

    def neighbour(x, y, dx, dy):
        blocked = [a in solid and b < side // 3 for a, b in [(x, y), (x + dx, y + dy)]]
        if any(blocked) or not 0 <= y + dy < side:
            return wall
        return (y + dy) * side + x + dx if 0 <= x + dx < side else outside

    n = len(cells)
    yield array_of("f32", (n,), [1.0] * n)
    yield array_of("i32", (4, n), [neighbour(x, y, *face) for face in faces for x, y in cells])
    yield array_of("f32", (3, 4, n), [-part for axis in range(3) for face in faces for part in [(*face, 0)[axis]] * n])
