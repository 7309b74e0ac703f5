"""Sum types with payloads that may be absent, represented by `None`."""

from registry import oracle

ABSENT = "tests/programs/features/absent_payloads.fut"


def total(payload, absent=-1):
    return absent if payload is None else sum(payload)


def totals(payloads):
    return [total(x) for x in payloads]


def when(present, n):
    """The numbers below `n` if present, else None."""
    return list(range(n)) if present else None


def cube(n):
    return range(n**3) if n < 1000 else None


@oracle(ABSENT, "i64")
def branch(n):
    return total(cube(n))


@oracle(ABSENT, "i64")
def hidden(n):
    return total(cube(n))


@oracle(ABSENT, "i64")
def negative(n):
    return 7 * n if n >= 0 else -1


@oracle(ABSENT, "i64")
def sized(n):
    return n * (n - 1) // 2 if 0 <= n < 10 else -2


@oracle(ABSENT, "f32")
def several(k, n):
    return [n * (n - 1) / 2, n * (2 * n - 1) / 2, n // 2 + 1, -1][k]


@oracle(ABSENT, "i64")
def matched(k, n):
    return {0: n * (n - 1) // 2, 1: 2 * n}.get(k, 0)


@oracle(ABSENT, "i64")
def either(k, n):
    return n


@oracle(ABSENT, "i64")
def records(k, n):
    if k == 0:
        return sum(range(n)) + sum(range(n + 1)) + 2 * n
    return total(when(k == 1, n * n))


@oracle(ABSENT, "i64")
def nests(k, n):
    return total([range(n), None, range(2 * n)][k])


@oracle(ABSENT, "i64")
def loops(k, n):
    return total(when(k in (3, 5), n))  # present from step 2 to step 3, or at the end


@oracle(ABSENT, "[]i64")
def kept(n):
    return list(range(9, n + 9))


@oracle(ABSENT, "[]i64")
def elements(m, n):
    return [i * n if i % 2 else -1 for i in range(m)]


@oracle(ABSENT, "[]i64")
def literals(b, n):
    return totals([None, range(n), when(not b, n)])


@oracle(ABSENT, "[]i64")
def replicated(b, n):
    return totals([when(not b, n), when(not b, n), range(n)])


@oracle(ABSENT, "[]i64")
def updated(i, n):
    return totals(when(j != i, n) for j in range(3))


@oracle(ABSENT, "[]i64")
def scattered(m, n):
    return totals(when(j == 1, n) for j in range(m))


@oracle(ABSENT, "i64", "[]i64")
def reduced(m, n):
    payloads = [[i] * n if i else None for i in range(m)]
    present = [i for i, x in enumerate(payloads) if x is not None]

    def first(end):
        return total(payloads[present[0]] if present and present[0] < end else None)

    return first(m), [first(i + 1) for i in range(m)]


@oracle(ABSENT, "[]i64")
def histogram(m, n):
    return [n if j == 1 else -1 for j in range(m)]


@oracle(ABSENT, "i64")
def calls(k, n):
    return total(cube(n) if k > 0 else None)


@oracle(ABSENT, "i64")
def agreeing(b, n):
    return sum(i * i for i in range(n)) if b else n


@oracle(ABSENT, "i64", "i64")
def reported(b, n):
    return n, total(when(b, n))


@oracle(ABSENT, "[]i64")
def filtered(xs):
    found = [x for x in xs if x > 2]
    return found if len(found) > 1 else []


@oracle(ABSENT, "i64")
def recursive(k, n):
    return sum(range(k - 1, k - 1 + n)) if k % 2 else -1


@oracle(ABSENT, "[]bool")
def equal(n, m):
    a, b, none = when(n > 0, n), when(m > 0, m), when(n > 100, n)
    return [a == b, a == none, b == none, True]


@oracle(ABSENT, "[]i64")
def updates(n):
    return [i or 9 for i in range(n)]


@oracle(ABSENT, "i64")
def wrong(n, m):
    return total(when(n > 0, n))
