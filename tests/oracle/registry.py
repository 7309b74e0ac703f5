"""The registry of oracles: the function that recomputes each entry point."""

ORACLES = {}


def oracle(path, *kinds):
    """Registers a function as the oracle of the entry point of the same name.

    `path` is relative to the repository; `kinds` are the result types, such as `i32` or `[][]f64`
    (several if the entry point returns a tuple). A trailing underscore, which avoids clashes with
    Python's names, is dropped.
    """

    def register(function):
        key = (path, function.__name__.rstrip("_"))
        assert key not in ORACLES, key
        ORACLES[key] = (kinds, function)
        return function

    return register
