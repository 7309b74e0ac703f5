"""The programs of `users/text.fut` in NumPy, JAX and Numba."""

import numpy as np


def is_space(text):
    return (text == ord(" ")) | (text == ord("\n")) | (text == ord("\t"))


def numpy_programs():
    def words(text):
        spaces = np.flatnonzero(is_space(text))
        lengths = np.diff(np.concatenate(([-1], spaces, [len(text)]))) - 1
        return np.int64(np.count_nonzero(lengths)), lengths.max()

    def levenshtein(a, b):
        at = np.arange(len(b) + 1, dtype=np.int32)
        row = at
        for i in range(len(a)):
            best = row + 1
            best[1:] = np.minimum(best[1:], row[:-1] + (a[i] != b))
            row = np.minimum.accumulate(best - at) + at
        return row[-1]

    return {"words": words, "levenshtein": levenshtein}


def jax_programs():
    import jax
    from jax import lax, numpy as jnp

    @jax.jit
    def words(text):
        spaces, at = is_space(text), jnp.arange(len(text))
        ends = ~spaces & jnp.append(spaces[1:], True)
        last_space = lax.cummax(jnp.where(spaces, at, -1))
        return ends.sum(), (at - last_space).max()

    @jax.jit
    def levenshtein(a, b):
        at = jnp.arange(len(b) + 1, dtype=jnp.int32)

        def step(i, row):
            best = jnp.append(row[:1] + 1, jnp.minimum(row[1:] + 1, row[:-1] + (a[i] != b)))
            return lax.cummin(best - at) + at

        return lax.fori_loop(0, len(a), step, at)[-1]

    return {"words": words, "levenshtein": levenshtein}


def numba_programs():
    from numba import njit

    @njit
    def words(text):
        count = longest = length = 0
        for c in text:
            if c == 32 or c == 10 or c == 9:
                length = 0
            else:
                if length == 0:
                    count += 1
                length += 1
                longest = max(longest, length)
        return count, longest

    @njit
    def levenshtein(a, b):
        row = np.arange(len(b) + 1).astype(np.int32)
        for i in range(len(a)):
            diagonal = row[0]
            row[0] = i + 1
            for j in range(len(b)):
                above = row[j + 1]
                row[j + 1] = min(above + 1, row[j] + 1, diagonal + (a[i] != b[j]))
                diagonal = above
        return row[-1]

    return {"words": words, "levenshtein": levenshtein}
