"""Inputs for the programs of Parboil."""

import array

from values import matrix

from .data_sets import array_of, data_set, normal, numbers, uniform


@data_set("parboil/histo/histo.fut", 256, 512)
@data_set("parboil/histo/histo.fut", 1024, 2048)
def histo(source, bins, points):
    """Pixels concentrated in the middle bins, as in an image of a round beam."""
    middle, spread = bins * bins / 2, bins * bins / 16
    draw, last = source.gauss, bins * bins - 1
    pixels = [min(max(int(draw(middle, spread)), 0), last) for _ in range(points * points // 4)]
    yield numbers("i32", bins, bins)
    yield array_of("i32", (points // 2, points // 2), pixels)


@data_set("parboil/mri-q/mri-q.fut", 1024, 2048)
@data_set("parboil/mri-q/mri-q.fut", 2048, 8192)
def mri_q(source, samples, voxels):
    for _ in range(3):
        yield uniform(source, "f32", (samples,), -0.5, 0.5)
    for _ in range(3):
        yield uniform(source, "f32", (voxels,), -1, 1)
    for _ in range(2):
        yield normal(source, "f32", (samples,), 0, 1)


@data_set("parboil/sgemm/sgemm.fut", 128, 96, 160)
@data_set("parboil/sgemm/sgemm.fut", 1024, 992, 1056)
def sgemm(source, n, m, p):
    for shape in [(n, m), (m, p), (n, p)]:
        yield uniform(source, "f32", shape, 0, 1)
    yield numbers("f32", 1.0, 1.0)


@data_set("parboil/stencil/stencil.fut", 100, 128, 128, 32)
@data_set("parboil/stencil/stencil.fut", 10, 512, 512, 64)
def stencil(source, iterations, nx, ny, nz):
    yield numbers("i32", iterations, nx)
    yield uniform(source, "f32", (ny, nz), 0, 1)


@data_set("parboil/tpacf/tpacf.fut", 487, 20)
@data_set("parboil/tpacf/tpacf.fut", 1024, 10)
def tpacf(source, points, sets):
    """Right ascensions and declinations in degrees, of a catalogue and of random ones."""
    yield uniform(source, "f64", (points,), 0, 360)
    yield uniform(source, "f64", (points,), -90, 90)
    yield uniform(source, "f64", (sets, points), 0, 360)
    yield uniform(source, "f64", (sets, points), -90, 90)


@data_set("parboil/lbm/lbm.fut", 120, 150)
def lbm(_source, side, height):
    """A lid-driven cavity at rest: lattice weights, and walls with two driven layers behind the
    top and bottom ones."""
    plane, padding = side * side, 2
    cells = plane * (height + 2 * padding)
    weights = [1 / 3, *[1 / 18] * 6, *[1 / 36] * 12]
    fluid, wall, driven = 0.0, 1.0, 2.0

    def layer(inner):
        def kind(x, y):
            if min(x, y) == 0 or max(x, y) == side - 1:
                return wall
            return inner if min(x, y) > 1 and max(x, y) < side - 2 else fluid

        return array.array("f", [kind(x, y) for y in range(side) for x in range(side)])

    closed, moved, still = array.array("f", [wall]) * plane, layer(driven), layer(fluid)
    flags = array.array("f", [fluid]) * (plane * padding)
    for z in range(height):
        flags += closed if z in (0, height - 1) else moved if z in (1, height - 2) else still
    flags += array.array("f", [fluid]) * (plane * padding)
    grid = b"".join((array.array("f", [weight]) * cells).tobytes() for weight in weights)
    yield matrix("f32", (20 * cells,), grid + flags.tobytes())
