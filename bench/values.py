"""Futhark's binary data format, as far as the benchmarks need it."""

import array
import math
import random
import struct

CODES = {
    "  i8": "b", " i16": "h", " i32": "i", " i64": "q", "  u8": "B", " u16": "H", " u32": "I", " u64": "Q",
    " f32": "f", " f64": "d", "bool": "b",
}
# Python 3.11 generates at most 256 MB of random bytes at once.
BLOCK = 1 << 24
TYPES = {code.strip(): code for code in CODES}


def scalar(elem, value):
    """The bytes of a scalar."""
    code = CODES[TYPES[elem]]
    return b"b" + bytes([2, 0]) + TYPES[elem].encode() + struct.pack("<" + code, value)


def vector(elem, data):
    """The bytes of a one-dimensional array, from bytes or an `array`."""
    data = bytes(data)
    return matrix(elem, (len(data) // struct.calcsize("<" + CODES[TYPES[elem]]),), data)


def matrix(elem, shape, data):
    """The bytes of an array of any shape, from bytes or an `array`."""
    head = b"b" + bytes([2, len(shape)]) + TYPES[elem].encode()
    return head + struct.pack(f"<{len(shape)}q", *shape) + bytes(data)


def random_i32s(n, seed, small=False):
    """n integers of the whole range, or (`small`) from -128 to 127."""
    source = random.Random(seed)
    if not small:
        blocks = [source.randbytes(min(4 * n - at, BLOCK)) for at in range(0, 4 * n, BLOCK)]
        return vector("i32", b"".join(blocks))
    return vector("i32", array.array("i", (b - 128 for b in source.randbytes(n))).tobytes())


def parse(data):
    """All values in `data`, each a list of numbers; separators are skipped."""
    values, pos = [], 0
    while pos < len(data):
        if data[pos:pos + 1] in (b" ", b"\n"):
            pos += 1
            continue
        magic, version, rank, elem = struct.unpack_from("<cBB4s", data, pos)
        if magic != b"b" or version != 2:
            raise ValueError("not a binary value")
        pos += 7
        shape = struct.unpack_from(f"<{rank}q", data, pos)
        pos += 8 * rank
        items = array.array(CODES[elem.decode()])
        size = math.prod(shape) * items.itemsize
        items.frombytes(data[pos:pos + size])
        values.append(items)
        pos += size
    return values


def agree(left, right, tolerance):
    """Equality of integers, and of floats up to a relative tolerance."""
    if len(left) != len(right):
        return False
    for a, b in zip(left, right):
        if a.typecode != b.typecode or len(a) != len(b):
            return False
        if a.typecode not in "fd":
            if a != b:
                return False
        elif not all(math.isclose(x, y, rel_tol=tolerance) for x, y in zip(a, b)):
            return False
    return True
