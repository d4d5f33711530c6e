"""The graphs of tests/ir and the helpers of this folder are importable from here."""

import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).parents[1] / "ir"), str(pathlib.Path(__file__).parent)]
