"""The reference compiler's benchmark programs (the folder in `BENCHMARKS`, a copy of
`diku-dk/futhark-benchmarks`), compared with its own back ends.

`bindrune bench` measures both, on the data sets of each program's test blocks, in one copy of the
folder per back end. The reference compiler builds servers there, which are stored, so that a second
run only measures (`server_adapter.py` calls them). Data sets whose files are missing, because they are
downloads, are replaced by generated ones (`inputs`).

All implementations run once in a first round. Peers that are far behind another peer on all data sets,
or far behind Bindrune, are not measured further, as only the fastest one counts. The ratio of a
data set is the fastest peer's median over Bindrune's within a round; the median over the rounds is
reported. That of a program is the geometric mean over its data sets. A peer that takes much longer
than Bindrune, or than the fastest one so far, is stopped; its ratio is then a lower bound. Programs
with a data set of more than `LONG` microseconds have one run per round.

Measurements are stored in `build/bench/reference.cache.json`, so that the figure can be measured in
parts (`--case`, `--seconds`). A program is measured again if the compiler generates other code for
it, or if the runtime has changed.
"""

import hashlib
import json
import math
import os
import re
import shutil
import signal
import statistics
import subprocess
import time
from pathlib import Path

from builds import programs
from cache import MeasurementCache
from harness import CFLAGS, HERE, ROOT, WORK, compiler, find_program
from inputs.test_blocks import install
from results import geometric_mean, number, table

# Back ends that are usually the fastest come first, as they bound the others. With `--backend` only
# the reference compiler's back end for the same devices is used.
BACKENDS = ["ispc", "multicore", "c"]
# The time limit in seconds of all runs of a data set by Bindrune.
LIMIT = 30
# The factor over Bindrune's time at which a peer is stopped.
SLOWER = 6
# The factor over the fastest peer's time so far at which a peer is stopped.
BEHIND = 2
# The factor over the fastest peer in the first round from which a peer is far behind.
FAR = 1.5
# The factor over Bindrune's time from which a peer is far behind.
AHEAD = 4
# The message of `bindrune bench` for a data set that was stopped.
STOPPED = "timed out"
# The time limit for compiling a peer, in seconds.
COMPILING = 300
# The extra time for reading a data set, in seconds.
READING = 5
# Microseconds of a data set above which a program has one run per round.
LONG = 300_000
# Microseconds below which times are dominated by the clock's resolution.
SHORT = 20


def copies(folder, backends, warnings):
    """Creates copies of the folder, one for Bindrune and one per back end, with the generated
    data sets."""
    found = {}
    for backend in ["bindrune", *backends]:
        if backend == "ispc" and not shutil.which("ispc"):
            warnings.add("the compiler ispc is not installed")
            continue
        found[backend] = WORK / f"reference-{backend}"
        if not found[backend].exists():
            shutil.copytree(folder, found[backend], ignore_dangling_symlinks=True)
            for path in programs(found[backend]):
                # Tags would exclude programs from some back ends.
                text = path.read_text(errors="surrogateescape")
                path.write_text(re.sub(r"(?m)^-- tags \{.*\}\n", "", text), errors="surrogateescape")
        install(folder, found[backend])
    return found


def bench_times(path, runs, limit, options=()):
    """Medians in microseconds by entry point and data set; infinite if it was stopped."""
    out = WORK / "reference.json"
    out.unlink(missing_ok=True)
    command = [compiler(), "bench", f"--runs={runs}", f"--timeout={limit}", f"--json={out}"]
    command += ["--no-convergence-phase", "--no-tuning", *options, path.name]
    subprocess.run(command, cwd=path.parent, capture_output=True, env={**os.environ, "BINDRUNE": compiler()})
    try:
        found = json.loads(out.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
    times = {}
    for program, entry in found.items():
        point = program.partition(".fut:")[2] or "main"
        for dataset, result in entry["datasets"].items():
            dataset = re.sub(r"^(#\d+) .*", r"\1", dataset)
            if isinstance(result, dict) and result.get("runtimes"):
                times[point, dataset] = statistics.median(result["runtimes"])
            elif isinstance(result, str) and STOPPED in result:
                times[point, dataset] = math.inf
    return times


def time_limit(own, peers, runs):
    """The time limit in seconds of the runs of a data set: peers much slower than Bindrune or
    than another peer are stopped."""
    longest = 0
    for key, microseconds in own.items():
        longest = max(longest, min([SLOWER * microseconds, *(BEHIND * peer[key] for peer in peers if key in peer)]))
    return math.ceil(longest / 1e6 * (runs + 1)) + READING


def compile_server(command, folder):
    """Runs a compiler with a time limit; its process group is killed at the limit."""
    env, silent = {**os.environ, "CFLAGS": CFLAGS}, subprocess.DEVNULL
    process = subprocess.Popen(command, cwd=folder, env=env, stdout=silent, stderr=silent, start_new_session=True)
    try:
        process.wait(COMPILING)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def peer_times(futhark, backend, path, limit, runs):
    """Times of a back end of the reference compiler. Its runs of a data set are stopped after
    `limit` seconds. Builds the server if necessary."""
    server = path.with_suffix(".server")
    if not server.exists():
        compile_server([futhark, backend, "--server", path.name, "-o", server.name], path.parent)
    adapter = path.with_suffix("")
    adapter.write_text(f"#!/bin/sh\nexec python3 {HERE / 'server_adapter.py'} {server} \"$@\"\n")
    adapter.chmod(0o755)
    return bench_times(path, runs, limit, ["--skip-compilation"]) if server.exists() else {}


def bindrune_times(path, runs, options):
    """Times of Bindrune."""
    times = bench_times(path, runs, LIMIT, [f"--backend={options.backend}"] if options.backend else [])
    return {key: time for key, time in times.items() if time < math.inf}


def runtime_hash():
    """A hash of the runtime's source."""
    text = hashlib.sha256()
    for source in sorted((ROOT / "crates" / "runtime" / "src").rglob("*.rs")):
        text.update(source.read_bytes())
    return text


def code_hash(path, of_runtime, options):
    """A hash of the code generated for a program (LLVM IR or kernels) and of the runtime."""
    text = of_runtime.copy()
    dump = [compiler(), "dev", "--stage", options.backend or "llvm", path.name]
    text.update(subprocess.run(dump, cwd=path.parent, capture_output=True).stdout)
    return text.hexdigest()


def close_peers(first):
    """The peers that are close to the fastest peer and to Bindrune on at least one data set of the
    first round."""
    peers = {impl: times for impl, times in first.items() if impl != "bindrune"}
    fastest = {key: AHEAD / FAR * time for key, time in first["bindrune"].items()}
    for times in peers.values():
        for key, microseconds in times.items():
            fastest[key] = min(microseconds, fastest.get(key, math.inf))
    near = lambda times: any(time <= FAR * fastest[key] < math.inf for key, time in times.items())
    return [impl for impl, times in peers.items() if near(times)]


def measure_round(futhark, folders, program, order, own, runs, options):
    """Times of Bindrune and some peers, by implementation; `own` are Bindrune's times so far."""
    found = {}
    for impl in order:
        if impl == "bindrune":
            own = found[impl] = bindrune_times(folders[impl] / program, runs, options)
        else:
            others = [times for other, times in found.items() if other != "bindrune"]
            found[impl] = peer_times(futhark, impl, folders[impl] / program, time_limit(own, others, runs), runs)
    return found


def compare(futhark, folders, folder, path, options):
    """Bindrune's time, the fastest peer and the ratio for each data set of a program."""
    program = path.relative_to(folder)
    first = measure_round(futhark, folders, program, folders, {}, 1, options)
    own = first["bindrune"]
    if not own:
        return {}
    runs = 1 if max(own.values()) > LONG else options.runs
    rounds, near = [], close_peers(first)
    for i in range(options.rounds if near else 0):
        order = ["bindrune", *near][:: -1 if i % 2 else 1]
        rounds.append(measure_round(futhark, folders, program, order, own, runs, options))
    rows = {}
    for key in own:
        ratios = {}
        for impl in list(folders)[1:]:
            measured = [each for each in rounds if impl in each] or [first]
            pairs = [(each[impl].get(key), each["bindrune"].get(key)) for each in measured]
            if all(a and b for a, b in pairs):
                ratios[impl] = statistics.median(SLOWER if a == math.inf else a / b for a, b in pairs)
        times = [each["bindrune"].get(key, 0) for each in rounds or [first]]
        if ratios and max(times) >= SHORT:
            best = min(ratios, key=ratios.get)
            rows[" ".join(key)] = {"bindrune": statistics.median(times), "peer": best, "ratio": ratios[best]}
    return rows


def figure_reference(options, warnings):
    """Ratios of all programs with test blocks."""
    futhark, folder = find_program("FUTHARK", "futhark"), os.environ.get("BENCHMARKS")
    if not (futhark and compiler() and folder):
        warnings.add("reference: BENCHMARKS names no folder of programs, or a compiler is missing")
        return {"rows": {}}
    folder = Path(folder).resolve()
    backends = [options.backend] if options.backend else BACKENDS
    folders, end = copies(folder, backends, warnings), time.monotonic() + options.seconds
    stem = WORK / f"reference{options.backend or ''}"
    path, old = stem.with_suffix(".cache.json"), stem.with_suffix(".kept.json")
    cache = MeasurementCache(path, f"{options.rounds} rounds of {options.runs}", by_compiler=False, old=old)
    rows, of_runtime = cache.data["rows"], runtime_hash()
    selected, left = {}, []
    for path in programs(folder):
        name = str(path.relative_to(folder))
        if options.case not in name:
            continue
        current = code_hash(folders["bindrune"] / name, of_runtime, options)
        if rows.get(name, {}).get("code") == current:
            selected[name] = rows[name]
            continue
        rows.pop(name, None)
        if time.monotonic() > end:
            left.append(name)
            continue
        found = compare(futhark, folders, folder, path, options)
        if found:
            ratio = geometric_mean([row["ratio"] for row in found.values()])
            rows[name] = selected[name] = {"sets": found, "ratio": ratio, "code": current}
            cache.save()
            print(name, rows[name], flush=True)
        else:
            warnings.add(f"reference: {name} has no data set that all implementations can run")
    if left:
        warnings.add(f"reference: not measured: {', '.join(left)}")
    return {"rows": selected, "complete": not left}


def report_reference(figure):
    """The report's lines on this figure."""
    rows, cells = figure["rows"], []
    for name, row in sorted(rows.items(), key=lambda item: -item[1]["ratio"]):
        least = min(row["sets"], key=lambda key: row["sets"][key]["ratio"])
        found = row["sets"][least]
        cells.append([
            name, number(row["ratio"]), number(found["ratio"]), least.replace("|", "\\|"),
            number(found.get("bindrune"), 0), found["peer"],
        ])
    head = ["program", "ratio", "least", "data set", "bindrune, µs", "fastest peer"]
    mean = geometric_mean(row["ratio"] for row in rows.values())
    return table(head, cells, ["data set", "fastest peer"]) + [
        "", f"Ratio: the fastest peer over Bindrune, the geometric mean over the data sets; {SLOWER} if the peer was "
        "stopped. The other columns: the data set with the least ratio. "
        f"{len(rows)} programs, geometric mean {mean:.2f}.",
    ]
