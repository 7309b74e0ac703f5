"""The programs of `users/signals.fut` in NumPy with SciPy, JAX and Numba."""

import math

import numpy as np

RADIUS = 2


def numpy_programs():
    def fft(real, imaginary):
        result = np.fft.fft(real + 1j * imaginary)
        return result.real, result.imag

    def box_blur(image):
        from scipy.ndimage import uniform_filter

        return uniform_filter(image, 2 * RADIUS + 1, mode="nearest")

    def integral_image(image):
        return image.cumsum(axis=0).cumsum(axis=1)

    return {"fft": fft, "box_blur": box_blur, "integral_image": integral_image}


def jax_programs():
    import jax
    from jax import numpy as jnp

    @jax.jit
    def fft(real, imaginary):
        result = jnp.fft.fft(real + 1j * imaginary)
        return result.real, result.imag

    @jax.jit
    def box_blur(image):
        (h, w), side = image.shape, 2 * RADIUS + 1
        padded = jnp.pad(image, RADIUS, mode="edge")
        return sum(padded[y:y + h, x:x + w] for y in range(side) for x in range(side)) / np.float32(side**2)

    @jax.jit
    def integral_image(image):
        return image.cumsum(axis=0).cumsum(axis=1)

    return {"fft": fft, "box_blur": box_blur, "integral_image": integral_image}


def numba_programs():
    from numba import njit, prange

    compiled = njit(parallel=True)

    @compiled
    def fft(real, imaginary):
        n = len(real)
        half = n // 2
        roots = np.empty(half, np.complex64)
        for k in prange(half):
            angle = -2 * math.pi * k / n
            roots[k] = complex(math.cos(angle), math.sin(angle))
        source, target = np.empty(n, np.complex64), np.empty(n, np.complex64)
        for i in prange(n):
            source[i] = complex(real[i], imaginary[i])
        size = 1
        while size < n:
            for j in prange(half):
                k = j % size
                a, b = source[j], roots[k * (half // size)] * source[j + half]
                at = 2 * j - k
                target[at] = a + b
                target[at + size] = a - b
            source, target = target, source
            size *= 2
        return source.real.copy(), source.imag.copy()

    @compiled
    def box_blur(image):
        h, w = image.shape
        result = np.empty_like(image)
        for y in prange(h):
            for x in range(w):
                total = np.float32(0)
                for dy in range(-RADIUS, RADIUS + 1):
                    for dx in range(-RADIUS, RADIUS + 1):
                        total += image[min(max(y + dy, 0), h - 1), min(max(x + dx, 0), w - 1)]
                result[y, x] = total / np.float32((2 * RADIUS + 1) ** 2)
        return result

    @njit
    def integral_image(image):
        h, w = image.shape
        result = np.empty_like(image)
        for y in range(h):
            total = np.float32(0)
            for x in range(w):
                total += image[y, x]
                result[y, x] = total + result[y - 1, x] if y > 0 else total
        return result

    return {program.py_func.__name__: program for program in [fft, box_blur, integral_image]}
