"""docs/functions.md lists every function that is opaque in a static graph, with its reason."""
import pathlib
import re

import chainer.functions

ROOT = pathlib.Path(__file__).parents[3]
SOURCES = pathlib.Path(chainer.functions.__file__).parent


def reasons():
    for path in sorted(SOURCES.rglob('*.py')):
        for _, reason in re.findall(r"""opaque = (['"])(.+)\1""", path.read_text()):
            yield reason


def test_every_reason_stands_in_the_table():
    found = list(reasons())
    assert len(found) >= 5
    text = (ROOT / 'docs' / 'functions.md').read_text()
    assert [reason for reason in found if reason not in text] == []
