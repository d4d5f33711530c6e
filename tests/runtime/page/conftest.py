"""The browser of this folder is importable from its tests."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
