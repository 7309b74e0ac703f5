"""Inputs for the programs of the Java Grande Forum."""

from values import matrix

from .data_sets import data_set, integers, numbers


@data_set("jgf/series/series.fut", 100)
@data_set("jgf/series/series.fut", 5000)
def series(_source, coefficients):
    yield numbers("i64", coefficients)


@data_set("jgf/crypt/crypt.fut", 1 << 17)
@data_set("jgf/crypt/crypt.fut", 1 << 22)
def text(source, size):
    """An encryption key, the decryption key, and a text."""
    for _ in range(2):
        yield integers(source, "u16", (52,), 1, 1 << 16)
    yield matrix("u8", (size,), source.randbytes(size))
