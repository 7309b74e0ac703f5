"""Arrays of records made from rows."""

from registry import oracle

PROGRAM = "tests/programs/features/gather_forwarding.fut"


@oracle(PROGRAM, "[]i64", "i64")
def way(rows, places):
    steps = []
    for k, place in enumerate(places):
        before, here = rows[places[k - 1] if k else place], rows[place]
        steps.append(abs(before[0] - here[0]) + abs(before[1] - here[1]))
    return steps, sum(rows[place][2] for place in places)


@oracle(PROGRAM, "[]i64", "[][]i64")
def changed(rows, places):
    after = [list(row) for row in rows]
    after[-1][0] = 9
    return [rows[i][0] + rows[i][1] for i in places], after


@oracle(PROGRAM, "[][]i64")
def searched(tables, keys):
    out = []
    for table in tables:
        # The first of the rows whose key is not less, else the last one.
        at = [next((i for i, row in enumerate(table) if row[0] >= key), len(table) - 1) for key in keys]
        out.append([table[i][1] + table[(i + 1) % len(table)][1] for i in at])
    return out
