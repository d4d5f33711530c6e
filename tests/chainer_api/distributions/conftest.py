"""The table of cases stands beside the tests and is also read by record_distributions.py."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
