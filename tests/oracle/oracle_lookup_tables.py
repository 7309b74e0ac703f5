"""Combinators in maps that depend on their own index only."""

from registry import oracle

PROGRAM = "tests/programs/features/lookup_tables.fut"


def coefficient(i):
    return 1 / (1 << i) / 4


@oracle(PROGRAM, "[]f64")
def once(xs, m):
    return [sum(x * coefficient(i) for i in range(m)) for x in xs]


@oracle(PROGRAM, "[][]f64")
def twice(xs, k, m):
    return [once([x + j for j in range(k)], m) for x in xs]


@oracle(PROGRAM, "[]f64")
def in_loop(xs, k, m):
    out = []
    for s in xs:
        for t in range(k):
            s = t + sum((s + 1) * coefficient(i) for i in range(m))
        out.append(s)
    return out


@oracle(PROGRAM, "[]f64")
def elements(xs, indices):
    return [sum(x * coefficient(i) for i in indices) for x in xs]


@oracle(PROGRAM, "[]f64")
def whole(xs, m):
    cs = [coefficient(i) for i in range(m if xs else 0)]
    both = [0.5, 0.25, *cs]
    return [x * sum(both) + max(both) + sum(c * x for c in cs) for x in xs]


@oracle(PROGRAM, "[][]f64")
def matrices(xs, k, a, b):
    if not xs or not k:
        return [[] for _ in xs] if xs else []
    css = [[coefficient(p + q) for q in range(b)] for p in range(a)]
    sums = [sum(cs) for cs in css]
    sums += [sum(css[p][q] for p in range(a)) for q in range(b)]
    return [[x * sum(sums[:a]) + j * max(sums) for j in range(k)] for x in xs]


@oracle(PROGRAM, "[]f64")
def updated(xs, m):
    out = []
    for x in xs:
        ds = [x] + [coefficient(i) for i in range(1, m)]
        out.append(sum(ds) + max(ds))
    return out
