"""Filters, partitions and scatters, with consecutive and other indices."""

from registry import oracle

PROGRAM = "tests/programs/features/packed_scatters.fut"


def weighed(xs):
    return sum((j + 1) * x for j, x in enumerate(xs))


def chosen(k, i):
    """Returns true if an element is kept."""
    if k == 0:
        return False
    return i % 512 < 300 if k > 4 else i * i % 7 % 5 < k


def kept(value):
    def oracle_(n, k):
        xs = [value(i) for i in range(n) if chosen(k, i)]
        return len(xs), weighed(xs)

    return oracle_


def parted(n, k):
    xs = [i % 100 for i in range(n)]
    yes = [x for x in xs if chosen(k, x)]
    no = [x for x in xs if not chosen(k, x)]
    return len(yes), weighed(yes), weighed(no)


def register(entry, function, results):
    def oracle_(*args):
        return function(*args)

    oracle_.__name__ = entry
    oracle(PROGRAM, *["i64"] * results)(oracle_)


for elem in ["i8", "u16", "i32", "i64", "f16", "f32", "f64"]:
    register(f"kept_{elem}", kept(lambda i: i % 100), 2)
register("kept_bool", kept(lambda i: int(i % 3 == 1)), 2)
for elem in ["u8", "i32", "f64"]:
    register(f"parted_{elem}", parted, 3)


@oracle(PROGRAM, "i64", "i64", "i64")
def kept_pairs(n, k):
    xs = [i for i in range(n) if chosen(k, i)]
    return weighed(xs), weighed(i % 100 for i in xs), weighed(xs)


@oracle(PROGRAM, "i64")
def placed(n, k):
    out = [1] * n
    for i in range(n):
        at = [i, n - 1 - i, i + 700 * (i // 700), i - 5, i * 7 % n][k]
        if 0 <= at < n:
            out[at] = i + 3
    return weighed(out)


def put(n, k, room, by, value):
    """An array with the values written at indices given by the count of chosen elements and
    `by`."""
    out, count = [1] * room, 0
    for i in range(n):
        if chosen(k, i):
            count += 1
            if 0 <= count + by < room:
                out[count + by] = value(i)
    return weighed(out)


@oracle(PROGRAM, "i64")
def early(n, k, room):
    return put(n, k, room, -4, lambda i: i + 3)


@oracle(PROGRAM, "i64")
def late(n, k, room):
    return put(n, k, room, 2, lambda i: i % 1000)


@oracle(PROGRAM, "i64")
def moved(n, k, room):
    return put(n, k, room, k, lambda i: i + 3)


@oracle(PROGRAM, "i64", "i64")
def gaps(n, room):
    one, other, at, wide = [1] * room, [1] * room, -3, 0
    for i in range(n):
        at += 2 if i % 700 < 13 else 1
        wide += i % 3 // 2
        for out, place in [(one, at), (other, i + wide)]:
            if 0 <= place < room:
                out[place] = i + 3
    return weighed(one), weighed(other)


@oracle(PROGRAM, "i64", "i64")
def digits(n, shift):
    xs = [i * i % 1009 for i in range(n)]
    counts = [sum(1 for x in xs if (x >> shift) & 3 == k) for k in range(3)]
    ordered = sorted(xs, key=lambda x: (x >> shift) & 3)
    return weighed(ordered), sum(k * w for k, w in zip(counts, [3, 5, 7]))


@oracle(PROGRAM, "[]i64", "i64")
def shares(ks):
    return [i + 1 for i, k in enumerate(ks) for _ in range(k)], sum(ks)


@oracle(PROGRAM, "i64")
def far(n, k):
    return put(n, k, n, -(2**63), lambda i: i + 3)
