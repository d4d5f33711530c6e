"""What native code does is there to be read: a golden listing.

    .venv/bin/python tests/chainer_api/graph_optimizations/test_listing.py     writes it anew
"""

import pathlib
import platform

import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
from chainwright.runtime.native import native_target

# Another processor may leave more to NumPy's loops.
HERE = native_target() is not None and platform.machine() in ("x86_64", "AMD64")
GOLDEN = pathlib.Path(__file__).parents[2] / "golden" / "listing.txt"
pytestmark = pytest.mark.skipif(not HERE, reason="no native code, or another processor")


class Words(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(20, 8)
            self.out = L.Linear(8, 5)

    @chainer.static_graph
    def forward(self, x, t):
        h = F.tanh(self.embed(x))
        return F.softmax_cross_entropy(self.out(h), t)


def program(target):
    with chainer.using_config("static_target", target):
        model = Words()
        x, t = np.arange(12, dtype="i"), np.arange(12, dtype="i") % 5
        for _ in range(4):
            model.cleargrads()
            model(x, t).backward()
        (found,) = model.schedule_manager.programs
        return found


def test_the_listing_of_a_training_program():
    assert program("native").listing + "\n" == GOLDEN.read_text()


def test_a_program_is_one_segment_forward_and_one_backward():
    found = program("native")
    assert found.listing.count("segment segment") == 2
    assert found.source.startswith('"""Words.forward') and "np." in found.source
    kernels = {line for line in found.llvm.splitlines() if line.startswith("define void")}
    assert 5 <= len(kernels) == found.llvm.count("define void")


def test_programs_of_numpy_have_none():
    assert program("numpy").listing == program("numpy").llvm == ""


if __name__ == "__main__":
    GOLDEN.write_text(program("native").listing + "\n")
