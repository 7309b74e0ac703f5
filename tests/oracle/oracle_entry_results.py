"""Entry points whose results are tuples."""

from registry import oracle

RESULTS = "tests/programs/features/entry_results.fut"


@oracle(RESULTS, "i32", "bool", "[]i64")
def nested(x):
    return x, x > 0, list(range(x))


@oracle(RESULTS, "i32", "f32")
def named(x):
    return x, x / 2


@oracle(RESULTS, "i32", "[]i32", "i32", "i32")
def inferred(x):
    return x, [x + 1, x + 2], x + 3, x + 4


@oracle(RESULTS, "i64", "[]i64")
def sizes(xs):
    return len(xs), xs[::-1]


@oracle(RESULTS, "[]i32", "[]i32")
def twice(xs):
    return xs, xs
