"""Expected values of `tests/programs/prelude/libm_*.fut` and `special_*.fut`: no argument is
off. The correct results are in the inputs, computed with MPFR by `libm/make_points.py`, which
generated the files."""

import re
from pathlib import Path

from registry import ORACLES

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "tests" / "programs" / "prelude"
# The name and the parameters: all but the last are the arguments, as bits.
ENTRY = re.compile(r"^entry (\w+) \[n\] (.*\[n\]\w+\)): ", re.M)

for path in [*FOLDER.glob("libm_*.fut"), *FOLDER.glob("special_*.fut")]:
    for name, parameters in ENTRY.findall(path.read_text()):
        kinds = [f"[]{ty}" for ty in re.findall(r"\[n\](\w+)\)", parameters)[:-1]]
        nothing = [] if len(kinds) == 1 else tuple([] for _ in kinds)
        ORACLES[str(path.relative_to(ROOT)), name] = (kinds, lambda *_, value=nothing: value)
