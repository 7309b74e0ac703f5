"""Expected values of `tests/programs/prelude/libm_*.fut`: no argument is off.
What is right, MPFR has said in the inputs (`libm/make_points.py`)."""

from registry import ORACLES

ONES = "exp log log2 log10 log1p sin cos tan atan asin acos sinh cosh tanh".split()
TWOS = "atan2 pow".split()

for ty, bits in (("f32", "[]u32"), ("f64", "[]u64")):
    for name in ONES:
        ORACLES[f"tests/programs/prelude/libm_{ty}.fut", name] = ([bits], lambda _xs, _want: [])
    for name in TWOS:
        ORACLES[f"tests/programs/prelude/libm_{ty}.fut", name] = ([bits, bits], lambda _xs, _ys, _want: ([], []))
