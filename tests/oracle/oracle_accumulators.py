"""Accumulators, one update at a time."""

from futdata import Empty
from registry import oracle

ACCS = "tests/programs/features/accumulators.fut"


def gather(dest, op, writes):
    dest = list(dest)
    for i, x in writes:
        if 0 <= i < len(dest):
            dest[i] = op(dest[i], x)
    return dest


def add(x, y):
    return x + y


def new(_, y):
    return y


@oracle(ACCS, "[]i32")
def spread(xs, is_):
    return gather(xs, new, [w for i in is_ for w in ((i, 10 * i), (2 * i + 1, 7))])


@oracle(ACCS, "[]i32")
def counts(n, k):
    pairs = (((i % max(1, k), 1), (i * i % (2 * k + 1), 2)) for i in range(n))
    return gather(range(k), add, (w for pair in pairs for w in pair))


@oracle(ACCS, "[]f64")
def sums(n, k):
    xs = [1 / (i + 1) for i in range(n)]
    pairs = (((i % k, x), (i // 3 % k, x * x)) for i, x in enumerate(xs))
    return gather([1] * k, add, (w for pair in pairs for w in pair))


@oracle(ACCS, "[][]i32", "[][]i32")
def rows(n, k, m):
    if m == 0:
        return Empty([k, 0]) if k == 0 else [[]] * k, [[]] * k
    row = lambda i: [i * j % 5 for j in range(m)]
    start = [[i - j for j in range(m)] for i in range(k)]
    each = lambda op: lambda xs, ys: [op(x, y) for x, y in zip(xs, ys)]
    return (
        gather(start, each(add), ((i * 7 % (k + 1), row(i)) for i in range(n))),
        gather(start, each(max), ((i % k, row(i)) for i in range(n) if i % 3)),
    )


@oracle(ACCS, "[]i32", "[]i64")
def greatest(n, k):
    best = [(-1, -(2**63 - 1))] * k
    for i in range(n):
        best[i % k] = max(best[i % k], (i * 7919 % 1009, -i))
    return [a for a, _ in best], [-i for _, i in best]


@oracle(ACCS, "[]i64")
def around(n, k):
    writes = []
    for i in range(n):
        total = 0
        for j in (1, 2, 3):
            if (i + j) % 2 == 0:
                writes.append(((i + j) % k, j))
                total += j
            else:
                total += 10
        x = i
        while x > 0:
            writes.append((x % k, 1))
            x //= 2
        if i % 3 == 0:
            writes.append((0, total))
        elif i % 3 == 2:
            writes += [(1, total), (1, 1)]
    return gather([0] * k, add, writes)


@oracle(ACCS, "[][]i64", "[]i64", "[]i64")
def nested(n, k, m):
    row = lambda i: gather([i] * k, add, (((i + j) % k, j) for j in range(m)))
    marked = len({j * j % k for j in range(m)})
    table = [row(i) for i in range(n)]
    return (
        table,
        gather([0] * k, max, ((i % k, marked * (i + 1)) for i in range(n))),
        [sum(r) for r in reversed(table)],
    )


@oracle(ACCS, "[]i32")
def passed(n, k):
    writes = (w for i in range(n) for w in ((i % k, 2), (k - 1, 3)))
    return gather([0] * k, add, writes)


@oracle(ACCS, "[]i64")
def steps(t, k, n):
    xs = list(range(k))
    for s in range(t):
        xs = gather(xs, add, (((i + s) % k, s) for i in range(n)))
        xs = gather(xs, new, ((i, i + s) for i in (s, s + 1)))
    return xs


@oracle(ACCS, "[]i64", "i64")
def inner(n, k, m):
    digits = sum(i % 10 for i in range(m))
    result = gather([0] * k, add, ((i % k, digits + i * m) for i in range(n)))
    return result, sum(result)


@oracle(ACCS, "[]i64")
def fails(n, m):
    return gather([0] * 3, add, ((i % 3, i) for i in range(n)))


@oracle(ACCS, "[]i32", "[]f64", "[]i64")
def own(n):
    def smaller(x, y):
        return y if y[0] < x[0] else x

    def point(i):
        bits = gather([255 - i] * 2, lambda x, y: x & y, ((j % 2, i * j) for j in range(i % 5)))
        sums = gather([0.5, 0, i], add, (((i + j) % 3, j / 4) for j in range(i % 7)))
        pairs = ((j % 4, ((i * j + 17) % 101, j)) for j in range(i % 11))
        least = gather([(100, -1)] * 3, smaller, pairs)
        return bits[0] + 2 * bits[1], sums[i % 3] + 3 * sums[2], least[0][1] + 10 * least[2][1]

    results = [point(i) for i in range(n)]
    return tuple([r[k] for r in results] or Empty([0]) for k in range(3))
