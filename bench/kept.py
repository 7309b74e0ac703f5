"""What a figure has measured so far, on the disk, so that it can be measured in pieces when the
machine is quiet."""

import json
import os
import shutil

from lanes import compiler


class Kept:
    """Cases and rows under one setting, of one compiler unless they tell that themselves;
    another one begins anew."""

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
