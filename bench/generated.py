"""Programs made by a generator: what the compiler makes of size.

Each maker takes a number and gives a program's text. `bench/run.py generated`
builds each at several sizes and reports time and memory.
"""

import random


def straight(n):
    """One function of n statements."""
    choice, lines, names = random.Random(1), [], ["x", "y"]
    for i in range(n):
        a, b = choice.choice(names[-20:]), choice.choice(names[-20:])
        lines.append(f"  let v{i} = " + [
            f"{a} * {b} + {i}", f"({a} ^ {b}) - {i}",
            f"if {a} < {b} then {a} else {b} + {i}", f"{a} + xs[{b} & 15]",
        ][choice.randrange(4)])
        names.append(f"v{i}")
    last = " ^ ".join(names[-20:])
    return "\n".join(["entry main (x: i32) (y: i32) (xs: [16]i32) : i32 =", *lines, f"  in {last}", ""])


def library(n, statements=2000):
    """n entry points that use a function of many statements, each with functions of its own."""
    choice, lines, names = random.Random(2), [], ["x", "y"]
    for i in range(statements):
        a, b = choice.choice(names[-20:]), choice.choice(names[-20:])
        lines.append(f"  let v{i} = " + [
            f"{a} * {b} + {i}", f"f {a} {b}", f"g ({a} - {b})", f"({a} | {b}) + {i}",
        ][choice.randrange(4)])
        names.append(f"v{i}")
    last = " ^ ".join(names[-20:])
    head = "def library (f: i32 -> i32 -> i32) (g: i32 -> i32) (x: i32) (y: i32) : i32 ="
    entries = [
        f"entry use{i} (x: i32) (y: i32) : i32 = library (\\a b -> a * {2 * i + 3} + b) (\\a -> a ^ (x + {i})) x y"
        for i in range(n)
    ]
    return "\n".join([head, *lines, f"  in {last}", *entries, ""])


def higher_order(n):
    """n functions around one another, each taking the one within."""
    lines = ["def around (k: i32) (f: i32 -> i32) (x: i32) : i32 = f (x + k) * 3 - k"]
    lines.append("entry main (x: i32) : i32 =")
    lines.append("  " + "".join(f"around {i} (" for i in range(n)) + "\\y -> y" + ")" * n + " x")
    return "\n".join([*lines, ""])


def maps(n):
    """A chain of n lets with maps."""
    lines = ["entry main [n] (xs0: [n]i32) : [n]i32 ="]
    for i in range(n):
        lines.append(f"  let xs{i + 1} = map (\\x -> x * {2 * i + 1} + {i}) xs{i}")
    return "\n".join([*lines, f"  in xs{n}", ""])


def doubling(n):
    """n functions that each call the one before twice."""
    lines = ["def f0 (x: i32) = x"]
    lines += [f"def f{i} (x: i32) = f{i - 1} x + f{i - 1} x" for i in range(1, n)]
    return "\n".join([*lines, f"entry main (x: i32) = f{n - 1} x", ""])


def functors(n):
    """A parametric module applied n levels deep to two of the module before."""
    lines = [
        "module type op = { type t val f : t -> t }",
        "module F (X: op) (Y: op with t = X.t) = { type t = X.t def f (x: t) = X.f (Y.f (X.f x)) }",
        "module M0 = { type t = i32 def f (x: i32) : i32 = x * 3 + 1 }",
    ]
    lines += [f"module M{i} = F M{i - 1} M{i - 1}" for i in range(1, n + 1)]
    return "\n".join([*lines, f"entry main (x: i32) : i32 = M{n}.f x", ""])


def else_if(n):
    """A chain of n `else if`."""
    lines = ["entry main (x: i32) : i32 =", "  if x == 0 then 7"]
    lines += [f"  else if x == {i} then {(i * 7919) % 10007}" for i in range(1, n)]
    return "\n".join([*lines, "  else -1", ""])


def cases(n):
    """A match of n integers."""
    lines = ["entry main (x: i32) : i32 =", "  match x"]
    lines += [f"  case {i} -> {(i * 7919) % 10007}" for i in range(n)]
    return "\n".join([*lines, "  case _ -> -1", ""])


# Name, maker, sizes in order; each twice the one before where growth is told.
PROGRAMS = [
    ("straight", straight, [1_000, 12_500, 25_000, 50_000, 100_000, 300_000]),
    ("library", library, [4, 8, 16]),
    ("higher_order", higher_order, [75, 150, 300]),
    ("maps", maps, [500, 1000, 2000]),
    ("doubling", doubling, [40]),
    ("functors", functors, [22]),
    ("else_if", else_if, [5000]),
    ("cases", cases, [5000]),
]
