"""The programs of `users/graphs.fut` in NumPy with SciPy, JAX and Numba."""

import numpy as np

DAMPING = 0.85


def numpy_programs():
    def page_rank(n, iterations, sources, targets):
        from scipy.sparse import csr_array

        degrees = np.bincount(sources, minlength=n)
        matrix = csr_array((1 / degrees[sources], (targets, sources)), shape=(n, n))
        dangling = degrees == 0
        ranks = np.full(n, 1 / n)
        for _ in range(iterations):
            ranks = (1 - DAMPING) / n + DAMPING * (matrix @ ranks + ranks[dangling].sum() / n)
        return ranks

    def floyd_warshall(weights):
        d = weights.copy()
        for k in range(len(d)):
            np.minimum(d, d[:, k, None] + d[k], out=d)
        return d

    return {"page_rank": page_rank, "floyd_warshall": floyd_warshall}


def jax_programs():
    from functools import partial

    import jax
    from jax import lax, numpy as jnp

    @partial(jax.jit, static_argnums=0)
    def page_rank(n, iterations, sources, targets):
        degrees = jnp.zeros(n).at[sources].add(1)

        def step(_, ranks):
            dangling = jnp.where(degrees == 0, ranks, 0).sum()
            shares = ranks / jnp.maximum(degrees, 1)
            received = jnp.zeros(n).at[targets].add(shares[sources])
            return (1 - DAMPING) / n + DAMPING * (received + dangling / n)

        return lax.fori_loop(0, iterations, step, jnp.full(n, 1 / n))

    @jax.jit
    def floyd_warshall(weights):
        return lax.fori_loop(0, len(weights), lambda k, d: jnp.minimum(d, d[:, k, None] + d[k]), weights)

    return {"page_rank": page_rank, "floyd_warshall": floyd_warshall}


def numba_programs():
    from numba import njit, prange

    @njit
    def page_rank(n, iterations, sources, targets):
        degrees = np.zeros(n, np.int64)
        for source in sources:
            degrees[source] += 1
        ranks = np.full(n, 1 / n)
        for _ in range(iterations):
            dangling = 0.0
            for v in range(n):
                if degrees[v] == 0:
                    dangling += ranks[v]
            received = np.zeros(n)
            for e in range(len(sources)):
                received[targets[e]] += ranks[sources[e]] / degrees[sources[e]]
            ranks = (1 - DAMPING) / n + DAMPING * (received + dangling / n)
        return ranks

    @njit(parallel=True)
    def floyd_warshall(weights):
        n, d = len(weights), weights.copy()
        for k in range(n):
            for i in prange(n):
                for j in range(n):
                    d[i, j] = min(d[i, j], d[i, k] + d[k, j])
        return d

    return {"page_rank": page_rank, "floyd_warshall": floyd_warshall}
