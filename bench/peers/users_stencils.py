"""The programs of `users/stencils.fut` in NumPy, JAX and Numba."""

import numpy as np

QUARTER = np.float32(0.25)


def neighbours(u):
    """The sum of the four neighbours of the inner points."""
    return u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]


def jacobi_inner(u, right):
    return QUARTER * (neighbours(u) - right[1:-1, 1:-1])


def wave_inner(previous, u):
    inner = u[1:-1, 1:-1]
    return 2 * inner - previous[1:-1, 1:-1] + QUARTER * (neighbours(u) - 4 * inner)


def diffusion_inner(u):
    around = (u[:-2, 1:-1, 1:-1] + u[2:, 1:-1, 1:-1] + u[1:-1, :-2, 1:-1] + u[1:-1, 2:, 1:-1]
              + u[1:-1, 1:-1, :-2] + u[1:-1, 1:-1, 2:])
    return np.float32(0.4) * u[1:-1, 1:-1, 1:-1] + np.float32(0.1) * around


def numpy_programs():
    def jacobi(steps, right, u):
        u = u.copy()
        for _ in range(steps):
            u[1:-1, 1:-1] = jacobi_inner(u, right)
        return u

    def wave(steps, u):
        previous = u
        for _ in range(steps):
            following = np.zeros_like(u)
            following[1:-1, 1:-1] = wave_inner(previous, u)
            previous, u = u, following
        return u

    def diffusion(steps, u):
        u = u.copy()
        for _ in range(steps):
            u[1:-1, 1:-1, 1:-1] = diffusion_inner(u)
        return u

    return {"jacobi": jacobi, "wave": wave, "diffusion": diffusion}


def jax_programs():
    import jax
    from jax import lax, numpy as jnp

    @jax.jit
    def jacobi(steps, right, u):
        return lax.fori_loop(0, steps, lambda _, u: u.at[1:-1, 1:-1].set(jacobi_inner(u, right)), u)

    @jax.jit
    def wave(steps, u):
        def step(_, pair):
            previous, u = pair
            return u, jnp.pad(wave_inner(previous, u), 1)

        return lax.fori_loop(0, steps, step, (u, u))[1]

    @jax.jit
    def diffusion(steps, u):
        return lax.fori_loop(0, steps, lambda _, u: u.at[1:-1, 1:-1, 1:-1].set(diffusion_inner(u)), u)

    return {"jacobi": jacobi, "wave": wave, "diffusion": diffusion}


def numba_programs():
    from numba import njit, prange

    compiled = njit(parallel=True)

    @compiled
    def jacobi(steps, right, start):
        n, m = start.shape
        old, new = start.copy(), start.copy()
        for _ in range(steps):
            for y in prange(1, n - 1):
                for x in range(1, m - 1):
                    around = old[y - 1, x] + old[y + 1, x] + old[y, x - 1] + old[y, x + 1]
                    new[y, x] = QUARTER * (around - right[y, x])
            old, new = new, old
        return old

    @compiled
    def wave(steps, start):
        n, m = start.shape
        previous, u, following = start.copy(), start.copy(), np.zeros_like(start)
        for _ in range(steps):
            for y in prange(1, n - 1):
                for x in range(1, m - 1):
                    around = u[y - 1, x] + u[y + 1, x] + u[y, x - 1] + u[y, x + 1]
                    laplacian = around - np.float32(4) * u[y, x]
                    following[y, x] = np.float32(2) * u[y, x] - previous[y, x] + QUARTER * laplacian
            for y in range(n):
                following[y, 0] = following[y, m - 1] = 0
            for x in range(m):
                following[0, x] = following[n - 1, x] = 0
            previous, u, following = u, following, previous
        return u

    @compiled
    def diffusion(steps, start):
        l, n, m = start.shape
        old, new = start.copy(), start.copy()
        for _ in range(steps):
            for z in prange(1, l - 1):
                for y in range(1, n - 1):
                    for x in range(1, m - 1):
                        around = (old[z - 1, y, x] + old[z + 1, y, x] + old[z, y - 1, x] + old[z, y + 1, x]
                                  + old[z, y, x - 1] + old[z, y, x + 1])
                        new[z, y, x] = np.float32(0.4) * old[z, y, x] + np.float32(0.1) * around
            old, new = new, old
        return old

    return {"jacobi": jacobi, "wave": wave, "diffusion": diffusion}
