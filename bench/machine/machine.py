#!/usr/bin/env python3
"""Measures the reciprocal throughput of this machine's vector operations, and compares it with the
compiler's table of microarchitectures (TABLE).

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
TABLE = HERE.parent.parent / "crates" / "target" / "src" / "machine.rs"
# Names in the compiler's table: the measured operation, and the element size in bytes.
COSTS = {
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


def microarchitectures():
    """The compiler's table: the costs of each microarchitecture."""
    found = {}
    for name, body in re.findall(r"pub const (\w+): Self = Self \{(.*?)\};", TABLE.read_text(), re.S):
        fields = re.findall(r"(\w+): ([\d.]+)(?: / ([\d.]+))?,", body)
        found[name] = {field: float(x) / float(y or 1) for field, x, y in fields}
    return found


def per_lane(cycles):
    """Costs per lane of the widest registers."""
    widest, size = ("z", 64) if "fma_f64_z" in cycles else ("y", 32)
    return {
        cost: cycles[f"{operation}_{widest}"] * element / size
        for cost, (operation, element) in COSTS.items()
    }


def compare(cycles):
    """The costs of this machine and of each microarchitecture, and the nearest one."""
    here, table = per_lane(cycles), microarchitectures()

    def distance(costs):
        return sum(abs(math.log(here[cost] / costs[cost])) for cost in COSTS)

    return here, table, min(table, key=lambda name: distance(table[name]))


def main():
    cycles = measure()
    if "fma_f64_y" not in cycles:
        print("without AVX2 this machine cannot be compared with the table")
        return 0
    for name, value in cycles.items():
        print(f"{name:<18}{value:8.2f}")
    here, table, nearest = compare(cycles)
    print("\n" + f"{'cycles per lane':<18}{'here':>8}" + "".join(f"{name:>8}" for name in table))
    for cost in COSTS:
        row = "".join(f"{costs[cost]:8.2f}" for costs in table.values())
        print(f"{cost:<18}{here[cost]:8.2f}{row}")
    print(f"\nnearest: {nearest}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
