"""Tail-recursive functions, as loops."""

from registry import oracle

TAIL_CALLS = "tests/programs/features/tail_calls.fut"


@oracle(TAIL_CALLS, "i64")
def sums(n):
    return n * (n + 1) // 2


@oracle(TAIL_CALLS, "[]i64")
def sums_in_parallel(n):
    return [i * (i + 1) // 2 for i in range(n)]


@oracle(TAIL_CALLS, "i64")
def collatz(n):
    count = 0
    while n > 1:
        n = 3 * n + 1 if n % 2 else n // 2
        count += 1
    return count


@oracle(TAIL_CALLS, "[]i64")
def squares(n):
    return [i * i for i in range(n)]


@oracle(TAIL_CALLS, "i64")
def many_squares(n):
    return (n - 1) ** 2


@oracle(TAIL_CALLS, "[]i64")
def grown(k):
    return [x for i in range(k, 0, -1) for x in ([i, -i] if i % 2 else [i])]


@oracle(TAIL_CALLS, "[]i64", "[]i64", "i64")
def turned(k):
    a, b, c, d = [1, 2], [3, 4], 7, 9
    for i in range(k, 0, -1):
        a, b, c, d = b, [x + i for x in a], d, c + 1
    return a, b, c * 1000 + d


@oracle(TAIL_CALLS, "i64")
def some_last(n):
    threes, total = 0, 0
    while n > 0:
        if n % 3 == 0:
            threes, n = threes + 1, n - 2
        else:
            total, n = total + n, n - 1
    return threes + total


@oracle(TAIL_CALLS, "i64")
def found(xs, x):
    return xs.index(x)
