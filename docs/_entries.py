"""The names that have an entry in the API reference."""
import importlib
import pathlib
import re

PAGES = pathlib.Path(__file__).parent / 'reference'


def listed():
    """The names that have an entry, in the order of the pages."""
    return [
        name for page in sorted(PAGES.glob('*.rst'))
        for name in re.findall(r'^   ((?:chain|onnx_)\w+\.\S+)$', page.read_text(), re.MULTILINE)]


def imported(name):
    """The object with a dotted name."""
    module, _, attribute = name.rpartition('.')
    try:
        return getattr(importlib.import_module(module), attribute)
    except ImportError:
        return getattr(imported(module), attribute)
