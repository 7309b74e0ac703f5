#!/usr/bin/env python3
"""Calls an entry point of a server with the command line of an executable.

    server_adapter.py SERVER -e ENTRY -r RUNS --write-runtime-to=FILE (-b | -n) < values

The reference compiler's benchmarks are compiled to servers, but `bindrune bench --skip-compilation`
calls executables with the values of a data set on standard input. This script adapts one to the
other: values are passed to the server in a file, the entry point is called once as a warm-up and
then RUNS times, the run times that the server reports are written to FILE, one per line, and with
`-b` the results are written to standard output. The program in the environment variable BINDRUNE
converts text values to binary ones.
"""

import argparse
import ctypes
import os
import signal
import subprocess
import sys
import tempfile

DONE, FAILED = "%%% OK", "%%% FAILURE"
PR_SET_PDEATHSIG = 1


def die_with_parent():
    """Makes the kernel kill the server when this process is killed at a time limit."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Server:
    def __init__(self, path):
        self.process = subprocess.Popen(
            [path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent
        )
        self.response()

    def response(self):
        """The lines of a response. Exits if it is a failure."""
        lines = []
        for line in iter(self.process.stdout.readline, ""):
            line = line.rstrip("\n")
            if line == DONE:
                if FAILED in lines:
                    sys.exit("\n".join(lines[lines.index(FAILED) + 1 :]) or "the server fails")
                return lines
            lines.append(line)
        sys.exit("the server ended")

    def request(self, *words):
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        return self.response()


def write_values(folder):
    """Writes the values on standard input to a file, in the binary format."""
    data = sys.stdin.buffer.read()
    if not data.lstrip().startswith(b"b"):
        convert = [os.environ.get("BINDRUNE", "bindrune"), "data", "-b"]
        data = subprocess.run(convert, input=data, capture_output=True, check=True).stdout
    path = os.path.join(folder, "values")
    with open(path, "wb") as out:
        out.write(data)
    return path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("server")
    parser.add_argument("-e", dest="entry", required=True)
    parser.add_argument("-r", dest="runs", type=int, default=1)
    parser.add_argument("--write-runtime-to", dest="times")
    parser.add_argument("-b", dest="binary", action="store_true")
    parser.add_argument("-n", dest="none", action="store_true")
    options = parser.parse_args()
    server = Server(options.server)
    types = server.request("inputs", options.entry)
    consumes = any(ty.startswith("*") for ty in types)
    inputs = [f"in{i}" for i in range(len(types))]
    outputs = [f"out{i}" for i in range(len(server.request("outputs", options.entry)))]
    given = [word for name, ty in zip(inputs, types) for word in (name, ty.lstrip("*"))]
    times = []
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        path = write_values(folder)
        for run in range(options.runs + 1):
            if given and (run == 0 or consumes):
                server.request("restore", path, *given)
            for line in server.request("call", options.entry, *outputs, *inputs):
                if line.startswith("runtime: ") and run > 0:
                    times.append(line.removeprefix("runtime: "))
            last = run == options.runs
            if last and options.binary:
                result = os.path.join(folder, "results")
                server.request("store", result, *outputs)
                with open(result, "rb") as results:
                    sys.stdout.buffer.write(results.read())
            if not last:
                server.request("free", *outputs)
                if consumes and given:
                    server.request("free", *inputs)
    if options.times:
        with open(options.times, "w") as out:
            out.writelines(f"{time}\n" for time in times)


main()
