"""What combinators in maps compute of their own index alone."""

from registry import oracle

TABLES = "tests/programs/features/tables.fut"


def coefficient(i):
    return 1 / (1 << i) / 4


@oracle(TABLES, "[]f64")
def once(xs, m):
    return [sum(x * coefficient(i) for i in range(m)) for x in xs]


@oracle(TABLES, "[][]f64")
def twice(xs, k, m):
    return [once([x + j for j in range(k)], m) for x in xs]


@oracle(TABLES, "[]f64")
def turns(xs, k, m):
    out = []
    for s in xs:
        for t in range(k):
            s = t + sum((s + 1) * coefficient(i) for i in range(m))
        out.append(s)
    return out


@oracle(TABLES, "[]f64")
def elements(xs, indices):
    return [sum(x * coefficient(i) for i in indices) for x in xs]
