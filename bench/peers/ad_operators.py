"""Reductions, scans and histograms by operator in JAX: the programs of `operators.fut`.

A program is a function of the arguments that returns primal and derivative, functions of the same arguments.
"""

import jax
from jax import lax, numpy as jnp


def compose(a, b):
    return b[0] + b[1] * a[0], a[1] * b[1]


def sum_of_products(a, b):
    return a[0] + b[0] + a[1] * b[1], a[1] + b[1]


def tree_reduce(operator, xs):
    """A reduction by halves of arrays of any length."""
    count = len(jax.tree.leaves(xs)[0])
    while count > 1:
        pairs = operator(
            jax.tree.map(lambda x: x[0:count - 1:2], xs), jax.tree.map(lambda x: x[1:count:2], xs)
        )
        if count % 2:
            pairs = jax.tree.map(lambda p, x: jnp.concatenate([p, x[count - 1:]]), pairs, xs)
        xs, count = pairs, (count + 1) // 2
    return jax.tree.map(lambda x: x[0], xs)


def on_matrices(size, run):
    """A function of flat matrices."""
    def program(xs):
        return run(xs.reshape(-1, size, size)).reshape(-1, size * size)

    return program


REDUCTIONS = {
    "plus": jnp.sum,
    "least": jnp.min,
    "product": jnp.prod,
    "linear": lambda *xs: tree_reduce(compose, xs),
    "pairs": lambda *xs: tree_reduce(sum_of_products, xs),
    "vector_plus": lambda xs: xs.sum(0),
    "vector_product": lambda xs: xs.prod(0),
    "matrices2": lambda xs: tree_reduce(jnp.matmul, xs.reshape(-1, 2, 2)).reshape(4),
    "matrices3": lambda xs: tree_reduce(jnp.matmul, xs.reshape(-1, 3, 3)).reshape(9),
}
SCANS = {
    "plus": jnp.cumsum,
    "least": lax.cummin,
    "product": jnp.cumprod,
    "linear": lambda *xs: lax.associative_scan(compose, xs),
    "pairs": lambda *xs: lax.associative_scan(sum_of_products, xs),
    "vector_plus": lambda xs: jnp.cumsum(xs, axis=0),
    "vector_product": lambda xs: jnp.cumprod(xs, axis=0),
    "matrices2": on_matrices(2, lambda xs: lax.associative_scan(jnp.matmul, xs)),
    "matrices3": on_matrices(3, lambda xs: lax.associative_scan(jnp.matmul, xs)),
}
# JAX has no derivative of products, and no histograms of other operators.
HISTOGRAMS = {
    "plus": lambda bins, seeds, xs: jnp.zeros_like(seeds).at[bins].add(xs),
    "least": lambda bins, seeds, xs: jnp.full_like(seeds, jnp.inf).at[bins].min(xs),
    "vector_plus": lambda bins, seeds, xs: jnp.zeros_like(seeds).at[bins].add(xs),
}


def pull(function, xs, seeds):
    """The vector-Jacobian product of a function of several arrays."""
    found = jax.vjp(function, *xs)[1](seeds)
    return found[0] if len(found) == 1 else found


def reduction(function):
    def derivative(*xs):
        return pull(function, xs, jax.tree.map(jnp.ones_like, jax.eval_shape(function, *xs)))

    return lambda *_args: (function, derivative)


def scan(function):
    return lambda *_args: (function, lambda *xs: pull(function, xs, xs[0] if len(xs) == 1 else xs))


def histogram(function):
    def derivative(bins, seeds, xs):
        return pull(lambda xs: function(bins, seeds, xs), [xs], seeds)

    return lambda *_args: (function, derivative)


OPERATORS = {
    f"{kind}_{name}": make(function)
    for kind, make, functions in (
        ("reduce", reduction, REDUCTIONS), ("scan", scan, SCANS), ("histogram", histogram, HISTOGRAMS),
    )
    for name, function in functions.items()
}
