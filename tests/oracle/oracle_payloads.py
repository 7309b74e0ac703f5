"""Sum types with arrays, the sizes of such payloads, and the order of evaluation."""

from registry import oracle

SUMS = "tests/programs/features/sums.fut"
SIZES = "tests/programs/features/payload_sizes.fut"
ORDER = "tests/programs/features/evaluation_order.fut"


def iota(n):
    """The payload of `n` numbers from 0; None if `n` is not positive."""
    return list(range(n)) if n > 0 else None


def total(payload):
    return -1 if payload is None else sum(payload)


@oracle(SUMS, "[]i64")
def consumed(n):
    return [9] + list(range(1, n)) if n > 0 else [7]


@oracle(SUMS, "[]i64")
def looped(n):
    return list(range(n))


@oracle(SUMS, "i64")
def whiled(n):
    return min(n, 3)  # the payload is dropped in the third step


@oracle(SUMS, "i64")
def fori(xs):
    last = max((i for i, x in enumerate(xs) if x < 0), default=-1)
    after = xs[last + 1:]
    return 2 * sum(after) + len(xs) - 2 if after else -1


@oracle(SUMS, "[]f32")
def constants(xs):
    return [total([x] * 3 if x > 0 else None) for x in xs]


@oracle(SUMS, "f32")
def big(x):
    return x * 10**12 if x > 10 else -1


@oracle(SUMS, "i64")
def both(a, b):
    if a < 0:
        return 300 if b < 0 else 200 + b
    return 100 + a if b < 0 else a * b + sum(range(a))


@oracle(SUMS, "[]i64", "[]i64")
def zipped(m, n):
    payloads = [None if i == 1 else range(n) for i in range(m)]
    return [total(p) for p in payloads], list(range(m))


@oracle(SUMS, "[]i64", "[]i64")
def scanned(m, n):
    return [sum(range(n))] * m, [i * (i + 1) // 2 for i in range(m)]


@oracle(SUMS, "i64")
def polymorphic(b, n):
    return total(iota(n) if b else None)


@oracle(SUMS, "[]i64")
def inside(m, n):
    # At j, i * j minus (i - 1) times j.
    return [sum(range(n)) if i > 0 and i % 2 == 0 else 0 for i in range(m)]


@oracle(SUMS, "[]i64")
def filters(n):
    def point(i):
        kept = range(2, i + 1)
        return sum(kept) - 4 - 2 * (len(kept) > 2) if len(kept) > 1 else 0

    return [point(i) for i in range(n)]


@oracle(SUMS, "i64", "i64")
def records(b, n):
    return total(range(n) if b else None), sum(range(1, n + 1))


def found(xs):
    """The number of elements above 2 if that is more than one, else 0."""
    count = sum(x > 2 for x in xs)
    return count if count > 1 else 0


@oracle(SIZES, "i64", "i64")
def lens(xs):
    return found(xs), found(xs)


@oracle(SIZES, "i64")
def lets(xs):
    return found(xs)


@oracle(SIZES, "i64")
def known(n):
    return n


@oracle(SIZES, "i64", "i64")
def twos(k, n):
    size = n + 1 if k in (0, 1) else 0
    return size, size


@oracle(SIZES, "i64", "[]i64")
def with_array(n):
    size = n**3 if n < 1000 else 4
    return size, [size]


@oracle(SIZES, "i64")
def iterated(k, n):
    return total(range(k, k + n) if n > 0 else None)


@oracle(SIZES, "[]i64")
def poly(n):
    return [total(iota(n)), -1]


@oracle(SIZES, "[]i64", "[]i32")
def polyp(n):
    return [total(iota(n)), -1], [1, 2]


@oracle(SIZES, "[]i64")
def arrays(n, m):
    return [total(range(m) if i == 0 else None) for i in range(n)]


@oracle(SIZES, "i64")
def constant(_):
    return total(None)


@oracle(ORDER, "i64")
def arguments(xs, n):
    return 10 // n + xs[5 - 4 * n]


@oracle(ORDER, "[]i64")
def operands(xs, n):
    return [10 // n, xs[5 * (1 - n) + 1]]


@oracle(ORDER, "i64")
def functions(xs, n):
    return xs[5 - 4 * n] + 10 // n


@oracle(ORDER, "i64")
def nested(_):
    return 2 + (1 + 2)


@oracle(SIZES, "i64")
def boxed_payload(k, n):
    return (7 if k % 5 else 0) + n + 1
