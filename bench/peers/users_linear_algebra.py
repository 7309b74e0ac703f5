"""The programs of `users/linear_algebra.fut` in NumPy with SciPy, JAX and Numba."""

import numpy as np


def numpy_programs():
    def tridiagonal(lower, diagonal, upper, right):
        n = right.shape[1]
        cs, ds = np.empty_like(right), np.empty_like(right)
        cs[:, 0], ds[:, 0] = upper[:, 0] / diagonal[:, 0], right[:, 0] / diagonal[:, 0]
        for i in range(1, n):
            pivot = diagonal[:, i] - lower[:, i] * cs[:, i - 1]
            cs[:, i] = upper[:, i] / pivot
            ds[:, i] = (right[:, i] - lower[:, i] * ds[:, i - 1]) / pivot
        for i in range(n - 2, -1, -1):
            ds[:, i] -= cs[:, i] * ds[:, i + 1]
        return ds

    def sparse_product(begins, columns, values, xs):
        from scipy.sparse import csr_array

        return csr_array((values, columns, begins), shape=(len(begins) - 1, len(xs))) @ xs

    return {"gauss_jordan": np.linalg.inv, "tridiagonal": tridiagonal, "sparse_product": sparse_product}


def jax_programs():
    import jax
    from jax import lax, numpy as jnp

    @jax.jit
    def tridiagonal(lower, diagonal, upper, right):
        # The solver expects zeros beside the first and the last row.
        lower, upper = lower.at[:, 0].set(0), upper.at[:, -1].set(0)
        return lax.linalg.tridiagonal_solve(lower, diagonal, upper, right[:, :, None])[:, :, 0]

    @jax.jit
    def sparse_product(begins, columns, values, xs):
        n, m = len(begins) - 1, len(values)
        rows = jnp.repeat(jnp.arange(n), jnp.diff(begins), total_repeat_length=m)
        return jax.ops.segment_sum(values * xs[columns], rows, n, indices_are_sorted=True)

    return {"gauss_jordan": jax.jit(jnp.linalg.inv), "tridiagonal": tridiagonal, "sparse_product": sparse_product}


def numba_programs():
    from numba import njit, prange

    compiled = njit(parallel=True)

    @compiled
    def gauss_jordan(a):
        n = len(a)
        rows = np.zeros((n, 2 * n))
        rows[:, :n] = a
        for i in range(n):
            rows[i, n + i] = 1
        for k in range(n):
            pivot = k
            for i in range(k + 1, n):
                if abs(rows[i, k]) > abs(rows[pivot, k]):
                    pivot = i
            for j in range(2 * n):
                rows[k, j], rows[pivot, j] = rows[pivot, j], rows[k, j]
            factor = 1 / rows[k, k]
            for j in range(2 * n):
                rows[k, j] *= factor
            for i in prange(n):
                if i != k:
                    factor = rows[i, k]
                    for j in range(2 * n):
                        rows[i, j] -= factor * rows[k, j]
        return rows[:, n:].copy()

    @compiled
    def tridiagonal(lower, diagonal, upper, right):
        m, n = right.shape
        result = np.empty((m, n))
        for s in prange(m):
            cs = np.empty(n)
            c = d = 0.0
            for i in range(n):
                pivot = diagonal[s, i] - lower[s, i] * c
                c = upper[s, i] / pivot
                d = (right[s, i] - lower[s, i] * d) / pivot
                cs[i], result[s, i] = c, d
            for i in range(n - 2, -1, -1):
                result[s, i] -= cs[i] * result[s, i + 1]
        return result

    @compiled
    def sparse_product(begins, columns, values, xs):
        result = np.empty(len(begins) - 1)
        for i in prange(len(result)):
            total = 0.0
            for j in range(begins[i], begins[i + 1]):
                total += values[j] * xs[columns[j]]
            result[i] = total
        return result

    return {program.py_func.__name__: program for program in [gauss_jordan, tridiagonal, sparse_product]}
