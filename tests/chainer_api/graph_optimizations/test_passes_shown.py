"""Graphs of compiled methods: pass by pass, and read again from their text."""
import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
from chainwright.ir import parse


class Convolutional(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(3, 4, 3, pad=1)
            self.bn = L.BatchNormalization(4)
            self.l = L.Linear(None, 5)

    @chainer.static_graph
    def forward(self, x):
        h = F.max_pooling_2d(F.relu(self.bn(self.conv(x))), 2)
        h = F.dropout(h[:, ::-1], .3) * np.float32(2) + F.clip(h, -1, np.inf)
        return F.softmax(self.l(h)), F.concat([h, h[:, [2, 0]]])


class Recurrent(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(7, 4)
            self.lstm = L.LSTM(4, 5)

    @chainer.static_graph
    def forward(self, ids):
        self.lstm.reset_state()
        for k in range(3):
            h = self.lstm(self.embed(ids[:, k]))
        return F.softmax_cross_entropy(h, ids[:, 0]), h


def _trained(model, x):
    for _ in range(4):
        model.cleargrads()
        sum(F.sum(y) for y in model(x)).backward()
    return model.schedule_manager.programs


@pytest.mark.parametrize('model, x', [
    (Convolutional(), np.random.RandomState(0).randn(2, 3, 6, 6).astype(np.float32)),
    (Recurrent(), np.array([[1, 2, 0], [4, 4, 3]], np.int32))], ids=['images', 'words'])
def test_every_stage_has_a_text_that_can_be_read(model, x):
    programs = _trained(model, x)
    assert programs
    for program in programs:
        stages = program.passes
        names = [stage.name for stage in stages]
        assert names[0] == 'recorded' and names[-1].startswith('fuse: ')
        assert len({len(stage.graph.nodes) for stage in stages}) > 2  # passes do something
        for stage in stages:
            assert str(parse(stage.text)) == stage.text
        last = {name: stage for name, stage in zip(names, stages, strict=True)}
        assert last['fuse: forward'].text == str(program.optimized)
        assert [last[f'fuse: backward {k}'].text for k, _ in enumerate(program.backwards, 1)] == [
            str(graph) for graph in program.backwards]
