"""Inputs for the programs of the Problem Based Benchmark Suite: sequences, points and graphs of
the kinds that its own generators make."""

import array
import math

from values import matrix

from .sets import array_of, made, uniform

SORTS = ["merge_sort", "quick_sort"]


def almost_sorted(source, n):
    """In order but for the square root of n pairs that changed places."""
    items = sorted(source.random() for _ in range(n))
    for _ in range(math.isqrt(n)):
        i, j = (int(n * source.random()) for _ in range(2))
        items[i], items[j] = items[j], items[i]
    yield array_of("f64", (n,), items)


def exponential(source, n):
    yield array_of("f64", (n,), [source.expovariate(1) for _ in range(n)])


def random_floats(source, n):
    yield uniform(source, "f64", (n,), 0, 1)


def random_pairs(source, n):
    yield uniform(source, "f64", (n, 2), 0, 1)


for sort in SORTS:
    for maker in [almost_sorted, exponential, random_floats]:
        made(f"pbbs/comparisonSort/{sort}.fut", 200000, entry="sort_f64")(maker)
    made(f"pbbs/comparisonSort/{sort}.fut", 200000, entry="sort_f64_pair")(random_pairs)


def random_integers(source, n):
    yield array_of("i32", (n,), [int(n * source.random()) for _ in range(n)])


def exponential_integers(source, n):
    """Many small integers and few large ones."""
    bits = math.log2(n)
    yield array_of("i32", (n,), [int(2 ** (bits * source.random()) * source.random()) for _ in range(n)])


def trigrams(source, n):
    """Words by a chain of letters, each after the two before it: most are seen several times."""
    letters = b"eeeeeeeeeeeetttttttttaaaaaaaaooooooooiiiiiiinnnnnnnsssssshhhhhhrrrrrrddddllllcuumwfgypbvk"
    after = {}
    text, offsets, lengths = bytearray(), [], []
    for _ in range(n):
        offsets.append(len(text))
        pair = (0, 0)
        for _ in range(1 + int(8 * source.random())):
            choices = after.get(pair)
            if choices is None:
                choices = after[pair] = bytes(letters[int(len(letters) * source.random())] for _ in range(4))
            letter = choices[int(4 * source.random())]
            text.append(letter)
            pair = (pair[1], letter)
        lengths.append(len(text) - offsets[-1])
    yield array_of("u8", (len(text),), text)
    yield array_of("i64", (n,), offsets)
    yield array_of("i64", (n,), lengths)


for kind in ["hash", "sort"]:
    for maker in [random_integers, exponential_integers]:
        made("pbbs/removeDuplicates/removeDuplicates.fut", 200000, entry=f"{kind}_dedup_int")(maker)
    place = "pbbs/removeDuplicates/removeDuplicates.fut"
    made(place, 100000, entry=f"{kind}_dedup_str", script="mk_slices")(trigrams)


def in_disc(source):
    while True:
        x, y = (2 * source.random() - 1 for _ in range(2))
        if x * x + y * y < 1:
            return x, y


def on_circle(source):
    angle = 2 * math.pi * source.random()
    return math.cos(angle), math.sin(angle)


def kuzmin(source):
    """Most of them near the middle, some far away."""
    u, (x, y) = source.random(), on_circle(source)
    radius = math.sqrt(1 / (1 - u) ** 2 - 1)
    return radius * x, radius * y


def points_of(kind):
    def points(source, n):
        yield array_of("f64", (n, 2), [part for _ in range(n) for part in kind(source)])

    points.__name__ = kind.__name__
    return points


POINTS = [points_of(kind) for kind in [in_disc, on_circle, kuzmin]]
for maker in POINTS:
    made("pbbs/convexHull/convexhull.fut", 10000 if maker.__name__ == "on_circle" else 200000)(maker)
    made("pbbs/rangeQuery2d/naive.fut", 10000)(maker)
    made("pbbs/rangeQuery2d/range.fut", 100000)(maker)


def local_edges(source, n, degree):
    """Edges from each node, most of them to nodes near it."""
    found = []
    for node in range(n):
        for _ in range(degree):
            far = int(2 ** (math.log2(n) * source.random() ** 2))
            found.append((node, (node + (far if source.random() < 0.5 else n - far)) % n))
    return [edge for edge in found if edge[0] != edge[1]]


def skewed_edges(source, bits, count):
    """Edges between quarters of quarters of the nodes, the first of which is the likeliest."""
    found = []
    draw = source.random
    for _ in range(count):
        a = b = 0
        for _ in range(bits):
            roll = draw()
            a = 2 * a + (roll >= 0.6)
            b = 2 * b + (0.45 <= roll < 0.6 or roll >= 0.75)
        if a != b:
            found.append((a, b))
    return found


def grid_edges(_source, side):
    """Neighbours in a cube that is closed in itself."""
    def at(x, y, z):
        return (x % side * side + y % side) * side + z % side

    places = [(x, y, z) for x in range(side) for y in range(side) for z in range(side)]
    steps = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    return [(at(*p), at(*(a + b for a, b in zip(p, step)))) for p in places for step in steps]


def rows(edges):
    """Where the neighbours of each node start, and the neighbours."""
    near = [set() for _ in range(1 + max(max(edge) for edge in edges))]
    for a, b in edges:
        near[a].add(b)
        near[b].add(a)
    first, targets = array.array("i"), array.array("i")
    for others in near:
        first.append(len(targets))
        targets.extend(sorted(others))
    yield matrix("i32", (len(first),), first.tobytes())
    yield matrix("i32", (len(targets),), targets.tobytes())


def pairs(edges):
    yield array_of("i32", (len(edges), 2), [end for edge in edges for end in edge])


def graph(name, form, edges, weights=False):
    """A generator of a graph in some form, with a random weight of each edge if they are wanted."""
    def maker(source, *sizes):
        found = edges(source, *sizes)
        yield from form(found)
        if weights:
            yield uniform(source, "f64", (len(found),), 0, 1)

    maker.__name__ = name
    return maker


GRAPHS = [("local", local_edges, (20000, 5)), ("skewed", skewed_edges, (14, 100000)), ("grid", grid_edges, (32,))]
for name, edges, sizes in GRAPHS:
    adjacent = graph(f"{name}_rows", rows, edges)
    made("pbbs/breadthFirstSearch/breadthFirstSearch.fut", *sizes)(adjacent)
    made("pbbs/maximalIndependentSet/maximalIndependentSet.fut", *sizes)(adjacent)
    made("pbbs/maximalMatching/maximalMatching.fut", *sizes)(graph(f"{name}_edges", pairs, edges))
    weighted = graph(f"{name}_weighted", pairs, edges, weights=True)
    made("pbbs/minSpanningForest/minSpanningForest.fut", *sizes)(weighted)


@made("pbbs/ray/ray.fut", 100, 50000)
@made("pbbs/ray/ray.fut", 200, 200000)
def ray(source, side, rays):
    """A ball with bumps of triangles, and rays from around it to points near its middle."""
    corners, triangles = [], []
    for i in range(side + 1):
        for j in range(side):
            polar, angle = math.pi * i / side, 2 * math.pi * j / side
            radius = 1 + 0.1 * math.sin(9 * angle) * math.sin(polar) * math.sin(7 * polar)
            ring = radius * math.sin(polar)
            corners += [ring * math.cos(angle), ring * math.sin(angle), radius * math.cos(polar)]
    for i in range(side):
        for j in range(side):
            a, b = 1 + i * side + j, 1 + i * side + (j + 1) % side
            triangles += [a, b, a + side, b, b + side, a + side]
    yield array_of("f32", (len(corners) // 3, 3), corners)
    yield array_of("i32", (len(triangles) // 3, 3), triangles)
    items = []
    for _ in range(rays):
        start = [source.gauss(0, 1) for _ in range(3)]
        far = 3 / math.hypot(*start)
        start = [far * x for x in start]
        items += start + [2 * source.random() - 1 - x for x in start]
    yield array_of("f32", (rays, 2, 3), items)
