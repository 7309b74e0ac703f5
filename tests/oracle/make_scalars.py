#!/usr/bin/env python3
"""Writes the programs in `tests/programs/scalars`, one per scalar type.

They differ only in the type and the edge values, so they are generated from the templates below.
Run this, then `check.py --write` for the expected values.
"""

from pathlib import Path

from futdata import FLOATS, INTS, wrap

OUT = Path(__file__).resolve().parents[1] / "programs" / "scalars"

INT_PROGRAM = """\
-- Integer arithmetic of type {t}.  (Made by tests/oracle/make_scalars.py.)

-- ==
-- entry: arithmetic
-- input {{ {a} {b} }}
-- input {{ empty([0]{t}) empty([0]{t}) }}
entry arithmetic [n] (a: [n]{t}) (b: [n]{t})
               : ([n]{t}, [n]{t}, [n]{t}, [n]{t}, [n]{t}, [n]{t}, [n]{t}, [n]{t}) =
  ( map2 (+) a b
  , map2 (-) a b
  , map2 (*) a b
  , map (\\x -> -x) a
  , map {t}.abs a
  , map {t}.sgn a
  , map2 {t}.min a b
  , map2 {t}.max a b
  )

-- Rounded down, and rounded towards zero.
-- ==
-- entry: division
-- input {{ {a} {divisors} }}
entry division [n] (a: [n]{t}) (b: [n]{t}) : ([n]{t}, [n]{t}, [n]{t}, [n]{t}) =
  (map2 (/) a b, map2 (%) a b, map2 (//) a b, map2 (%%) a b)

-- ==
-- entry: powers
-- input {{ {small} {exponents} }}
entry powers [n] (a: [n]{t}) (b: [n]{t}) : [n]{t} = map2 (**) a b

-- ==
-- entry: bits
-- input {{ {a} {b} }}
entry bits [n] (a: [n]{t}) (b: [n]{t}) : ([n]{t}, [n]{t}, [n]{t}, [n]{t}) =
  (map2 (&) a b, map2 (|) a b, map2 (^) a b, map (\\x -> !x) a)

-- Left, right (with the sign where there is one), right (with zeros).
-- ==
-- entry: shifts
-- input {{ {a} {shifts} }}
entry shifts [n] (a: [n]{t}) (s: [n]{t}) : ([n]{t}, [n]{t}, [n]{t}) =
  (map2 (<<) a s, map2 (>>) a s, map2 ({t}.>>>) a s)

-- ==
-- entry: counts
-- input {{ {a} }}
entry counts [n] (a: [n]{t}) : ([n]i32, [n]i32, [n]i32, [n]i32, [n]{t}, i32) =
  ( map {t}.popc a
  , map {t}.clz a
  , map {t}.ctz a
  , map ({t}.get_bit 3) a
  , map (\\x -> {t}.set_bit 2 (x & 127) 1) a
  , {t}.num_bits
  )

-- Upper half of the double-width product.
-- ==
-- entry: high
-- input {{ {a} {b} }}
entry high [n] (a: [n]{t}) (b: [n]{t}) : ([n]{t}, [n]{t}) =
  (map2 {t}.mul_hi a b, map3 {t}.mad_hi a b b)

-- ==
-- entry: comparisons
-- input {{ {a} {b} }}
entry comparisons [n] (a: [n]{t}) (b: [n]{t})
                : ([n]bool, [n]bool, [n]bool, [n]bool, [n]bool, [n]bool) =
  (map2 (==) a b, map2 (!=) a b, map2 (<) a b, map2 (<=) a b, map2 (>) a b, map2 (>=) a b)

-- ==
-- entry: summaries
-- input {{ {a} }}
-- input {{ empty([0]{t}) }}
entry summaries (a: []{t}) : ({t}, {t}, {t}, {t}, {t}, {t}) =
  ({t}.sum a, {t}.product a, {t}.maximum a, {t}.minimum a, {t}.highest, {t}.lowest)
"""

FLOAT_PROGRAM = """\
-- Floating-point arithmetic of type {t}.  (Made by tests/oracle/make_scalars.py.)

-- ==
-- entry: arithmetic
-- input {{ {a} {b} }}
-- input {{ [{t}.inf, -{t}.inf, {t}.nan, 1.0{t}] [{t}.inf, 2.0{t}, 1.0{t}, 0.0{t}] }}
-- input {{ empty([0]{t}) empty([0]{t}) }}
entry arithmetic [n] (a: [n]{t}) (b: [n]{t}) : ([n]{t}, [n]{t}, [n]{t}, [n]{t}, [n]{t}) =
  ( map2 (+) a b
  , map2 (-) a b
  , map2 (*) a b
  , map2 (/) a b
  , map (\\x -> -x) a
  )

-- ==
-- entry: others
-- input {{ {a} {b} }}
entry others [n] (a: [n]{t}) (b: [n]{t}) : ([n]{t}, [n]{t}, [n]{t}, [n]{t}, [n]{t}) =
  (map2 {t}.min a b, map2 {t}.max a b, map {t}.abs a, map {t}.sgn a, map2 (%) a b)

-- Down, up, towards zero, to the nearest (of two the even one).
-- ==
-- entry: rounding
-- input {{ {rounded} }}
entry rounding [n] (a: [n]{t}) : ([n]{t}, [n]{t}, [n]{t}, [n]{t}) =
  (map {t}.floor a, map {t}.ceil a, map {t}.trunc a, map {t}.round a)

-- ==
-- entry: comparisons
-- input {{ {a} {b} }}
-- input {{ [{t}.nan, {t}.inf, 0.0{t}, 1.5{t}] [{t}.nan, -{t}.inf, -0.0{t}, 1.5{t}] }}
entry comparisons [n] (a: [n]{t}) (b: [n]{t})
                : ([n]bool, [n]bool, [n]bool, [n]bool, [n]bool, [n]bool) =
  (map2 (==) a b, map2 (!=) a b, map2 (<) a b, map2 (<=) a b, map2 (>) a b, map2 (>=) a b)

-- ==
-- entry: classes
-- input {{ [{t}.nan, {t}.inf, -{t}.inf, {zero}{t}, 1.5{t}] }}
entry classes [n] (a: [n]{t}) : ([n]bool, [n]bool, [n]{u}, [n]{t}) =
  ( map {t}.isnan a
  , map {t}.isinf a
  , map (\\x -> if {t}.isnan x then 0 else {t}.to_bits x) a
  , map (\\x -> {t}.from_bits ({t}.to_bits x)) a
  )

-- ==
-- entry: elementary
-- input {{ {positive} }}
entry elementary [n] (a: [n]{t}) : ([n]{t}, [n]{t}, [n]{t}, [n]{t}, [n]{t}, [n]{t}, [n]{t}) =
  ( map {t}.sqrt a
  , map {t}.exp a
  , map {t}.log a
  , map {t}.sin a
  , map {t}.cos a
  , map {t}.atan (map (2 -) a)
  , map (** 1.5) a
  )

-- ==
-- entry: summaries
-- input {{ {a} }}
-- input {{ empty([0]{t}) }}
entry summaries (a: []{t}) : ({t}, {t}, {t}, {t}, {t}, {t}) =
  ({t}.sum a, {t}.product a, {t}.maximum a, {t}.minimum a, {t}.highest, {t}.lowest)
"""

MORE_PROGRAM = """\
-- The rarer functions of type {t}.  (Made by tests/oracle/make_scalars.py.)

-- ==
-- entry: logarithms
-- input {{ {positive} }}
entry logarithms [n] (a: [n]{t}) : ([n]{t}, [n]{t}, [n]{t}) =
  (map {t}.log2 a, map {t}.log10 a, map {t}.log1p a)

-- ==
-- entry: roots
-- input {{ {positive} }}
entry roots [n] (a: [n]{t}) : ([n]{t}, [n]{t}, [n]{t}, [n]{t}) =
  (map {t}.rsqrt a, map {t}.cbrt a, map {t}.recip a, map2 {t}.hypot a (reverse a))

-- ==
-- entry: trigonometry
-- input {{ {unit} }}
entry trigonometry [n] (a: [n]{t}) : ([n]{t}, [n]{t}, [n]{t}, [n]{t}, [n]{t}) =
  ( map {t}.tan a
  , map {t}.asin a
  , map {t}.acos a
  , map2 {t}.atan2 a (reverse a)
  , map {t}.atan a
  )

-- Arguments or results in half turns.
-- ==
-- entry: half_turns
-- input {{ {unit} }}
entry half_turns [n] (a: [n]{t})
               : ([n]{t}, [n]{t}, [n]{t}, [n]{t}, [n]{t}, [n]{t}, [n]{t}) =
  ( map {t}.sinpi a
  , map {t}.cospi a
  , map (\\x -> {t}.tanpi (x / 3)) a
  , map {t}.asinpi a
  , map {t}.acospi a
  , map {t}.atanpi a
  , map2 {t}.atan2pi a (reverse a)
  )

-- ==
-- entry: hyperbolic
-- input {{ {unit} }}
entry hyperbolic [n] (a: [n]{t}) : ([n]{t}, [n]{t}, [n]{t}, [n]{t}, [n]{t}, [n]{t}) =
  ( map {t}.sinh a
  , map {t}.cosh a
  , map {t}.tanh a
  , map {t}.asinh a
  , map (\\x -> {t}.acosh (x + 3)) a
  , map {t}.atanh a
  )

-- ==
-- entry: special
-- input {{ {positive} }}
entry special [n] (a: [n]{t}) : ([n]{t}, [n]{t}, [n]{t}, [n]{t}) =
  (map {t}.gamma a, map {t}.lgamma a, map {t}.erf a, map {t}.erfc a)

-- ==
-- entry: combined
-- input {{ {unit} }}
entry combined [n] (a: [n]{t}) : ([n]{t}, [n]{t}, [n]{t}, [n]{t}, [n]{t}) =
  ( map3 {t}.fma a a (reverse a)
  , map3 {t}.mad a a (reverse a)
  , map3 {t}.lerp a (reverse a) (map {t}.abs a)
  , map2 {t}.copysign a (reverse a)
  , map (\\x -> {t}.ldexp x 3) a
  )
"""

CONVERSIONS_HEAD = """\
-- Conversions between all scalar types.  (Made by tests/oracle/make_scalars.py.)
"""

CONVERSION = """
-- ==
-- entry: from_{t}
-- input {{ {a} }}
entry from_{t} [n] (a: [n]{t})
    : ({results}) =
  ( {body}
  )
"""


def array(elem, items):
    return "[" + ", ".join(f"{x}{elem}" for x in items) + "]"


def int_program(t):
    signed, width = INTS[t]
    top = 2 ** (width - 1) - 1 if signed else 2**width - 1
    low = -(2 ** (width - 1)) if signed else 0
    a = [0, 1, 7, 100, top, low, top - 6, low + 5] + [wrap(-1, t), wrap(-7, t)] * signed
    b = [5, 1, 3, 99, 2, 3, 11, low + 1] + [top, wrap(-3, t)] * signed
    divisors = [3, 2, wrap(-2, t), 7, 10, 3, 4, wrap(-4, t)] + [wrap(-5, t), wrap(-3, t)] * signed
    shifts = [0, 3, width - 1, 1, 2, 1, width // 2, 3] + [1, 5] * signed
    small = [2, 3, 0, 0, 10, 5, 1] + [-2, -3] * signed
    exponents = [5, 4, 0, 3, 2, 25, 100] + [7, 2] * signed
    return INT_PROGRAM.format(
        t=t, a=array(t, a), b=array(t, b), divisors=array(t, divisors),
        shifts=array(t, shifts), small=array(t, small), exponents=array(t, exponents),
    )


def float_values(t):
    return {
        "t": t,
        # The reference's test runner drops the sign of an f16 zero.
        "zero": "0.0" if t == "f16" else "-0.0",
        "u": "u" + t[1:],
        "a": array(t, ["1.5", "-2.25", "0.0", "7.0", "-7.5", "100.0", "0.001"]),
        "b": array(t, ["0.5", "4.0", "-3.0", "2.0", "2.0", "-0.5", "3.0"]),
        "rounded": array(t, ["0.5", "1.5", "2.5", "-0.5", "-1.5", "-2.5", "2.25", "-2.75", "7.0"]),
        "positive": array(t, ["0.25", "1.0", "2.5", "4.0", "7.75", "0.01"]),
        "unit": array(t, ["0.25", "-0.5", "0.875", "0.0625", "-0.9375"]),
    }


def conversions():
    text = CONVERSIONS_HEAD
    targets = [*INTS, *FLOATS]
    for t in [*INTS, *FLOATS, "bool"]:
        if t == "bool":
            values = "[true, false]"
        elif t in FLOATS:
            values = array(t, ["0.0", "1.0", "3.75", "100.5", "127.0"])
        else:
            signed, width = INTS[t]
            top = 2 ** (width - 1) - 1 if signed else 2**width - 1
            values = array(t, [0, 1, 77, top, wrap(-1, t)] + [-top - 1, -100] * signed)
        # An integer can overflow f16, so its entry points omit that type.
        kinds = [k for k in targets if k != t and not (k == "f16" and t in INTS)]
        if t != "bool":
            kinds.append("bool")
        text += CONVERSION.format(
            t=t, a=values, results=", ".join(f"[n]{k}" for k in kinds),
            body="\n  , ".join(f"map {k}.{t} a" for k in kinds),
        )
    text += CONVERSION.format(
        t="negative_f64", a="[-1.0f64, -3.75f64, -128.0f64, -0.5f64]",
        results="[n]i8, [n]i16, [n]i32, [n]i64, [n]f32, [n]f16",
        body="map i8.f64 a\n  , map i16.f64 a\n  , map i32.f64 a\n  , map i64.f64 a"
        "\n  , map f32.f64 a\n  , map f16.f64 a",
    ).replace("[n]negative_f64", "[n]f64")
    text += CONVERSION.format(
        t="small_i32", a="[0i32, -3i32, 2048i32, 60000i32]", results="[n]f16",
        body="map f16.i32 a",
    ).replace("[n]small_i32", "[n]i32")
    return text


def main():
    OUT.mkdir(exist_ok=True)
    for t in INTS:
        (OUT / f"{t}.fut").write_text(int_program(t))
    for t in FLOATS:
        (OUT / f"{t}.fut").write_text(FLOAT_PROGRAM.format(**float_values(t)))
        (OUT / f"{t}_functions.fut").write_text(MORE_PROGRAM.format(**float_values(t)))
    (OUT / "conversions.fut").write_text(conversions())


if __name__ == "__main__":
    main()
