"""Generated programs: the growth of the compiler's time and memory with program size.

Each generator takes a size and returns a program's text. `bench/run.py generated` builds each at
several sizes and reports time and memory.
"""

import random


def straight_line(n):
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
    """n nested higher-order functions, each taking the inner one."""
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
    """n functions that each call the previous one twice."""
    lines = ["def f0 (x: i32) = x"]
    lines += [f"def f{i} (x: i32) = f{i - 1} x + f{i - 1} x" for i in range(1, n)]
    return "\n".join([*lines, f"entry main (x: i32) = f{n - 1} x", ""])


def functors(n):
    """A parametric module applied n levels deep to two instances of the previous module."""
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


def independent(n):
    """n independent maps, each with a reduction."""
    lines = ["entry main [n] (xs: [n]i32) (ys: [n]i32) (k: i32) : i32 ="]
    for i in range(n):
        lines.append(f"  let a{i} = " + [
            f"map (\\x -> x * {i + 2} + k) xs", f"map2 (\\x y -> x ^ (y + {i})) xs ys", f"map (\\x -> x - {i}) ys",
        ][i % 3])
        lines.append(f"  let s{i} = " + [f"reduce (+) 0 a{i}", f"reduce i32.max {i} a{i}"][i % 2])
    return "\n".join([*lines, "  in " + " ^ ".join(f"s{i}" for i in range(n)), ""])


def dependent(n):
    """n reductions of maps over one array, each depending on the previous one."""
    lines = ["entry main [n] (xs: [n]i32) (s0: i32) : i32 ="]
    for i in range(n):
        lines.append(f"  let s{i + 1} = reduce (+) 0 (map (\\x -> x * s{i} + {i}) xs)")
    return "\n".join([*lines, f"  in s{n}", ""])


def nest(n):
    """n nested loops and conditionals."""
    body = f"x{n} * 3 + m"
    for i in reversed(range(n)):
        if i % 2:
            body = f"loop x{i + 1} = x{i} + {i} for i{i} < m do (if x{i + 1} > i{i} then x{i + 1} else ({body}))"
        else:
            body = f"let x{i + 1} = x{i} ^ {i} in if x{i + 1} < m then {body} else x{i + 1} + {i}"
    return f"entry main (x0: i64) (m: i64) : i64 =\n  {body}\n"


def results(n):
    """A loop with n parameters over a conditional with n results."""
    names = "(" + ", ".join(f"a{i}" for i in range(n)) + ")"
    yes = ", ".join(f"a{(i * 7 + 1) % n} + {i}" for i in range(n))
    no = ", ".join(f"a{(i * 5 + 2) % n} * {i + 3}" for i in range(n))
    return "\n".join([
        "entry main (c: bool) (m: i64) : i32 =",
        f"  let {names} = loop {names} = (" + ", ".join(f"{i}i32" for i in range(n)) + ") for _i < m do",
        f"    if c then ({yes}) else ({no})",
        "  in " + " ^ ".join(f"a{i}" for i in range(n)), "",
    ])


def updates(n):
    """n updates of one array, each with an element read before it."""
    lines = ["entry main (k: i64) (x: i32) : []i32 =", "  let xs0 = replicate 1000 x"]
    for i in range(n):
        lines.append(f"  let xs{i + 1} = xs{i} with [(k + {i}) & 511] = xs{i}[{i * 37 % 1000}] + {i}")
    return "\n".join([*lines, f"  in xs{n}", ""])


# Name, generator, sizes in increasing order.
PROGRAMS = [
    ("straight_line", straight_line, [1_000, 12_500, 25_000, 50_000, 100_000, 300_000]),
    ("library", library, [4, 8, 16]),
    ("higher_order", higher_order, [75, 150, 300]),
    ("maps", maps, [500, 1000, 2000]),
    ("doubling", doubling, [40]),
    ("functors", functors, [22]),
    ("else_if", else_if, [5000]),
    ("cases", cases, [5000]),
]

# The same up to the imperative IR only, for the optimiser's growth.
OPTIMISER_PROGRAMS = [
    ("straight_line", straight_line, [12_500, 25_000, 50_000]),
    ("independent", independent, [1600, 3200, 6400]),
    ("dependent", dependent, [1600, 3200, 6400]),
    ("nest", nest, [1000, 2000, 4000]),
    ("results", results, [1600, 3200, 6400]),
    ("updates", updates, [8000, 16_000, 32_000]),
]
