"""Quotients and remainders of narrow integers."""

import futdata
from registry import oracle

PROGRAM = "tests/programs/features/integer_division.fut"
MASK64 = (1 << 64) - 1


def wrap(elem, value):
    return futdata.wrap(value, elem)


def mixed(i):
    x = i * 0x9E3779B97F4A7C15 & MASK64
    return (x ^ x >> 29) * 0xBF58476D1CE4E5B9 & MASK64


def to_zero(x, y):
    q = abs(x) // abs(y)
    return q if (x < 0) == (y < 0) else -q


def dividend32(d, i):
    x = wrap("i32", mixed(i) >> 32)
    whole = wrap("i32", wrap("i32", x // d) * d)
    return [x, whole, wrap("i32", whole - 1), wrap("i32", whole + 1), -(2**31) if i % 2 == 0 else 2**31 - 1][i % 5]


def checksum(values):
    a = 0
    for i, x in enumerate(values):
        a = wrap("i64", a + x * (i * 2 + 1)) & 0xFFFFFFFFFFFF
    return a


@oracle(PROGRAM, "i64", "i64", "i64", "i64")
def signed32(n, d):
    xs = [dividend32(d, i) for i in range(n)]
    return (
        checksum(wrap("i32", to_zero(x, d)) for x in xs),
        checksum(x - to_zero(x, d) * d for x in xs),
        checksum(wrap("i32", x // d) for x in xs),
        checksum(x % d for x in xs),
    )


@oracle(PROGRAM, "i64", "i64")
def unsigned32(n, d):
    xs = []
    for i in range(n):
        x = mixed(i) >> 32
        xs.append([x // d * d, wrap("u32", x // d * d - 1), x][i % 3])
    return checksum(x // d for x in xs), checksum(x % d for x in xs)


@oracle(PROGRAM, "i64", "i64", "i64", "i64")
def narrow(n):
    pairs = [(x, y) for x in range(n) for y in range(n)]

    def some(ty, y):
        return wrap(ty, y) or 1

    return (
        checksum(wrap("i8", wrap("i8", x) // some("i8", y)) for x, y in pairs),
        checksum(wrap("u8", x) % some("u8", y) for x, y in pairs),
        checksum(wrap("i16", to_zero(wrap("i16", x * 257 + y), some("i16", y * 259))) for x, y in pairs),
        checksum(wrap("u16", x * 257 + y) // some("u16", y * 3 + x) for x, y in pairs),
    )


@oracle(PROGRAM, "i64", "i64")
def varying(n):
    def divisor(i):
        return wrap("i32", mixed(i + 99) >> 33 + i % 30) or -1

    pairs = [(dividend32(divisor(i), i), divisor(i)) for i in range(n)]
    return checksum(wrap("i32", x // d) for x, d in pairs), checksum(x - to_zero(x, d) * d for x, d in pairs)
