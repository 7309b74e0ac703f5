#!/usr/bin/env python3
"""Runs the tests of a tier.

    python3 tests/run.py check                 format, lints, unit tests, files of passes
    python3 tests/run.py test                  also all programs on all back ends
    python3 tests/run.py all                   also after every pass, vendors' compilers, random programs
    python3 tests/run.py said                  what the last run of `all` said

`--no-cache` evaluates everything again; `all` always does. `--only CHECK,...` selects the checks of
programs (`crates/driver/tests/programs/checks.rs`). Arguments behind `--` go to `cargo nextest run`.

Lints are part of the build: clippy compiles the tests. Without `cargo-nextest`, `cargo test` runs
them. `test` evaluates programs after every pass of the crates that changed since its last
successful run in this target directory, and once per level otherwise. `all` writes
`tests/all.json`.
"""

import argparse
import datetime
import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
CARGO = os.environ.get("CARGO", "cargo")
ALL = ROOT / "tests" / "all.json"
# Hashes of the crates at the last successful run, and seconds by tier.
RECORD = TARGET / "tests.json"
# The tests of `check`: unit tests, and files of expected outputs.
CHECK = (
    "kind(lib) + kind(bin) + package(check) + package(syntax) + package(value) + package(ir) + package(imp)"
    " + (package(driver) & binary(/passes|structure|attributes|layout|warnings/))"
)
# Tests that only `all` runs stand in modules of this name.
ALL_TIER = "all_tier"
# Commands of `all` besides the tests: name, words behind `cargo xtask`.
RANDOM = {
    "random programs": ["progen", "--count", "1500"],
    "random programs on sizes": ["progen", "--sizes", "--count", "1500"],
    "random programs on OpenCL": ["progen", "--opencl", "--count", "200"],
    "mutants": ["mutate", "--count", "500"],
    "mutants of sizes": ["mutate", "--sizes", "--count", "1000"],
}


def run(command, env=None):
    """Runs a command and prints it; returns its seconds. Exits if it fails."""
    print("+", " ".join(map(str, command)), flush=True)
    start = time.perf_counter()
    status = subprocess.run([str(word) for word in command], cwd=ROOT, env=env).returncode
    if status:
        sys.exit(status)
    return time.perf_counter() - start


def crate_hashes():
    """A hash of each crate's source."""
    hashes = {}
    for crate in sorted((ROOT / "crates").iterdir()):
        digest = hashlib.sha256()
        for path in sorted((crate / "src").rglob("*")):
            if path.is_file():
                digest.update(str(path.relative_to(crate)).encode() + b"\0" + path.read_bytes())
        hashes[crate.name] = digest.hexdigest()
    return hashes


def read(path):
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return {}


def changed_crates(record, hashes):
    """The crates that changed since the recorded run; none without a record."""
    before = record.get("crates", {})
    return [name for name, digest in hashes.items() if before and before.get(name) != digest]


def said():
    """One line on the last run of `all`."""
    last = read(ALL)
    if not last:
        return "test-all: no run is on record"
    return (
        f"test-all: {last['result']} on {last['date']} at {last['commit'][:10]}: "
        f"{last['tests']} tests, {last['seconds']} s on {last['cores']} cores"
    )


def run_tests(tier, words, env):
    """Builds and runs the tests; returns the number of tests, if known."""
    if subprocess.run([CARGO, "nextest", "--version"], capture_output=True).returncode:
        command = [CARGO, "test", "--locked", "--workspace", "--no-fail-fast", "--lib", "--bins", "--tests"]
        run([*command, "--", *([] if tier == "all" else ["--skip", ALL_TIER])], env)
        return None
    selection = {
        "check": f"({CHECK}) - test({ALL_TIER}::)",
        "test": f"not test({ALL_TIER}::)",
        "all": "all()",
    }[tier]
    command = [CARGO, "nextest", "run", "--locked", "--workspace", "--no-fail-fast", "-E", selection]
    if "--status-level" not in words:
        command += ["--status-level", "fail", "--final-status-level", "slow"]
    run([*command, *words], env)
    return count(selection, env)


def count(selection, env):
    """The number of tests in a selection."""
    command = [CARGO, "nextest", "list", "--locked", "--workspace", "--message-format", "json", "-E", selection]
    made = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    try:
        suites = json.loads(made.stdout)["rust-suites"].values()
        cases = [case for suite in suites for case in suite["testcases"].values()]
        return sum(case["filter-match"]["status"] == "matches" for case in cases)
    except (ValueError, KeyError):
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tier", choices=["check", "test", "all", "said"])
    parser.add_argument("--no-cache", action="store_true", help="evaluate everything again")
    parser.add_argument("--only", default="", metavar="CHECK,...", help="checks of programs")
    parser.add_argument("words", nargs="*", help="arguments of `cargo nextest run`, behind --")
    options = parser.parse_args()
    if options.tier == "said":
        print(said())
        return
    record, hashes = read(RECORD), crate_hashes()
    env = dict(os.environ)
    env["RUSTC_WORKSPACE_WRAPPER"] = "clippy-driver"
    env["CLIPPY_ARGS"] = "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__"
    env["BINDRUNE_TESTS"] = "all" if options.tier == "all" else "test"
    env["BINDRUNE_NO_CACHE"] = "1" if options.no_cache or options.tier == "all" else "0"
    env["BINDRUNE_CHECKS"] = options.only
    changed = changed_crates(record, hashes)
    env["BINDRUNE_CHANGED"] = ",".join(changed)
    start = time.perf_counter()
    run([CARGO, "fmt", "--all", "--check"])
    if options.tier != "check":
        run([sys.executable, "tests/oracle/check.py"])
    if changed and options.tier == "test":
        print("evaluated after every pass of:", ", ".join(changed))
    before = time.perf_counter()
    tests = run_tests(options.tier, options.words, env)
    seconds = time.perf_counter() - before
    parts = {"build and tests": round(seconds)}
    if options.tier == "all":
        for name, task in RANDOM.items():
            parts[name] = round(run([CARGO, "xtask", *task], env))
    whole = round(time.perf_counter() - start)
    record.setdefault("seconds", {})[options.tier] = {"whole": whole, **parts}
    if options.tier != "check" and not options.words and not options.only:
        record["crates"] = hashes
    RECORD.write_text(json.dumps(record, indent=1) + "\n")
    print(f"{options.tier}: {tests or 'all'} tests passed, {whole} s in all")
    if options.tier == "all":
        git = ["git", "rev-parse", "HEAD"]
        commit = subprocess.run(git, cwd=ROOT, capture_output=True, text=True).stdout.strip()
        report = {
            "result": "passed",
            "date": datetime.date.today().isoformat(),
            "commit": commit,
            "tests": tests,
            "cores": os.cpu_count(),
            "seconds": whole,
            "parts": parts,
        }
        ALL.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
