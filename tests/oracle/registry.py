"""Where the oracle scripts list which entry point each function recomputes."""

ORACLES = {}


def oracle(path, *kinds):
    """Registers a function as the oracle of the entry point of its own name.

    `path` is relative to the repository; `kinds` are the result types, such as
    `i32` or `[][]f64` (several where the entry point yields a tuple).  A
    trailing underscore keeps a name clear of Python's own and is dropped.
    """

    def register(function):
        key = (path, function.__name__.rstrip("_"))
        assert key not in ORACLES, key
        ORACLES[key] = (kinds, function)
        return function

    return register
