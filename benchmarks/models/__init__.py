"""Models of many kinds, written in the style of real projects of 2015 to 2019."""

import importlib

from .case import CASES, Case

for _part in "vision text recurrent generative reinforcement structured others packages".split():
    importlib.import_module(f"{__name__}.{_part}")

__all__ = ["CASES", "Case"]
