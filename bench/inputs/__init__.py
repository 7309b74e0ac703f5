"""Inputs for the reference compiler's benchmark programs whose own data files are downloads.

There is one module per family of programs. Each generator is registered for a program
(`data_sets.data_set`) and yields values of the types, shapes and distribution that the program
needs. They are generated once (`data_sets.data_file`); `test_blocks.install` adds them to the
programs' test blocks.
"""

from . import accelerate, jgf, misc, parboil, pbbs, rodinia, transport  # noqa: F401 (they fill SETS)
from .data_sets import SETS, data_file  # noqa: F401
