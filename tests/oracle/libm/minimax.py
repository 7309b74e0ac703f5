"""Minimax polynomials with coefficients rounded to a float format.

`fit` runs the Remez exchange in multiple precision. The coefficients are rounded one by one from
the lowest power. After each, the remaining ones are fitted again to compensate for the rounding.
"""

from mpmath import mp, mpf, matrix, lu_solve, cos, pi, log, frexp, ldexp, nint

mp.prec = 300


def rounded(x, bits):
    """`x` to `bits` significant bits."""
    x = mpf(x)
    if x == 0:
        return x
    mantissa, exponent = frexp(x)
    return ldexp(nint(ldexp(mantissa, bits)), exponent - bits)


def remez(f, powers, a, b, weight, rounds=12):
    """Returns the coefficients `c` that minimise max |weight(x) (f(x) - sum c_i x^powers_i)| on
    [a, b], and that maximum."""
    count = len(powers)
    middle, half = (a + b) / 2, (b - a) / 2
    grid = [middle - half * cos(pi * i / (12 * count + 30)) for i in range(12 * count + 31)]
    values = [(x, f(x), weight(x), [x**p for p in powers]) for x in grid]
    # Nodes avoid the zeros of the weight, where no error is visible.
    nodes = [middle - half * cos(pi * (i + mpf("0.45")) / (count + 1)) for i in range(count + 1)]
    best = None
    for _ in range(rounds):
        rows, right = [], []
        for i, x in enumerate(nodes):
            w = weight(x)
            rows.append([w * x**p for p in powers] + [mpf((-1) ** i)])
            right.append(w * f(x))
        solution = lu_solve(matrix(rows), matrix(right))
        coefficients = [solution[i] for i in range(count)]
        errors = [w * (v - sum(c * t for c, t in zip(coefficients, terms))) for _, v, w, terms in values]
        top = max(abs(e) for e in errors)
        if best is None or top < best[1]:
            best = (coefficients, top)
        if top < abs(solution[count]) * mpf("1.01"):
            break
        # One extremum per interval of one sign.
        extrema = []
        for (x, *_), e in zip(values, errors):
            if extrema and (extrema[-1][1] > 0) == (e > 0):
                if abs(e) > abs(extrema[-1][1]):
                    extrema[-1] = (x, e)
            else:
                extrema.append((x, e))
        while len(extrema) > count + 1:
            extrema.pop(0 if abs(extrema[0][1]) < abs(extrema[-1][1]) else -1)
        if len(extrema) < count + 1:
            break
        nodes = [x for x, _ in extrema]
    return best


def fit(f, powers, a, b, weight=lambda x: mpf(1), bits=24, refit=4):
    """Returns rounded coefficients and log2 of their largest weighted error. The first `refit`
    of them are rounded one at a time."""
    a, b = mpf(a), mpf(b)
    done, rest, target = [], list(powers), f
    while rest:
        coefficients, _ = remez(target, rest, a, b, weight)
        take = 1 if len(done) < refit else len(rest)
        done += [(p, rounded(c, bits)) for p, c in zip(rest[:take], coefficients)]
        rest = rest[take:]
        target = lambda x, fixed=tuple(done): f(x) - sum(c * x**p for p, c in fixed)
    grid = [a + (b - a) * i / 400 for i in range(401)]
    error = max(abs(weight(x) * target(x)) for x in grid if x != 0)
    return [c for _, c in done], float(log(error, 2))


def split(x, bits, parts):
    """Splits `x` into a sum of `parts` floats of decreasing magnitude."""
    found = []
    for _ in range(parts):
        found.append(rounded(x, bits))
        x -= found[-1]
    return found
