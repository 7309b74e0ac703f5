"""The programs of `users/sorting.fut` in NumPy, JAX and Numba."""

import numpy as np


def numpy_programs():
    return {
        "radix_sort_i32": np.sort,
        "radix_sort_f32": np.sort,
        "merge_sort": lambda xs: np.sort(xs, kind="stable"),
        "even_numbers": lambda xs: xs[xs % 2 == 0],
    }


def jax_programs():
    import jax
    from jax import numpy as jnp

    sort = jax.jit(jnp.sort)
    # `jit` needs static shapes, so the filter is not compiled as a whole.
    return {
        "radix_sort_i32": sort, "radix_sort_f32": sort, "merge_sort": sort,
        "even_numbers": lambda xs: xs[xs % 2 == 0],
    }


def numba_programs():
    from numba import njit

    @njit
    def radix_sort(keys):
        source, target = keys.copy(), np.empty_like(keys)
        for shift in range(0, 32, 8):
            ends = np.zeros(257, np.int64)
            for key in source:
                ends[((key >> shift) & 255) + 1] += 1
            for digit in range(256):
                ends[digit + 1] += ends[digit]
            for key in source:
                digit = (key >> shift) & 255
                target[ends[digit]] = key
                ends[digit] += 1
            source, target = target, source
        return source

    @njit
    def radix_sort_i32(xs):
        sign = np.uint32(0x80000000)
        return (radix_sort(xs.view(np.uint32) ^ sign) ^ sign).view(np.int32)

    @njit
    def radix_sort_f32(xs):
        sign = np.uint32(0x80000000)
        bits = xs.view(np.uint32)
        keys = radix_sort(np.where(bits < sign, bits | sign, ~bits))
        return np.where(keys >= sign, keys ^ sign, ~keys).view(np.float32)

    @njit
    def merge_sort(xs):
        n = len(xs)
        source, target = xs.copy(), np.empty_like(xs)
        width = 1
        while width < n:
            for first in range(0, n, 2 * width):
                middle, end = min(first + width, n), min(first + 2 * width, n)
                i, j = first, middle
                for at in range(first, end):
                    if j == end or (i < middle and source[i] <= source[j]):
                        target[at] = source[i]
                        i += 1
                    else:
                        target[at] = source[j]
                        j += 1
            source, target = target, source
            width *= 2
        return source

    @njit
    def even_numbers(xs):
        result, count = np.empty_like(xs), 0
        for x in xs:
            if x % 2 == 0:
                result[count] = x
                count += 1
        return result[:count]

    programs = [radix_sort_i32, radix_sort_f32, merge_sort, even_numbers]
    return {program.py_func.__name__: program for program in programs}
