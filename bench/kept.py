"""Stored measurements of a figure, so that it can be measured in parts when the machine is
quiet."""

import json
import os
import shutil

from lanes import compiler


class Kept:
    """Cases and rows of one setting and, with `by_compiler`, of one compiler. A change of either
    discards them."""

    def __init__(self, path, setting="", by_compiler=True):
        status = os.stat(shutil.which(compiler()))
        stamp = [status.st_size, status.st_mtime_ns] if by_compiler else []
        stamp += [setting] if setting else []
        known = json.loads(path.read_text()) if path.exists() else {}
        self.path = path
        self.data = known if known.get("compiler") == stamp else {"compiler": stamp, "cases": {}, "rows": {}}

    def save(self):
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self.data))
        os.replace(new, self.path)
