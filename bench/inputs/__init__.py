"""Inputs for the reference compiler's benchmark programs whose own data files are downloads.

There is one module per family of programs. Each generator is registered for a program (`sets.made`)
and yields values of the types, shapes and kind that the program needs. They are generated once
(`sets.file`), and `blocks.install` puts them beside the programs.
"""

from . import accelerate, jgf, misc, parboil, pbbs, rodinia, transport  # noqa: F401 (they fill SETS)
from .sets import SETS, file  # noqa: F401
