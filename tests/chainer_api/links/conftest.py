"""The tables stand beside the tests and are also read by tests/golden/record_links.py."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
