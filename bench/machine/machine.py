#!/usr/bin/env python3
"""Measures this machine's vector units, and compares them with the compiler's table of processor
models (TABLE).

    python3 bench/machine/machine.py

Needs gcc and nothing outside Python's standard library.
"""

import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TABLE = HERE.parent.parent / "crates" / "imp" / "src" / "machine.rs"
# Names in the compiler's table: the measured operation, and the element size in bytes.
FIGURES = {
    "product_f64": ("fma_f64", 8), "quotient_f64": ("div_f64", 8), "quotient_f32": ("div_f32", 4),
    "root_f64": ("sqrt_f64", 8), "root_f32": ("sqrt_f32", 4), "gather_f64": ("gather_f64", 8),
}


def measure():
    """Cycles of each operation, by name."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "machine"
        compiler = os.environ.get("CC", "gcc")
        subprocess.run([compiler, "-O2", "-o", program, HERE / "machine.c"], check=True)
        lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return {name: float(cycles) for name, cycles in (line.split() for line in lines.splitlines())}


def makes():
    """The compiler's table: the figures of each processor model."""
    found = {}
    for name, body in re.findall(r"pub const (\w+): Self = Self \{(.*?)\};", TABLE.read_text(), re.S):
        fields = re.findall(r"(\w+): ([\d.]+)(?: / ([\d.]+))?,", body)
        found[name] = {field: float(x) / float(y or 1) for field, x, y in fields}
    return found


def per_lane(cycles):
    """Figures of the widest registers, per lane."""
    widest, size = ("z", 64) if "fma_f64_z" in cycles else ("y", 32)
    return {
        figure: cycles[f"{operation}_{widest}"] * element / size
        for figure, (operation, element) in FIGURES.items()
    }


def compare(cycles):
    """Figures of this machine and of each model, and the nearest model."""
    here, table = per_lane(cycles), makes()

    def far(make):
        return sum(abs(math.log(here[figure] / make[figure])) for figure in FIGURES)

    return here, table, min(table, key=lambda name: far(table[name]))


def main():
    cycles = measure()
    if "fma_f64_y" not in cycles:
        print("this machine has no AVX2: there is nothing to compare")
        return 0
    for name, value in cycles.items():
        print(f"{name:<18}{value:8.2f}")
    here, table, nearest = compare(cycles)
    print("\n" + f"{'cycles a lane':<18}{'here':>8}" + "".join(f"{name:>8}" for name in table))
    for figure in FIGURES:
        row = "".join(f"{make[figure]:8.2f}" for make in table.values())
        print(f"{figure:<18}{here[figure]:8.2f}{row}")
    print(f"\nnearest: {nearest}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
