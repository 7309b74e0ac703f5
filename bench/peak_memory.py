"""Prints the peak resident memory, in bytes, of a command that reads a file.

    python3 bench/peak_memory.py FILE COMMAND...

This is a separate process, because a child starts with its parent's peak, so the parent must be
small.
"""

import os
import subprocess
import sys

with open(sys.argv[1], "rb") as source:
    child = subprocess.Popen(sys.argv[2:], stdin=source, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
child.returncode = os.waitstatus_to_exitcode(status)
if child.returncode:
    sys.exit(f"{sys.argv[2]} failed")
print(usage.ru_maxrss * 1024)
