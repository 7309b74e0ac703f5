#!/usr/bin/env python3
"""Measures this machine's peaks of arithmetic and of bandwidth, on one core and on all.

    python3 bench/machine/peaks.py

Needs gcc and nothing outside Python's standard library.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
# Where the system does not report caches.
USUAL = {"L1": 32 << 10, "L2": 1 << 20, "L3": 32 << 20}
UNITS = {"K": 1 << 10, "M": 1 << 20}


def cache_sizes():
    """Bytes of the first core's data caches by level; the third level is shared by cores."""
    found = dict(USUAL)
    for folder in CACHES.glob("index*"):
        level, kind, size = ((folder / name).read_text().strip() for name in ("level", "type", "size"))
        parts = re.fullmatch(r"(\d+)([KM])", size)
        if kind != "Instruction" and f"L{level}" in found and parts:
            found[f"L{level}"] = int(parts[1]) * UNITS[parts[2]]
    return found


def measure_peaks():
    """`caches` in bytes, `cores`, and `one` and `all`: billions of operations or bytes a second by measurement."""
    caches = cache_sizes()
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "peaks"
        flags = ["-O3", "-march=native", "-pthread"]
        subprocess.run([os.environ.get("CC", "gcc"), *flags, "-o", program, HERE / "peaks.c"], check=True)
        sizes = [str(caches[level]) for level in ("L1", "L2", "L3")]
        lines = subprocess.run([program, *sizes], check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [(name, int(cores), float(value)) for name, cores, value in map(str.split, lines)]
    cores = max(cores for _, cores, _ in rows)
    by_cores = {count: {name: value for name, used, value in rows if used == count} for count in (1, cores)}
    return {"caches": caches, "cores": cores, "one": by_cores[1], "all": by_cores[cores]}


def main():
    peaks = measure_peaks()
    print(f"{'':<14}{'one core':>10}{'all cores':>11}")
    for name, value in peaks["one"].items():
        print(f"{name:<14}{value:>10.1f}{peaks['all'][name]:>11.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
