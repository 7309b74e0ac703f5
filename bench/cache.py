"""Stored measurements of a figure, so that it can be measured in parts when the machine is quiet."""

import json
import os
import shutil

from harness import compiler


class MeasurementCache:
    """Cases and rows that were measured with one setting and, with `by_compiler`, one compiler. A
    change of either discards them. `old` is the file's former path."""

    def __init__(self, path, setting="", by_compiler=True, old=None):
        status = os.stat(shutil.which(compiler()))
        stamp = [status.st_size, status.st_mtime_ns] if by_compiler else []
        stamp += [setting] if setting else []
        source = path if path.exists() or old is None else old
        known = json.loads(source.read_text()) if source.exists() else {}
        self.path = path
        self.data = known if known.get("compiler") == stamp else {"compiler": stamp, "cases": {}, "rows": {}}

    def save(self):
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self.data))
        os.replace(new, self.path)
