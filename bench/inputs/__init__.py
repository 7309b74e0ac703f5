"""Inputs for the reference's benchmark programs whose own data files are downloads.

One module a family of programs; each generator is marked with the program that it is for
(`sets.made`) and makes values of the types, shapes and kind that the program needs. They are
made once (`sets.file`), and `blocks.install` puts them beside the programs.
"""

from . import accelerate, jgf, misc, parboil, pbbs, rodinia, transport  # noqa: F401 (they fill SETS)
from .sets import SETS, file  # noqa: F401
