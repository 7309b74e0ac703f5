"""The reference compiler's benchmark programs (the folder in `BENCHMARKS`, a copy of
`diku-dk/futhark-benchmarks`) beside its own back ends.

`bindrune bench` and `futhark bench` take turns on the data sets of each program's
test blocks, in copies of the folder, one for each of them; what `futhark bench` compiles
there is kept: a second run only measures. In place of the data sets whose files are not
there, as they are downloads, programs have some that `inputs` makes. The ratio of a data
set is that of neighbours in time, the fastest peer's median over ours within a round, and
of these the median over the rounds; that of a program the geometric mean over its data
sets. A peer that takes much longer than ours, or than the fastest one so far, is stopped,
as only the fastest one counts; its ratio is then what it was stopped at, so at least that.
One that was far behind another on all data sets of the first round takes no part in the
others. Programs with a data set of some tenths of a second run once a turn.

What was measured is kept in `build/bench/reference.kept.json`, so that the figure can be
measured in pieces (`--case`, `--seconds`). A program is measured again when the compiler
makes other code of it, or the runtime has changed.
"""

import hashlib
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import time
from pathlib import Path

from contest import CFLAGS, ROOT, WORK, tool
from inputs.blocks import install
from kept import Kept
from lanes import compiler
from sizes import programs

# Those that are the fastest most often come first, as they bound the others. With
# `--backend` the reference's back end for the same devices is the only one.
BACKENDS = ["ispc", "multicore", "c"]
# Seconds that all runs of a data set of ours may take.
LIMIT = 30
# A peer is stopped that takes so many times as long.
SLOWER = 6
# And so many times as long as the fastest one so far.
BEHIND = 2
# And one that took so many times as long as the fastest in the first round is far behind.
FAR = 1.5
# What `futhark bench` says of a data set that was stopped.
STOPPED = "Execution exceeded"
# Microseconds of a data set of ours above which a program runs once a turn.
LONG = 300_000
# Microseconds below which a data set says more of clocks than of code.
SHORT = 20


def copies(folder, backends, notes):
    """Copies of the folder, ours and those by back end, with the data sets that are made."""
    found = {}
    for backend in ["bindrune", *backends]:
        if backend == "ispc" and not shutil.which("ispc"):
            notes.add("the compiler ispc is not installed")
            continue
        found[backend] = WORK / f"reference-{backend}"
        if not found[backend].exists():
            shutil.copytree(folder, found[backend], ignore_dangling_symlinks=True)
            for path in programs(found[backend]):
                # Programs whose blocks name back ends are left out for the others.
                text = path.read_text(errors="surrogateescape")
                path.write_text(re.sub(r"(?m)^-- tags \{.*\}\n", "", text), errors="surrogateescape")
        install(folder, found[backend])
    return found


def measured(command, cwd, env=None):
    """Medians in microseconds by entry point and data set; infinite if it was stopped."""
    out = WORK / "reference.json"
    out.unlink(missing_ok=True)
    subprocess.run([*command, f"--json={out}"], cwd=cwd, env=env, capture_output=True)
    try:
        found = json.loads(out.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
    times = {}
    for program, entry in found.items():
        point = program.partition(".fut:")[2] or "main"
        for dataset, result in entry["datasets"].items():
            # Of data sets without names the two show the values in different ways.
            dataset = re.sub(r"^(#\d+) .*", r"\1", dataset)
            if isinstance(result, dict) and result.get("runtimes"):
                times[point, dataset] = statistics.median(result["runtimes"])
            elif isinstance(result, str) and result.startswith(STOPPED):
                times[point, dataset] = math.inf
    return times


def bound(own, peers, runs):
    """Seconds that the runs of a data set may take: none has to go on that is much slower than
    ours, or than one of the peers."""
    longest = 0
    for key, time in own.items():
        longest = max(longest, min([SLOWER * time, *(BEHIND * peer[key] for peer in peers if key in peer)]))
    return math.ceil(longest / 1e6 * (runs + 1)) + 1


def theirs(futhark, backend, path, limit, runs):
    """Times of one of the reference's back ends, whose runs of a data set are stopped after
    `limit` seconds; compiles what is not there yet."""
    executable = path.with_suffix("")
    command = [futhark, "bench", f"--backend={backend}", f"--runs={runs}", f"--timeout={limit}"]
    command += ["--no-convergence-phase", "--no-tuning", f"--futhark={futhark}"]
    if executable.exists():
        command.append("--skip-compilation")
    env = {**os.environ, "CFLAGS": CFLAGS}
    return measured([*command, path.name], path.parent, env)


def ours(path, runs, options):
    command = [compiler(), "bench", f"--runs={runs}", f"--timeout={LIMIT}"]
    command += [f"--backend={options.backend}"] if options.backend else []
    return measured([*command, "--no-convergence-phase", "--no-tuning", path.name], path.parent)


def runtime():
    """What stays as long as the runtime's source does."""
    text = hashlib.sha256()
    for source in sorted((ROOT / "crates" / "runtime" / "src").rglob("*.rs")):
        text.update(source.read_bytes())
    return text


def code(path, of_runtime, options):
    """What stays as long as the compiler makes the same of a program: its text for LLVM, or
    its kernels, and the runtime."""
    text = of_runtime.copy()
    dump = [compiler(), "dev", "--stage", options.backend or "llvm", path.name]
    text.update(subprocess.run(dump, cwd=path.parent, capture_output=True).stdout)
    return text.hexdigest()


def close(turn):
    """Those that were not far behind another peer on all data sets of a round."""
    peers = {who: times for who, times in turn.items() if who != "bindrune"}
    fastest = {}
    for times in peers.values():
        for key, time in times.items():
            fastest[key] = min(time, fastest.get(key, math.inf))
    near = lambda times: any(time <= FAR * fastest[key] < math.inf for key, time in times.items())
    return ["bindrune", *(who for who, times in peers.items() if near(times))]


def compare(futhark, folders, folder, path, options):
    """One program: of each data set the fastest peer's time, ours and the ratio."""
    place, rounds, there = path.relative_to(folder), [], list(folders)
    own, peers = ours(folders["bindrune"] / place, 1, options), {}
    runs = 1 if max(own.values(), default=0) > LONG else options.runs
    for i in range(options.rounds):
        turn = {}
        for who in there[:: -1 if i % 2 else 1]:
            if who == "bindrune":
                own = turn[who] = ours(folders[who] / place, runs, options)
            elif own:
                others = [times for other, times in peers.items() if other != who]
                limit = bound(own, others, runs)
                peers[who] = turn[who] = theirs(futhark, who, folders[who] / place, limit, runs)
        if not own:
            return {}
        rounds.append(turn)
        there = close(rounds[0])
    rows = {}
    for key in rounds[0]["bindrune"]:
        own = [turn["bindrune"].get(key) for turn in rounds]
        ratios = {}
        for who in list(folders)[1:]:
            peer = [(turn[who].get(key), b) for turn, b in zip(rounds, own) if who in turn]
            if all(own) and all(a for a, _ in peer):
                ratios[who] = statistics.median(SLOWER if a == math.inf else a / b for a, b in peer)
        if ratios and max(own) >= SHORT:
            best = min(ratios, key=ratios.get)
            rows[" ".join(key)] = {"bindrune": statistics.median(own), "peer": best, "ratio": ratios[best]}
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
    rows, made, of_runtime = kept.data["rows"], {}, runtime()
    for path in programs(folder):
        name = str(path.relative_to(folder))
        made[name] = code(folders["bindrune"] / name, of_runtime, options)
        if name in rows and rows[name].get("code") != made[name]:
            del rows[name]
    for path in programs(folder):
        name = str(path.relative_to(folder))
        if options.case not in name or name in rows:
            continue
        if time.monotonic() > end:
            notes.add(f"reference: {name} and those behind it were not begun")
            break
        found = compare(futhark, folders, folder, path, options)
        if found:
            ratio = mean([row["ratio"] for row in found.values()])
            rows[name] = {"sets": found, "ratio": ratio, "code": made[name]}
            kept.save()
            print(name, rows[name], flush=True)
        else:
            notes.add(f"reference: {name} has no data set that all can run")
    return {"rows": rows}


def report_reference(results):
    """Lines of the report on this module's figure."""
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
