"""The oracle of `tests/programs/features/strings.fut`."""

from registry import oracle

STRINGS = "tests/programs/features/strings.fut"


@oracle(STRINGS, "[]u8")
def bytes_(s):
    return s


@oracle(STRINGS, "[]i64", "[][]u8")
def rows(s):
    return [sum(row) for row in s], [row[::-1] for row in s]
