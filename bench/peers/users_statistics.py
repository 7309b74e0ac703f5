"""The programs of `users/statistics.fut` in NumPy with SciPy, JAX and Numba."""

import math

import numpy as np

# An Asian option: price, strike, rate, volatility.
START, STRIKE, RATE, VOLATILITY = (np.float32(value) for value in (100, 100, 0.05, 0.2))
NOISE = np.float32(0.01)
NEAREST = 5


def following(state):
    """The next state of xorshift32, for arrays."""
    state = state ^ (state << 13)
    state = state ^ (state >> 17)
    return state ^ (state << 5)


def seeds(xp, n):
    return (xp.arange(n).astype(np.uint32) + np.uint32(1)) * np.uint32(2654435769)


def uniform(states):
    return states.astype(np.float32) * np.float32(2**-32)


def drift_and_diffusion(steps):
    dt = np.float32(1) / np.float32(steps)
    return (RATE - VOLATILITY * VOLATILITY / 2) * dt, VOLATILITY * np.float32(math.sqrt(dt))


def kalman_step(state, z, variance):
    x, v, pxx, pxv, pvv = state
    x = x + v
    pxx = pxx + 2 * pxv + pvv + NOISE
    pxv = pxv + pvv
    pvv = pvv + NOISE
    gain_x, gain_v = pxx / (pxx + variance), pxv / (pxx + variance)
    error = z - x
    return x + gain_x * error, v + gain_v * error, (1 - gain_x) * pxx, (1 - gain_x) * pxv, pvv - gain_v * pxv


def shared(xp):
    """The programs that NumPy and JAX write alike."""
    def pi(n):
        first = following(seeds(xp, n))
        x, y = uniform(first), uniform(following(first))
        return 4 * (x * x + y * y < 1).sum() / n

    def option_step(state, price, steps):
        drift, diffusion = drift_and_diffusion(steps)
        first = following(state)
        second = following(first)
        radius = xp.sqrt(-2 * xp.log(uniform(first)))
        normal = radius * xp.cos(np.float32(2 * math.pi) * uniform(second))
        return second, price * xp.exp(drift + diffusion * normal)

    def option_price(total, steps):
        return np.exp(-RATE) * xp.maximum(total / np.float32(steps) - STRIKE, 0).mean()

    return pi, option_step, option_price


def numpy_programs():
    pi, option_step, option_price = shared(np)

    def asian_option(paths, steps):
        state, price, total = seeds(np, paths), np.full(paths, START), np.zeros(paths, np.float32)
        for _ in range(steps):
            state, price = option_step(state, price, steps)
            total += price
        return option_price(total, steps)

    def group_by(k, keys, values):
        return np.bincount(keys, values, k), np.bincount(keys, minlength=k).astype(np.int32)

    def nearest_neighbours(queries, points):
        from scipy.spatial import cKDTree

        distances, nearest = cKDTree(points).query(queries, NEAREST, workers=-1)
        return nearest.astype(np.int32), (distances**2).astype(np.float32)

    def kalman(variances, measurements):
        zero, one = np.zeros_like(variances), np.ones_like(variances)
        state = (zero, zero, one, zero, one)
        for i in range(measurements.shape[1]):
            state = kalman_step(state, measurements[:, i], variances)
        return state[:2]

    return {
        "pi": pi, "asian_option": asian_option, "group_by": group_by, "nearest_neighbours": nearest_neighbours,
        "kalman": kalman,
    }


def jax_programs():
    from functools import partial

    import jax
    from jax import lax, numpy as jnp

    pi, option_step, option_price = shared(jnp)

    @partial(jax.jit, static_argnums=(0, 1))
    def asian_option(paths, steps):
        def step(_, values):
            state, price, total = values
            state, price = option_step(state, price, steps)
            return state, price, total + price

        start = seeds(jnp, paths), jnp.full(paths, START), jnp.zeros(paths, jnp.float32)
        return option_price(lax.fori_loop(0, steps, step, start)[2], steps)

    @partial(jax.jit, static_argnums=0)
    def group_by(k, keys, values):
        return jnp.zeros(k).at[keys].add(values), jnp.zeros(k, jnp.int32).at[keys].add(1)

    @jax.jit
    def nearest_neighbours(queries, points):
        products = queries @ points.T
        distances = (queries**2).sum(1)[:, None] - 2 * products + (points**2).sum(1)[None, :]
        found, nearest = lax.top_k(-distances, NEAREST)
        return nearest, -found

    @jax.jit
    def kalman(variances, measurements):
        def track(variance, zs):
            def step(state, z):
                return kalman_step(state, z, variance), None

            zero, one = jnp.float32(0), jnp.float32(1)
            return lax.scan(step, (zero, zero, one, zero, one), zs)[0][:2]

        return jax.vmap(track)(variances, measurements)

    return {
        "pi": jax.jit(pi, static_argnums=0), "asian_option": asian_option, "group_by": group_by,
        "nearest_neighbours": nearest_neighbours, "kalman": kalman,
    }


def numba_programs():
    from numba import njit, prange

    compiled = njit(parallel=True)

    @njit
    def following_state(state):
        state = np.uint32(state ^ (state << 13))
        state = np.uint32(state ^ (state >> 17))
        return np.uint32(state ^ (state << 5))

    @njit
    def seed(i):
        return np.uint32((i + 1) * 2654435769)

    @njit
    def uniform_number(state):
        return np.float32(state) * np.float32(2**-32)

    @compiled
    def pi(n):
        count = 0
        for i in prange(n):
            first = following_state(seed(i))
            x, y = uniform_number(first), uniform_number(following_state(first))
            if x * x + y * y < 1:
                count += 1
        return 4 * count / n

    @compiled
    def asian_option(paths, steps):
        dt = np.float32(1) / np.float32(steps)
        drift = (RATE - VOLATILITY * VOLATILITY / np.float32(2)) * dt
        diffusion = VOLATILITY * math.sqrt(dt)
        payoffs = 0.0
        for i in prange(paths):
            state, price, total = seed(i), START, np.float32(0)
            for _ in range(steps):
                first = following_state(state)
                state = following_state(first)
                radius = math.sqrt(np.float32(-2) * math.log(uniform_number(first)))
                normal = radius * math.cos(np.float32(2 * math.pi) * uniform_number(state))
                price *= math.exp(drift + diffusion * normal)
                total += price
            payoffs += max(total / np.float32(steps) - STRIKE, np.float32(0))
        return np.float32(math.exp(-RATE) * payoffs / paths)

    @njit
    def group_by(k, keys, values):
        sums, counts = np.zeros(k), np.zeros(k, np.int32)
        for i in range(len(keys)):
            sums[keys[i]] += values[i]
            counts[keys[i]] += 1
        return sums, counts

    @compiled
    def nearest_neighbours(queries, points):
        n, dims = points.shape
        nearest = np.full((len(queries), NEAREST), -1, np.int32)
        found = np.full((len(queries), NEAREST), np.inf, np.float32)
        for q in prange(len(queries)):
            for i in range(n):
                distance = np.float32(0)
                for k in range(dims):
                    distance += (queries[q, k] - points[i, k]) ** 2
                if distance < found[q, NEAREST - 1]:
                    j = NEAREST - 1
                    while j > 0 and distance < found[q, j - 1]:
                        found[q, j], nearest[q, j] = found[q, j - 1], nearest[q, j - 1]
                        j -= 1
                    found[q, j], nearest[q, j] = distance, i
        return nearest, found

    step = njit(kalman_step)

    @compiled
    def kalman(variances, measurements):
        n, steps = measurements.shape
        positions, velocities = np.empty(n, np.float32), np.empty(n, np.float32)
        for t in prange(n):
            zero, one = np.float32(0), np.float32(1)
            state = (zero, zero, one, zero, one)
            for i in range(steps):
                x, v, pxx, pxv, pvv = step(state, measurements[t, i], variances[t])
                state = (np.float32(x), np.float32(v), np.float32(pxx), np.float32(pxv), np.float32(pvv))
            positions[t], velocities[t] = state[0], state[1]
        return positions, velocities

    programs = [pi, asian_option, group_by, nearest_neighbours, kalman]
    return {program.py_func.__name__: program for program in programs}
