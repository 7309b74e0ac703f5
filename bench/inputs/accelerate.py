"""Inputs for the programs ported from the examples of Accelerate."""

import hashlib
import math
import struct

from .data_sets import array_of, data_set, normal, numbers, uniform


def colours(source, rows, columns):
    """Red, green and blue of an image: a gradient, a disc and some boxes, with a little noise."""
    boxes = [[source.random() for _ in range(4)] + [int(256 * source.random()) for _ in range(3)] for _ in range(12)]
    for i in range(rows):
        y = i / rows
        for j in range(columns):
            x = j / columns
            pixel = [int(200 * x), int(200 * y), int(100 * (x + y))]
            for left, top, wide, high, *colour in boxes:
                if 0 <= x - left < wide / 3 and 0 <= y - top < high / 3:
                    pixel = colour
            if math.hypot(x - 0.5, y - 0.5) < 0.2:
                pixel = [230, 220, 40]
            yield [min(255, max(0, part + int(6 * source.random()) - 3)) for part in pixel]


@data_set("accelerate/canny/canny.fut", 256)
@data_set("accelerate/canny/canny.fut", 1024)
def canny(source, side):
    yield numbers("f32", 50, 100)
    packed = [struct.unpack(">i", bytes([*pixel, 255]))[0] for pixel in colours(source, side, side)]
    yield array_of("i32", (side, side), packed)


@data_set("accelerate/fft/fft.fut", 64, 256)
@data_set("accelerate/fft/fft.fut", 512, 512)
def fft(source, rows, columns):
    yield numbers("i32", 100)
    yield array_of("u8", (rows, columns, 3), [part for pixel in colours(source, rows, columns) for part in pixel])


@data_set("accelerate/kmeans/kmeans.fut", 5, 50000)
@data_set("accelerate/kmeans/kmeans.fut", 5, 200000)
def clusters(source, count, points):
    """Points of the plane around `count` centres."""
    centres = [(10 * math.cos(i), 10 * math.sin(i)) for i in range(count)]
    items = []
    for _ in range(points):
        for x in centres[int(count * source.random())]:
            items.append(x + source.gauss(0, 3))
    yield numbers("i32", count)
    yield array_of("f32", (points, 2), items)


@data_set("accelerate/nbody/nbody.fut", 1000)
@data_set("accelerate/nbody/nbody.fut", 10000)
@data_set("accelerate/nbody/nbody-bh.fut", 1000)
@data_set("accelerate/nbody/nbody-bh.fut", 10000)
@data_set("accelerate/nbody/nbody-bh.fut", 100000)
def bodies(source, n):
    """A cloud of nearly stationary bodies."""
    yield numbers("i32", 1) + numbers("f32", 50, 1)
    for _ in range(3):
        yield normal(source, "f32", (n,), 0, 200)
    yield uniform(source, "f32", (n,), 1, 10)
    for _ in range(3):
        yield uniform(source, "f32", (n,), -1, 1)


@data_set("accelerate/pagerank/pagerank.fut", 50000, 400000)
def links(source, pages, count):
    """Links sorted by target, with a skewed distribution, and the number of links from each
    page."""
    found = sorted({(int(pages * source.random() ** 3), int(pages * source.random())) for _ in range(count)})
    leaving = [0] * pages
    for _, page in found:
        leaving[page] += 1
    yield array_of("i32", (len(found),), [page for _, page in found])
    yield array_of("i32", (len(found),), [page for page, _ in found])
    yield array_of("i32", (pages,), leaving)
    yield numbers("i32", 10)


@data_set("accelerate/hashcat/hashcat.fut", 20000)
@data_set("accelerate/hashcat/hashcat.fut", 400000)
def words(source, n):
    """Words of lower-case letters and digits, and the hash of an early one."""
    letters = b"abcdefghijklmnopqrstuvwxyz0123456789"
    size = len(letters)
    found = [
        bytes([letters[int(size * source.random())] for _ in range(4 + int(9 * source.random()))]) for _ in range(n)
    ]
    offsets, at = [], 0
    for word in found:
        offsets.append(at)
        at += len(word)
    yield numbers("u32", *struct.unpack("<4I", hashlib.md5(found[10], usedforsecurity=False).digest()))
    yield array_of("i8", (at,), [byte for word in found for byte in word])
    yield array_of("i32", (n,), offsets)
