"""The reference compiler's benchmark programs (the folder in `BENCHMARKS`, a copy of
`diku-dk/futhark-benchmarks`), compared with its own back ends.

`bindrune bench` measures both, on the data sets of each program's test blocks, in one copy of the
folder per back end. The reference compiler builds servers there, which are kept, so that a second
run only measures (`serve.py` calls them). Data sets whose files are missing, because they are
downloads, are replaced by generated ones (`inputs`).

All contestants run once in a first round. Peers that are far behind another peer on all data sets,
or far behind Bindrune, are not measured further, as only the fastest one counts. The ratio of a
data set is the fastest peer's median over ours within a round; the median over the rounds is
reported. That of a program is the geometric mean over its data sets. A peer that takes much longer
than Bindrune, or than the fastest one so far, is stopped; its ratio is then a lower bound. Programs
with a data set of some tenths of a second have one run per round.

Measurements are stored in `build/bench/reference.kept.json`, so that the figure can be measured in
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

from contest import CFLAGS, HERE, ROOT, WORK, tool
from inputs.blocks import install
from kept import Kept
from lanes import compiler
from sizes import programs

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
STOPPED = "it does not end in time"
# The time limit for compiling a peer, in seconds.
COMPILING = 300
# The extra time for reading a data set, in seconds.
READING = 5
# Microseconds of a data set above which a program has one run per round.
LONG = 300_000
# Microseconds below which times are dominated by the clock's resolution.
SHORT = 20


def copies(folder, backends, notes):
    """Creates copies of the folder, one for Bindrune and one per back end, with the generated
    data sets."""
    found = {}
    for backend in ["bindrune", *backends]:
        if backend == "ispc" and not shutil.which("ispc"):
            notes.add("the compiler ispc is not installed")
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


def measured(path, runs, limit, options=()):
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


def bound(own, peers, runs):
    """The time limit in seconds of the runs of a data set: peers much slower than Bindrune or
    than another peer are stopped."""
    longest = 0
    for key, time in own.items():
        longest = max(longest, min([SLOWER * time, *(BEHIND * peer[key] for peer in peers if key in peer)]))
    return math.ceil(longest / 1e6 * (runs + 1)) + READING


def compile_server(command, folder):
    """Runs a compiler with a time limit; its process group is killed at the limit."""
    env, silent = {**os.environ, "CFLAGS": CFLAGS}, subprocess.DEVNULL
    made = subprocess.Popen(command, cwd=folder, env=env, stdout=silent, stderr=silent, start_new_session=True)
    try:
        made.wait(COMPILING)
    except subprocess.TimeoutExpired:
        os.killpg(made.pid, signal.SIGKILL)
        made.wait()


def theirs(futhark, backend, path, limit, runs):
    """Times of one of the reference compiler's back ends, whose runs of a data set are stopped
    after `limit` seconds. Builds the server if necessary."""
    server = path.with_suffix(".server")
    if not server.exists():
        compile_server([futhark, backend, "--server", path.name, "-o", server.name], path.parent)
    called = path.with_suffix("")
    called.write_text(f"#!/bin/sh\nexec python3 {HERE / 'serve.py'} {server} \"$@\"\n")
    called.chmod(0o755)
    return measured(path, runs, limit, ["--skip-compilation"]) if server.exists() else {}


def ours(path, runs, options):
    times = measured(path, runs, LIMIT, [f"--backend={options.backend}"] if options.backend else [])
    return {key: time for key, time in times.items() if time < math.inf}


def runtime():
    """A hash of the runtime's source."""
    text = hashlib.sha256()
    for source in sorted((ROOT / "crates" / "runtime" / "src").rglob("*.rs")):
        text.update(source.read_bytes())
    return text


def code(path, of_runtime, options):
    """A hash of the code generated for a program (LLVM IR or kernels) and of the runtime."""
    text = of_runtime.copy()
    dump = [compiler(), "dev", "--stage", options.backend or "llvm", path.name]
    text.update(subprocess.run(dump, cwd=path.parent, capture_output=True).stdout)
    return text.hexdigest()


def close(turn):
    """The peers that are close to the fastest peer and to Bindrune on at least one data set of a
    round."""
    peers = {who: times for who, times in turn.items() if who != "bindrune"}
    fastest = {key: AHEAD / FAR * time for key, time in turn["bindrune"].items()}
    for times in peers.values():
        for key, time in times.items():
            fastest[key] = min(time, fastest.get(key, math.inf))
    near = lambda times: any(time <= FAR * fastest[key] < math.inf for key, time in times.items())
    return [who for who, times in peers.items() if near(times)]


def round_of(futhark, folders, place, order, own, runs, options):
    """Times of Bindrune and some peers, by contestant; `own` are Bindrune's times so far."""
    turn = {}
    for who in order:
        if who == "bindrune":
            own = turn[who] = ours(folders[who] / place, runs, options)
        else:
            others = [times for other, times in turn.items() if other != "bindrune"]
            turn[who] = theirs(futhark, who, folders[who] / place, bound(own, others, runs), runs)
    return turn


def compare(futhark, folders, folder, path, options):
    """A program: the fastest peer's time, ours and the ratio for each data set."""
    place = path.relative_to(folder)
    first = round_of(futhark, folders, place, folders, {}, 1, options)
    own = first["bindrune"]
    if not own:
        return {}
    runs = 1 if max(own.values()) > LONG else options.runs
    rounds, there = [], close(first)
    for i in range(options.rounds if there else 0):
        order = ["bindrune", *there][:: -1 if i % 2 else 1]
        rounds.append(round_of(futhark, folders, place, order, own, runs, options))
    rows = {}
    for key in own:
        ratios = {}
        for who in list(folders)[1:]:
            turns = [turn for turn in rounds if who in turn] or [first]
            pairs = [(turn[who].get(key), turn["bindrune"].get(key)) for turn in turns]
            if all(a and b for a, b in pairs):
                ratios[who] = statistics.median(SLOWER if a == math.inf else a / b for a, b in pairs)
        times = [turn["bindrune"].get(key, 0) for turn in rounds or [first]]
        if ratios and max(times) >= SHORT:
            best = min(ratios, key=ratios.get)
            rows[" ".join(key)] = {"bindrune": statistics.median(times), "peer": best, "ratio": ratios[best]}
    return rows


def mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios)))


def figure_reference(options, notes):
    """Ratios of all programs with test blocks."""
    futhark, folder = tool("FUTHARK", "futhark"), os.environ.get("BENCHMARKS")
    if not (futhark and compiler() and folder):
        notes.add("reference: BENCHMARKS names no folder of programs, or a compiler is missing")
        return {"rows": {}}
    folder = Path(folder).resolve()
    backends = [options.backend] if options.backend else BACKENDS
    folders, end = copies(folder, backends, notes), time.monotonic() + options.seconds
    file = WORK / f"reference{options.backend or ''}.kept.json"
    kept = Kept(file, f"{options.rounds} rounds of {options.runs}", by_compiler=False)
    rows, of_runtime = kept.data["rows"], runtime()
    shown, left = {}, []
    for path in programs(folder):
        name = str(path.relative_to(folder))
        if options.case not in name:
            continue
        made = code(folders["bindrune"] / name, of_runtime, options)
        if rows.get(name, {}).get("code") == made:
            shown[name] = rows[name]
            continue
        rows.pop(name, None)
        if time.monotonic() > end:
            left.append(name)
            continue
        found = compare(futhark, folders, folder, path, options)
        if found:
            ratio = mean([row["ratio"] for row in found.values()])
            rows[name] = shown[name] = {"sets": found, "ratio": ratio, "code": made}
            kept.save()
            print(name, rows[name], flush=True)
        else:
            notes.add(f"reference: {name} has no data set that all can run")
    if left:
        notes.add(f"reference: not begun: {', '.join(left)}")
    return {"rows": shown}


def report_reference(results):
    """The report's lines on this figure."""
    rows = results.get("reference", {}).get("rows")
    if not rows:
        return []
    lines = ["## The reference's benchmarks", "", "| program | ratio | least | data set | µs | of |"]
    lines.append("|---|---:|---:|---|---:|---|")
    for name, row in sorted(rows.items(), key=lambda item: item[1]["ratio"]):
        least = min(row["sets"], key=lambda key: row["sets"][key]["ratio"])
        found = row["sets"][least]
        lines.append(
            f"| {name} | {row['ratio']:.2f} | {found['ratio']:.2f} | {least} | {found['bindrune']:.0f} | {found['peer']} |"
        )
    lines += ["", f"{len(rows)} programs, geometric mean {mean([row['ratio'] for row in rows.values()]):.2f}.", ""]
    return lines
