"""Test data of Futhark programs: the text form of values, and test blocks.

A value is read as `Value(elem, shape, data)`: element type name, list of dimensions, nested Python
lists (or one scalar). `format_value` writes it back so that reading yields the same value bit for
bit. Integers wrap to the width of their type when written; floats round to it.

A test block consists of the comment lines that `futhark test` reads: `==`, then `entry:`, `input {
... }` and `output { ... }` or `error: ...` lines. These scripts support a subset: inline values,
with each `input`, `output` and `error:` at the start of its own line.
"""

import math
import re
import struct
from dataclasses import dataclass

INTS = {f"{s}{w}": (s == "i", w) for s in "iu" for w in (8, 16, 32, 64)}
FLOATS = {"f16": "e", "f32": "f", "f64": "d"}


def wrap(value, elem):
    """`value` modulo 2^width, in the range of the integer type `elem`."""
    signed, width = INTS[elem]
    value &= (1 << width) - 1
    return value - (1 << width) if signed and value >> (width - 1) else value


def round_to(value, elem):
    """`value` rounded to the nearest number of the float type `elem`."""
    if math.isnan(value) or math.isinf(value):
        return value
    try:
        return struct.unpack(FLOATS[elem], struct.pack(FLOATS[elem], value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def f32(value):
    """The nearest f32. The operations +, -, *, / and sqrt of f32, computed in double precision
    and rounded by this function, are exactly those of f32."""
    return round_to(value, "f32")


@dataclass
class Value:
    elem: str
    shape: list
    data: object


TOKEN = re.compile(
    r"\s*(?:(empty)\s*\(|([\[\](),])|([-+]?f(?:16|32|64)\.(?:nan|inf))"
    r"|(true|false)|([-+]?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+"
    r"|[0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?))([iuf](?:8|16|32|64))?)"
)


def parse_values(text):
    """Returns all values in `text`, in order."""
    pos, values = 0, []
    text = text.strip()
    while pos < len(text):
        value, pos = parse_value(text, pos)
        values.append(value)
    return values


CONTROLS = (
    "NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK "
    "SYN ETB CAN EM SUB ESC FS GS RS US SP"
).split()
LETTERS = dict(zip("abfnrtv\\\"'", "\a\b\f\n\r\t\v\\\"'"))
ESCAPE = re.compile(
    r"\\(?:(&)|([abfnrtv\\\"'])|\^([@-_])|([0-9]+)|[xX]([0-9a-fA-F]+)|[oO]([0-7]+)|(DEL)|(%s))"
    % "|".join(sorted(CONTROLS, key=len, reverse=True))
)


def unescape(match):
    """Returns the character of a Haskell escape sequence."""
    nothing, letter, control, decimal, hexadecimal, octal, delete, name = match.groups()
    if nothing:
        return ""
    if letter:
        return LETTERS[letter]
    if control:
        return chr(ord(control) - ord("@"))
    if decimal:
        return chr(int(decimal))
    if hexadecimal:
        return chr(int(hexadecimal, 16))
    if octal:
        return chr(int(octal, 8))
    return "\x7f" if delete else chr(CONTROLS.index(name))


STRING = re.compile(r'\s*"((?:[^"\\]|\\.)*)"')


def parse_value(text, pos):
    string = STRING.match(text, pos)
    if string:
        data = list(ESCAPE.sub(unescape, string[1]).encode())
        return Value("u8", [len(data)], data), string.end()
    match = TOKEN.match(text, pos)
    if not match:
        raise ValueError(f"not a value: {text[pos:pos + 30]!r}")
    if match[1]:
        close = text.index(")", pos)
        dims = re.findall(r"\[(\d+)\]", text[match.end():close])
        elem = re.search(r"\](\w+)\s*$", text[match.end():close])[1]
        shape = [int(d) for d in dims]
        return Value(elem, shape, empty_data(shape)), close + 1
    if match[2] == "[":
        items, pos = [], match.end()
        while True:
            skip = re.compile(r"[\s,]*").match(text, pos)
            pos = skip.end()
            if text[pos] == "]":
                break
            item, pos = parse_value(text, pos)
            items.append(item)
        if any(i.shape != items[0].shape for i in items):
            raise ValueError("irregular array")
        elem = items[0].elem
        data = [retype(i.data, i.elem, elem) for i in items]
        return Value(elem, [len(items)] + items[0].shape, data), pos + 1
    return parse_scalar(match), match.end()


def retype(data, from_elem, elem):
    """Converts later elements of an array to the type of the first."""
    if isinstance(data, list):
        return [retype(d, from_elem, elem) for d in data]
    if elem in FLOATS:
        return round_to(float(data), elem)
    return data


def parse_scalar(match):
    if match[3]:
        sign = -1.0 if match[3].startswith("-") else 1.0
        elem, name = match[3].lstrip("+-").split(".")
        return Value(elem, [], math.nan if name == "nan" else sign * math.inf)
    if match[4]:
        return Value("bool", [], match[4] == "true")
    number, suffix = match[5].replace("_", ""), match[6]
    digits = number.lstrip("+-").lower()
    based = digits.startswith(("0x", "0b"))
    if suffix in FLOATS or (not suffix and not based and re.search(r"[.e]", digits)):
        elem = suffix or "f64"
        return Value(elem, [], round_to(float(number), elem))
    elem = suffix or "i32"
    value = int(digits, 0) if based else int(digits)
    return Value(elem, [], -value if number.startswith("-") else value)


class Empty(list):
    """An array without rows and with a known shape, such as `Empty([0, 3])`."""

    def __init__(self, shape):
        super().__init__()
        self.shape = shape


def empty_data(shape):
    if shape[0] == 0:
        return Empty(shape)
    return [empty_data(shape[1:]) for _ in range(shape[0])]


def shape_of(data, rank):
    """The sizes of nested lists; dimensions inside an empty list are 0."""
    if isinstance(data, Empty):
        return data.shape
    if rank == 0:
        return []
    return [len(data)] + shape_of(data[0] if data else [], rank - 1)


def value_of(kind, data):
    """Converts Python `data` to a Value of a type like `i32` or `[][]f64`."""
    elem = kind.rsplit("]", 1)[-1]
    return Value(elem, shape_of(data, kind.count("[")), data)


def format_value(value):
    if 0 in value.shape:
        dims = "".join(f"[{d}]" for d in value.shape)
        return f"empty({dims}{value.elem})"
    return format_data(value.data, value.elem)


def format_data(data, elem):
    if isinstance(data, list):
        return "[" + ", ".join(format_data(d, elem) for d in data) + "]"
    if elem == "bool":
        return "true" if data else "false"
    if elem in INTS:
        return f"{wrap(int(data), elem)}{elem}"
    return format_float(round_to(float(data), elem), elem)


def format_float(number, elem):
    if math.isnan(number):
        return f"{elem}.nan"
    if math.isinf(number):
        return f"{'-' if number < 0 else ''}{elem}.inf"
    if elem == "f64":
        text = repr(number)
    else:
        text = next(
            t for t in (f"{number:.{p}g}" for p in range(1, 18))
            if round_to(float(t), elem) == number
        )
    if not re.search(r"[.e]", text):
        text += ".0"
    elif "e" in text and "." not in text:
        text = text.replace("e", ".0e")
    return text + elem


def same(a, b):
    """Equality up to the last digits, in which mathematical libraries differ."""
    return a.elem == b.elem and a.shape == b.shape and same_data(a.data, b.data, a.elem)


def same_data(a, b, elem):
    if isinstance(a, list):
        return len(a) == len(b) and all(same_data(x, y, elem) for x, y in zip(a, b))
    if elem in INTS:
        return wrap(int(a), elem) == wrap(int(b), elem)
    if elem == "bool":
        return bool(a) == bool(b)
    a, b = round_to(float(a), elem), round_to(float(b), elem)
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    tolerance = {"f16": 2e-3, "f32": 1e-6, "f64": 1e-12}[elem]
    return a == b or math.isclose(a, b, rel_tol=tolerance)


@dataclass
class Case:
    """One input of a test block; `line` is the index of its line in the file."""

    entries: list
    line: int
    inputs: list
    expected: str | None
    error: str | None
    end: int


def read_cases(lines):
    """Returns the cases of all test blocks in a file's lines."""
    cases, entries, active, i = [], ["main"], False, 0
    while i < len(lines):
        line = lines[i]
        if not line.startswith("--"):
            active, entries, i = False, ["main"], i + 1
            continue
        text = line[2:].strip()
        if text == "==":
            active = True
        elif active and text.startswith("entry:"):
            entries = text[len("entry:"):].split()
        elif active and text.startswith("input"):
            if "} output {" in line:
                body, expected = line[2:].split("} output {")
                body, expected = body[body.index("{") + 1:], expected[:expected.rindex("}")]
                cases.append(Case(entries, i, parse_values(body), expected, None, i + 1))
                i += 1
                continue
            body, end = braces(lines, i)
            case = Case(entries, i, parse_values(body), None, None, end)
            follow = lines[end][2:].strip() if end < len(lines) else ""
            if follow.startswith("output"):
                case.expected, case.end = braces(lines, end)
            elif follow.startswith("error:"):
                case.error, case.end = follow[len("error:"):].strip(), end + 1
            cases.append(case)
            i = case.end
            continue
        i += 1
    return cases


def braces(lines, first):
    """Returns the text in the braces that open on line `first`, and the index of the next line."""
    text, i = "", first
    while True:
        text += lines[i][2:] + " "
        if "}" in lines[i]:
            break
        i += 1
    return text[text.index("{") + 1:text.rindex("}")], i + 1
