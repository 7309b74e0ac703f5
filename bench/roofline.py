"""The figure `roofline`: the operations and bytes per second of each parallel nest, as shares of the machine's
peaks.

Executables count and time their nests themselves (`build --profile`, option `-P`). The programs are those of
`mini`, `nests` and `users`.
"""

import re
import subprocess
import sys
import time

from cases import cases
from harness import HERE, ROOT, WORK, build_bindrune, compiler
from mini import MINI, data_file
from results import geometric_mean, number, table
from users import PROGRAMS, input_of
from users_cases import CASES

sys.path.insert(0, str(HERE / "machine"))
from peaks import measure_peaks  # noqa: E402

# Nests that take a smaller share of a program's time are left out.
LEAST_SHARE = 0.03
# Processes, of which the fastest counts; the runs of the first, and the most runs of the others, which take about as
# many seconds.
PROCESSES, RUNS, SECONDS = 3, 2, 1
MOST_RUNS = 20
HEAD = "parallel nest"
# Of numbers of operations that depend on data.
UNKNOWN = ["≥ ", "~ "]
SIGNS = {"": "", ">=": "≥ ", "<=": "≤ ", "~": "~ "}


def programs(options):
    """Name, program, entry point and a file with the input, for each case; inputs that are not available are left
    out."""
    for name in options.only:
        if options.case in name:
            yield f"mini {name}", MINI, name, data_file(name, options.size)
    for case in cases(options.case):
        if data := case.input():
            yield f"nests {case.name}", case.path, case.entry, data
            case.delete_input()
    for name, case in CASES.items():
        if options.case in name:
            data = WORK / "roofline.in"
            data.write_bytes(input_of(name, case))
            yield f"users {name}", PROGRAMS / f"{case.program}.fut", case.entry, data
            data.unlink()


def profile(exe, entry, data):
    """The rows of the fastest of several processes, and its number of runs; None if the program fails."""
    best = runs = None
    for _ in range(PROCESSES):
        each = best[-1][1] / runs / 1e6 if best else None
        count = RUNS if each is None else max(min(int(SECONDS / max(each, 1e-6)), MOST_RUNS), 1)
        found = profile_once(exe, entry, data, count)
        if not found:
            return found if found is None else ([], 1)
        if best is None or found[-1][1] / count < best[-1][1] / runs:
            best, runs = found, count
    return best, runs


def profile_once(exe, entry, data, runs):
    """The rows of a profile: times, microseconds, operations on f32, f64 and i32, bytes read and written, the sign if
    operations depend on data, and the name. The last row is for all calls."""
    with open(data, "rb") as source:
        command = [exe, "-e", entry, "-b", "-n", "-P", "-r", str(runs)]
        done = subprocess.run([str(word) for word in command], stdin=source, capture_output=True, text=True)
    if done.returncode:
        return None
    lines = done.stderr.splitlines()
    begin = next((at for at, line in enumerate(lines) if line.endswith(HEAD)), len(lines))
    found = []
    for line in lines[begin + 1:]:
        times, micros, _, *counts, name = line.split(maxsplit=8)
        sign = SIGNS[counts[0].rstrip("0123456789")]
        counts = [int(count.lstrip("<>=~")) for count in counts]
        found.append((int(times), float(micros), counts, sign, name.replace(f"{ROOT}/", "")))
    return found


def bandwidth(peaks, read, written):
    """The peak of the bandwidth for a nest that reads and writes these numbers of bytes, and where they fit."""
    caches = {"L2": peaks["caches"]["L2"] * peaks["cores"] / 2, "L3": peaks["caches"]["L3"] * 2}
    place = next((level for level, size in caches.items() if read + written <= size), "memory")
    return peaks["all"][f"triad_{place}" if written > read / 8 else f"read_{place}"], place


def measures(row, total, runs, peaks):
    """The measures of a nest, given its row, the microseconds of all calls and their number."""
    times, micros, (single, double, integer, read, written), sign, name = row
    nanos = max(micros * 1000, 1)
    peak, place = bandwidth(peaks, read / times, written / times)
    all_cores = peaks["all"]
    arithmetic = single / all_cores["fma_f32"] + double / all_cores["fma_f64"] + integer / all_cores["add_i32"]
    memory = (read + written) / peak
    return {
        "nest": name, "share": micros / max(total, 0.1), "microseconds": micros / runs, "times": times / runs,
        "operations_per_ns": (single + double + integer) / nanos, "bytes_per_ns": (read + written) / nanos,
        "of_arithmetic": arithmetic / nanos, "of_bandwidth": memory / nanos, "from": place,
        "roofline": max(arithmetic, memory) / nanos, "sign": sign,
    }


def figure_roofline(options, warnings):
    """The peaks of the machine, and the nests of each program."""
    if not compiler():
        warnings.add("bindrune is not built")
        return {"rows": {}}
    peaks, rows, begin = measure_peaks(), {}, time.monotonic()
    for name, program, entry, data in programs(options):
        if time.monotonic() - begin > options.seconds:
            return {"peaks": peaks, "rows": rows, "complete": False}
        label = "-".join([*program.with_suffix("").parts[-2:], "profile"])
        found = profile(build_bindrune(program, label, "--profile"), entry, data)
        if not found:
            warnings.add(f"{name}: the program fails")
            continue
        found, runs = found
        total = found[-1][1] if found else 0
        nests = [measures(row, total, runs, peaks) for row in found[:-1]]
        rows[name] = {
            "microseconds": total / runs,
            "in_nests": sum(nest["share"] for nest in nests),
            "roofline": sum(nest["share"] * nest["roofline"] for nest in nests),
            "unknown": sum(nest["share"] for nest in nests if nest["sign"] in UNKNOWN),
            "nests": [nest for nest in nests if nest["share"] >= LEAST_SHARE],
        }
        print(name, f"{rows[name]['microseconds']:.0f} us, {rows[name]['roofline']:.2f} of the roofline", flush=True)
    return {"peaks": peaks, "rows": rows}


def short(name):
    """A nest's name with the last part of its positions."""
    function, _, at = name.partition(" (")
    lines = re.findall(r":(\d+):", at)
    return function + (f", line {lines[0]}" if lines else "")


def report_roofline(figure):
    """The lines of the report: the peaks, a row for each nest, and a mean over the programs."""
    peaks = figure.get("peaks")
    if not peaks:
        return []
    measured = [[name, number(peaks["one"][name], 1), number(value, 1)] for name, value in peaks["all"].items()]
    lines = table(["peak per ns", "one core", f"{peaks['cores']} cores"], measured)
    cells = []
    for program, row in figure["rows"].items():
        cells.append([
            f"**{program}**", "", number(row["microseconds"], 0), number(row["in_nests"]), "", "", "", "", "",
            number(row["roofline"]),
        ])
        for nest in row["nests"]:
            cells.append([
                "", short(nest["nest"]), number(nest["microseconds"], 0), number(nest["share"]),
                nest["sign"] + number(nest["operations_per_ns"], 1), nest["sign"] + number(nest["of_arithmetic"]),
                number(nest["bytes_per_ns"], 1), number(nest["of_bandwidth"]), nest["from"], number(nest["roofline"]),
            ])
    head = [
        "program", "nest", "µs", "of the time", "operations/ns", "of the peak", "bytes/ns", "of the bandwidth", "of",
        "roofline",
    ]
    lines += ["", *table(head, cells, left=("nest", "of"))]
    shares = {
        name: row["roofline"] for name, row in figure["rows"].items()
        if row["roofline"] > 0 and row["unknown"] < 0.5
    }
    if shares:
        mean = geometric_mean(shares.values())
        low = sorted(shares, key=shares.get)[:10]
        least = ", ".join(f"{name} {shares[name]:.2f}" for name in low)
        lines += [
            "", f"Geometric mean {mean:.2f} over the {len(shares)} programs whose operations are known for at least half "
            f"of the time; least: {least}.",
        ]
    return lines
