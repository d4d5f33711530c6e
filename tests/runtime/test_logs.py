"""What CHAINWRIGHT_LOGS writes to standard error."""
import os
import subprocess
import sys

import pytest

from chainwright.runtime import logs
from chainwright.runtime.ledger import Ledger

SCRIPT = """
import numpy as np, chainer, chainer.functions as F
chainer.config.static_budget = None
class Model(chainer.Chain):
    @chainer.static_graph
    def forward(self, x):
        return F.tanh(x) * 2
model = Model()
for _ in range(3):
    model(np.ones((2, 3), np.float32))
"""


def _stderr(topics, tmp_path):
    path = tmp_path / 'script.py'
    path.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(path)], env={**os.environ, 'CHAINWRIGHT_LOGS': topics},
        capture_output=True, text=True, check=True)
    assert not done.stdout
    return done.stderr


@pytest.mark.slow
def test_topics(tmp_path):
    found = _stderr('recompiles, graph', tmp_path)
    assert 'chainwright: Model.forward: compile' in found and 'script.py:' in found
    assert 'graph of Model.forward\ngraph Model.forward\n' in found and 'import numpy' not in found
    assert 'import numpy as np' in _stderr('code', tmp_path)


def test_unknown_topics():
    with pytest.warns(UserWarning, match='recompiles, code, graph, but not cod'):
        assert logs.chosen('cod, graph') == {'graph'}
    assert logs.chosen('') == set()


def test_what_to_do_is_said_with_the_event(caplog):
    caplog.set_level('INFO', 'chainwright')
    Ledger('Net.forward').add('opaque', 'old-style function', 'net.py:3')
    assert 'to do: make the Function a FunctionNode' in caplog.text
