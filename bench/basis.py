"""The minimal basis: library functions written in Futhark, compared with the built-in ones
(`tests/programs/prelude/minimal_basis.fut`)."""

from harness import ROOT, WORK, Implementation, build_all, interleave, medians
from values import random_i32s

BASIS = ROOT / "tests" / "programs" / "prelude" / "minimal_basis.fut"
# Entry points of the minimal basis, with the number of array parameters of each.
BASIS_ENTRIES = {
    "sum_builtin": 1, "sum_tree": 1, "sum_strided": 1, "sum_chunked": 1,
    "scan_builtin": 2, "scan_ours": 2, "filter_builtin": 1, "filter_ours": 1,
    "stream_map_builtin": 1, "stream_map_ours": 1, "stream_red_builtin": 1, "stream_red_ours": 1,
    "dotprod_builtin": 2, "dotprod_ours": 2,
}


def basis_input(arrays, n):
    """A file with this number of arrays of n integers."""
    path = WORK / f"basis-{arrays}-{n}.in"
    if not path.exists():
        path.write_bytes(b"".join(random_i32s(n, i) for i in range(arrays)))
    return path


def figure_basis(options, warnings):
    """Median run times at 10^6 elements, implementations alternating."""
    built, rows = build_all(BASIS, "basis", warnings), {}
    for name, arrays in BASIS_ENTRIES.items():
        implementations = [Implementation(impl, [exe, "-e", name]) for impl, exe in built.items()]
        rows[name] = medians(interleave(implementations, basis_input(arrays, 1_000_000), options))
        print(name, rows[name], flush=True)
    return {"elements": 1_000_000, "microseconds": rows}
