#!/usr/bin/env python3
"""Test blocks of `users.fut` and `users/*.fut`: small inputs, and results by NumPy.

    python3 users_expected.py           print the blocks of all entry points
    python3 users_expected.py --write   replace the blocks in the programs

The functions are those that the figure `users` measures (`../peers/users.py`), and two more. Needs NumPy and SciPy.
"""

import json
import sys
import textwrap
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "peers"))

from users import find  # noqa: E402

SOURCE = np.random.default_rng(51)


def f32(*shape):
    """Quarters from -2 to 2."""
    return (SOURCE.integers(-8, 9, shape) / 4).astype(np.float32)


def f64(*shape):
    return f32(*shape).astype(np.float64)


def small(*shape):
    """Eighths from -0.5 to 0.5."""
    return (SOURCE.integers(-4, 5, shape) / 8).astype(np.float32)


def bits(*shape):
    return SOURCE.integers(0, 2, shape).astype(np.uint8)


def i32s(*values):
    return np.array(values, np.int32)


def text(characters):
    return np.frombuffer(characters.encode(), np.uint8)


def positive_definite(n):
    a = f64(n, n)
    return a @ a.T + np.eye(n)


def least_sums(a, b):
    return (a[:, :, None] + b[None, :, :]).min(axis=1)


def convolution(image, kernel):
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), axis=(1, 2))
    return np.einsum("cyxij,ocij->oyx", windows, kernel)


OTHERS = {"least_sums": least_sums, "convolution": convolution}
SYSTEMS = [f64(2, 4), f64(2, 4) / 4 + 3, f64(2, 4), f64(2, 4)]
# Inputs by program and entry point.
INPUTS = {
    "users": {
        "multiply": [[f32(3, 4), f32(4, 2)], [f32(1, 5), f32(5, 1)]],
        "multiply_f64": [[f64(3, 4), f64(4, 2)], [f64(2, 2), f64(2, 2)]],
        "multiply_left_transposed": [[f32(4, 3), f32(4, 2)]],
        "multiply_right_transposed": [[f32(3, 4), f32(2, 4)]],
        "multiply_batch": [[f32(2, 3, 4), f32(2, 4, 2)]],
        "least_sums": [[f32(3, 4), f32(4, 2)]],
        "perceptron": [[f32(2, 4), f32(4, 3), f32(3), f32(3, 2), f32(2)]],
        "convolution": [[f32(2, 4, 5), f32(2, 2, 3, 3)], [f32(1, 3, 3), f32(3, 1, 3, 3)]],
        "attention": [[f32(3, 2), f32(3, 2), f32(3, 2)]],
        "layer_norm": [[f32(2, 5), f32(5), f32(5)]],
        "distances": [[f32(3, 4), f32(2, 4)]],
        "kernel_sums": [[small(3, 2), small(4, 2), f32(4)]],
        "kmeans_step": [[f32(6, 2), f32(3, 2)]],
        "heat": [[np.int32(2), f32(4, 5)], [np.int32(0), f32(2, 2)], [np.int32(3), f32(5, 3)]],
        "life": [[np.int32(1), bits(4, 5)], [np.int32(3), bits(5, 4)]],
        "cholesky": [[positive_definite(3)], [np.array([[4.0]])]],
    },
    "users/linear_algebra": {
        "gauss_jordan": [[np.array([[0, 2, 1], [1, -1, 0], [3, 0, -2.5]])], [np.array([[4.0]])]],
        "tridiagonal": [SYSTEMS, [each[:, :1] for each in SYSTEMS]],
        "sparse_product": [
            [i32s(0, 2, 2, 5), i32s(0, 3, 1, 2, 3), f64(5), f64(4)],
            [i32s(0), i32s(), f64(0), f64(2)],
        ],
    },
    "users/sorting": {
        "radix_sort_i32": [[i32s(5, -1, 2**31 - 1, 0, -2**31, 5, 77)], [i32s(3)], [i32s()]],
        "radix_sort_f32": [[np.array([1.5, -0.25, 3e9, 0, -7e-9, -2, 1.5], np.float32)], [f32(0)]],
        "merge_sort": [[i32s(5, -1, 9, 0, -8, 5, 77)], [i32s(4, 3, 2, 1)], [i32s(3)], [i32s()]],
        "even_numbers": [[i32s(5, -2, 7, 0, -9, 4)], [i32s(1, 3)], [i32s()]],
    },
    "users/graphs": {
        "page_rank": [[np.int64(4), np.int32(3), i32s(0, 0, 1, 2, 2, 2), i32s(1, 2, 2, 0, 3, 3)]],
        "floyd_warshall": [[np.array([[0, 7, 2, 9], [1, 0, 8, 3], [6, 1.5, 0, 9], [9, 2, 4, 0]], np.float32)]],
    },
    "users/signals": {
        "fft": [[f32(8), f32(8)], [f32(2), f32(2)], [f32(1), f32(1)]],
        "box_blur": [[f32(2, 3)], [f32(6, 5)]],
        "integral_image": [[f32(3, 4)], [f32(4, 1)]],
    },
    "users/text": {
        "words": [[text("to be,  or\nnot ")], [text("\twords")], [text("  ")], [text("")]],
        "levenshtein": [
            [text("kitten"), text("sitting")], [text(""), text("abc")], [text("abc"), text("")],
            [text("gattaca"), text("tacgatt")],
        ],
    },
    "users/statistics": {
        "pi": [[np.int64(10)], [np.int64(1000)]],
        "asian_option": [[np.int64(8), np.int32(3)], [np.int64(100), np.int32(1)]],
        "group_by": [[np.int64(4), i32s(2, 0, 2, 3, 2, 0), f64(6)], [np.int64(2), i32s(1), f64(1)]],
        "nearest_neighbours": [[f32(2, 3), f32(7, 3) + np.arange(7, dtype=np.float32)[:, None] / 32]],
        "kalman": [[np.array([0.25, 1.5], np.float32), f32(2, 4)], [np.array([0.5], np.float32), f32(1, 0)]],
    },
    "users/stencils": {
        "jacobi": [[np.int32(2), f32(4, 5), f32(4, 5)], [np.int32(1), f32(2, 3), f32(2, 3)]],
        "wave": [[np.int32(3), f32(5, 4)], [np.int32(0), f32(2, 2)]],
        "diffusion": [[np.int32(2), f32(3, 4, 4)]],
    },
}


def elem_of(value):
    return str(value.dtype).replace("float", "f").replace("uint", "u").replace("int", "i")


def form(value):
    """A value as text."""
    elem = elem_of(value)
    if value.ndim == 0:
        return f"{value!s}{elem}"
    if value.size == 0:
        return f"empty({''.join(f'[{size}]' for size in value.shape)}{elem})"
    return f"[{', '.join(form(part) for part in value)}]"


def lines_of(keyword, values):
    # Vectors of bytes are texts.
    texts = [value.dtype == np.uint8 and value.ndim == 1 for value in values]
    words = " ".join(
        json.dumps(value.tobytes().decode()) if is_text else form(value) for value, is_text in zip(values, texts)
    )
    return textwrap.wrap(
        f"{keyword} {{ {words} }}", 100, initial_indent="-- ", subsequent_indent="--   ", break_on_hyphens=False
    )


def results_of(entry, values):
    """The results of an entry point as arrays."""
    program = OTHERS.get(entry) or find(entry, "NumPy")
    results = program(*values)
    return [np.asarray(result) for result in (results if isinstance(results, tuple) else (results,))]


def block(entry, inputs):
    """The lines of a test block."""
    lines = ["-- ==", f"-- entry: {entry}"]
    for values in inputs:
        lines += lines_of("input", values) + lines_of("output", results_of(entry, values))
    return lines


def replace(path, blocks):
    """Replaces the test blocks in a program."""
    lines = []
    for line in path.read_text().splitlines():
        words = line.split()
        if words[:1] == ["entry"]:
            comment = next((i for i in range(len(lines), 0, -1) if not lines[i - 1].startswith("--")), 0)
            if "-- ==" in lines[comment:]:
                del lines[lines.index("-- ==", comment):]
            lines += blocks[words[1]]
        lines.append(line)
    path.write_text("\n".join(lines) + "\n")


def main():
    for program, entries in INPUTS.items():
        blocks = {entry: block(entry, inputs) for entry, inputs in entries.items()}
        if "--write" in sys.argv[1:]:
            replace(HERE / f"{program}.fut", blocks)
        else:
            print(f"{program}.fut", *(line for lines in blocks.values() for line in lines), sep="\n")


if __name__ == "__main__":
    main()
