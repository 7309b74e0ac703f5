"""The gain of fusion: the programs of Henriksen, Larsen and Oancea ("Design and GPGPU
Performance of Futhark's Redomap Construct", section 5.3) with and without fusion."""

import sys

from harness import HERE, Implementation, build_bindrune, compiler, interleave, medians, run_checked
from results import geometric_mean, number, table

PROGRAMS = ["index_of_max_pack", "mssp", "reduce_2x2mm", "redomap_nt", "black_scholes"]
# The gain of fusion on the paper's GPU.
PAPER = {
    "index_of_max_pack": "about 4", "mssp": "about 4", "reduce_2x2mm": "about 4",
    "redomap_nt": "smaller", "black_scholes": "smaller",
}


def figure_ablation(options, warnings, mini, data_file):
    """Median run times at 10^7 elements, measured in alternation, and the peak memory of
    `redomap_nt` over the size of its results."""
    if not compiler():
        warnings.add("bindrune is not built")
        return {"rows": {}}
    built = {}
    for fuse in ["on", "off"]:
        built[fuse] = build_bindrune(mini, f"ablation-{fuse}", "--fuse", fuse)
    rows = {}
    for name in PROGRAMS:
        implementations = [Implementation(fuse, [exe, "-e", name]) for fuse, exe in built.items()]
        times = medians(interleave(implementations, data_file(name, options.size), options))
        on, off = times["on"], times["off"]
        rows[name] = {"fused": on, "unfused": off, "ratio": off / on}
        print(name, {key: round(value, 2) for key, value in rows[name].items()}, flush=True)
    # The results are two arrays of f32; the input is only three numbers.
    results = 2 * 4 * options.size
    command = [sys.executable, HERE / "peak_memory.py", data_file("redomap_nt", options.size)]
    peak = int(run_checked([*command, built["on"], "-e", "redomap_nt", "-n"]))
    return {"rows": rows, "peak_to_results": peak / results}


def report_ablation(figure):
    """The report's lines on this figure."""
    cells = [
        [name, number(row["fused"], 0), number(row["unfused"], 0), number(row["ratio"]), PAPER[name]]
        for name, row in figure["rows"].items()
    ]
    mean = geometric_mean(row["ratio"] for row in figure["rows"].values())
    return table(["µs", "fused", "unfused", "ratio", "on the paper's GPU"], cells, ["on the paper's GPU"]) + [
        "", f"Geometric mean {mean:.2f}; the peak memory of `redomap_nt` is {figure['peak_to_results']:.3f} of its "
        "results.",
    ]
