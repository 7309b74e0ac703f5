"""The operator `**` on floats: exact powers, and expressions that must be equal."""

from registry import oracle

POWERS = "tests/programs/scalars/powers.fut"


def listed(entry, kind, function):
    """Registers a short function as the oracle of an entry point."""

    def oracle_(*args):
        return function(*args)

    oracle_.__name__ = entry
    oracle(POWERS, kind)(oracle_)


for t in ["f16", "f32", "f64"]:
    listed(f"same_{t}", "bool", lambda xs, ys: True)
for t in ["f32", "f64"]:
    listed(f"square_{t}", "bool", lambda xs, y: all(x**y == x * x for x in xs))
listed("powers", "[]f64", lambda xs, ys: [x**y for x, y in zip(xs, ys)])
