"""Arrays in shared memory, by sequential running totals."""

from itertools import accumulate

from registry import oracle

PROGRAM = "tests/programs/features/shared_memory.fut"


def i32(x):
    return (x + 2**31) % 2**32 - 2**31


@oracle(PROGRAM, "[][]i32")
def chain(xss):
    rows = []
    for xs in xss:
        a = list(accumulate(xs))
        s = sum(a)
        b = list(accumulate((x + s for x in a), max))
        b = [max(x, -100) for x in b]
        t = max((x % 5 for x in b), default=-(2**31))
        c = [i32(x) for x in accumulate(y * t for y in b)]
        u = sum(z // 3 for z in c)
        rows.append([i32(z - u) for z in c])
    return rows


@oracle(PROGRAM, "[][]i32", "[][]i64")
def loops(counts, xss, yss):
    firsts, seconds = [], []
    for count, xs, ys in zip(counts, xss, yss):
        for turn in range(count):
            a = list(accumulate(xs))
            b = list(accumulate(y + sum(a) for y in ys))
            r = max(b, default=-(2**63)) % 1000
            if r > 500:
                xs, ys = [x - r for x in a], [y % 100 for y in b]
            else:
                c = [max(x, 0) for x in accumulate((x + r for x in a), max)]
                xs, ys = [x + turn for x in c], [(y + sum(c)) % 1000 for y in b]
        firsts.append(xs)
        seconds.append(ys)
    return firsts, seconds


def of_point(i, m):
    xs = list(accumulate((i + j) % 3 for j in range(m)))
    s = sum(xs)
    ys = list(accumulate(((x + s) % 101 for x in xs), max))
    t = sum(ys)
    return i32(t + sum((x * y + t) % 7 for x, y in zip(xs, ys)))


@oracle(PROGRAM, "[]i32")
def sums(n, m):
    return [of_point(i, m) for i in range(n)]


@oracle(PROGRAM, "[]i32")
def only_sums(n, m):
    return sums(n, m)


@oracle(PROGRAM, "[]i32", "[][]i32", "[][]i32")
def rows_of_rows(n, k, m):
    tops, all_sums, all_composed = [], [], []
    for i in range(n):
        xss = [
            list(accumulate((i * 7 + a * 3 + j) % 5 for j in range(m)))
            for a in range(k)
        ]
        sums = [sum(xs) for xs in xss]
        top = max(sums, default=-(2**31))
        composed = []
        for xs in xss:
            total = 0
            for x in xs:
                # All operands are positive, so the remainder has the sign of the divisor.
                total = (total * ((1 + x % 3) % 1009) + x + top % 11) % 1009
            composed.append(total)
        tops.append(i32(top + sum(composed)))
        all_sums.append(sums)
        all_composed.append(composed)
    return tops, all_sums, all_composed
