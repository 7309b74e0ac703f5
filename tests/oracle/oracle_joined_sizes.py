"""Sizes at control-flow joins, shadowed names, lengths of existential sizes."""

from registry import oracle

JOINED = "tests/programs/features/joined_sizes.fut"
SHADOWED = "tests/programs/features/shadowed_names.fut"
LENGTHS = "tests/programs/failures/lengths.fut"


def made(n):
    return [i + 1 for i in range(n)]


@oracle(JOINED, "i64", "i64")
def branches(b, n):
    v = made(n if b else n + 2)
    return len(v), sum(v)


@oracle(JOINED, "i64")
def cases(n):
    return len({0: [], 1: made(1) + made(3)}.get(n, made(n)))


@oracle(JOINED, "i64", "i64")
def in_records(b):
    return (2, 5) if b else (4, 1)


@oracle(JOINED, "i64", "i64", "i64")
def arguments(b, n):
    v = list(range(n if b else n + 2))
    first, second = (list(range(n)), [0, 1]) if b else (list(range(5)), [0] * 6)
    return len(v), sum(first), len(second)


@oracle(JOINED, "i64", "i64")
def loops(k):
    return sum(i + 1 for i in range(k)), 2**k


@oracle(JOINED, "i64", "i64")
def functors(b, n):
    return n if b else n + 2, 2 * n


@oracle(JOINED, "i64", "i64")
def payloads(n):
    return [(4, 2), (1, -1), (2, 7), (n, 8), (-2, 9), (-3, -3)][n]


@oracle(JOINED, "i64")
def payloads_in_loops(k):
    return k + 1


@oracle(JOINED, "i64")
def filtered_payload(k, n):
    return sum(1 for i in range(n + 1) if i > k)


@oracle(JOINED, "i64", "i64", "i64", "i64")
def abbreviations(n):
    ids = [i for i in range(n) if i % 3 != 0]
    doubled = [i for i in range(n) if i > 2]
    return len(ids), sum(2 * i * i for i in ids), len(doubled), len(ids) - (n > 3)


@oracle(JOINED, "[]i64", "i64", "[]i64")
def recursion(n):
    xs = list(range(n))
    while len(xs) > 2:
        xs = xs[len(xs) // 2 :]
    return xs, 4, [4 * i for i in range(3)]


@oracle(JOINED, "[]i64", "[]i64", "i64")
def from_anonymous(xs, n):
    a = list(range(n)) if len(xs) > 3 else xs
    b = [9, 9] if len(xs) > 2 else xs
    return a, b, n


@oracle(JOINED, "i64", "i64", "i64", "i64")
def swapped(n, m, k):
    a, b = (n, m) if k % 2 == 0 else (m, n)
    c = d = 3
    for i in range(k):
        c, d = (d, c + 1) if i < 2 else (d, d + 1)
    return a, b, c, 6


@oracle(JOINED, "i64", "i64", "i64")
def computed_sizes(a):
    n, rows, columns = (2, 2, 1) if a else (3, 2, 2)
    return n + 1, columns, rows * columns


@oracle(JOINED, "i64")
def never_there(n):
    return n


@oracle(SHADOWED, "i64", "i64", "i64")
def index(n):
    return 10 * n, 10, 7 * 2**n


@oracle(SHADOWED, "i64", "i64", "i64")
def element(xs, n):
    return n * len(xs), n, sum(xs)


@oracle(SHADOWED, "i64")
def nested(n):
    return n * n


@oracle(SHADOWED, "i64", "i64", "i64")
def sizes(xs):
    return len(xs), sum(1 for x in xs if x > 1), 2 * len(xs)


@oracle(SHADOWED, "i64", "i64", "i64", "i64")
def modules(n):
    return n, 4, 5, 9


@oracle(LENGTHS, "i64")
def ranges(a, b):
    return b - a


@oracle(LENGTHS, "i64")
def mapped(a, b):
    return b - a + 1


@oracle(JOINED, "[]i64", "[]i64", "[]i64")
def hidden_sizes(k):
    def above(n, xs):
        return list(range(sum(x > n for x in xs)))

    return above(k, [3, 1, 2]), above(k, [1, 5, 9]), above(k + 1, [3, 1, 2])


@oracle(LENGTHS, "i64")
def down(a, b):
    return a - b


@oracle(LENGTHS, "i64")
def narrow(a, b):
    return b - a


@oracle(LENGTHS, "i64")
def sliced(xs, i, j):
    return len(xs[i:j])


@oracle(LENGTHS, "i64", "i64")
def counted(n):
    return n, n
