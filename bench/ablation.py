"""The gain of fusion: the programs of Henriksen, Larsen and Oancea ("Design and GPGPU
Performance of Futhark's Redomap Construct", section 5.3) with and without fusion."""

import math
import statistics
import sys

from contest import HERE, Contestant, build_bindrune, medians, shell, take_turns

PROGRAMS = ["index_of_max_pack", "mssp", "reduce_2x2mm", "redomap_nt", "black_scholes"]
# The gain of fusion on the paper's GPU.
PAPER = {
    "index_of_max_pack": "about 4", "mssp": "about 4", "reduce_2x2mm": "about 4",
    "redomap_nt": "smaller", "black_scholes": "smaller",
}


def figure_ablation(options, mini, data_file):
    """Median run times at 10^7 elements, measured in alternation, and the peak memory of
    `redomap_nt` over the size of its results."""
    made = {}
    for fuse in ["on", "off"]:
        made[fuse] = build_bindrune(mini, f"ablation-{fuse}", "--fuse", fuse)
    rows = {}
    for name in PROGRAMS:
        entrants = [Contestant(fuse, [exe, "-e", name]) for fuse, exe in made.items()]
        times = medians(take_turns(entrants, data_file(name, options.size), options))
        on, off = times["on"], times["off"]
        rows[name] = {"fused": on, "apart": off, "ratio": off / on}
        print(name, {key: round(value, 2) for key, value in rows[name].items()}, flush=True)
    # The results are two arrays of f32; the input is only three numbers.
    results = 2 * 4 * options.size
    command = [sys.executable, HERE / "peak.py", data_file("redomap_nt", options.size)]
    peak = int(shell([*command, made["on"], "-e", "redomap_nt", "-n"]))
    return {"rows": rows, "peak_to_results": peak / results}


def report_ablation(results):
    """The report's lines on this figure."""
    found = results.get("ablation")
    if not found:
        return []
    lines = ["## Fusion", "", "| µs | fused | apart | ratio | in the paper |", "|---|---:|---:|---:|---|"]
    for name, row in found["rows"].items():
        lines.append(f"| {name} | {row['fused']:.0f} | {row['apart']:.0f} | {row['ratio']:.2f} | {PAPER[name]} |")
    mean = math.exp(statistics.fmean(math.log(row["ratio"]) for row in found["rows"].values()))
    lines.append(f"\nGeometric mean {mean:.2f}; peak of redomap_nt {found['peak_to_results']:.3f} of its results.")
    return [*lines, ""]
