"""Elements at a stride that are read again and again."""

from registry import oracle

PROGRAM = "tests/programs/features/packed_reads.fut"


def wrapped(number, bits=32):
    half = 1 << (bits - 1)
    return (number + half) % (2 * half) - half


@oracle(PROGRAM, "[]i32")
def cyclic(xs, count, m, stride):
    return [xs[i % m * stride] for i in range(count)]


@oracle(PROGRAM, "[]i32")
def some_read(xs, count, m, stride, first):
    at = [i % m * stride for i in range(count)]
    return [xs[k] if i >= first and k < len(xs) else -1 for i, k in enumerate(at)]


@oracle(PROGRAM, "[]i64")
def quotient(xs, ys, size):
    n = len(xs)
    at = [i % size * (n // size) for i in range(4 * n)]
    return [100 * xs[k] + ys[k] + i for i, k in enumerate(at)]


@oracle(PROGRAM, "[]i32")
def masked(xs, count, mask, shift):
    return [xs[(i & mask) << shift] for i in range(count)]


@oracle(PROGRAM, "[][]i64", "[]i64", "[]i64")
def inner(xs, ys, m, stride):
    picked = xs[: max(m * stride, 0) : stride][:m] if m else []
    rows, sums, folds = [], [], []
    for y in ys:
        rows.append([y + x for x in picked])
        sums.append(sum(y * x for x in picked))
        fold = y
        for x in picked:
            fold = 3 * fold - x
        folds.append(fold)
    return rows, sums, folds


@oracle(PROGRAM, "[]i32")
def changing(xs, m, stride, rounds):
    xs, n = list(xs), len(xs)
    for step in range(rounds):
        sums = [xs[i] + xs[i % m * stride] for i in range(n)]
        xs[step] = -sums[-1]
        xs = [wrapped(x + y) for x, y in zip(xs, sums)]
    return xs
