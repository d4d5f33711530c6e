"""Shared by all tests: helper modules are found beside the tests that use them."""

import pathlib
import sys

for folder in ("chainer_api/graph_optimizations", "chainer_api/functions"):
    sys.path.insert(0, str(pathlib.Path(__file__).parent / folder))
