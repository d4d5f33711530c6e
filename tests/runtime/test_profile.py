"""Programs that look at the clock between their parts."""
import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
from chainwright.runtime.native import native_target


class Model(chainer.Chain):
    """Statistics that are written, wide rows for tiles, a product."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.bn = L.BatchNormalization(3000)
            self.l = L.Linear(3000, 4)

    @chainer.static_graph
    def forward(self, x, t):
        h = F.tanh(self.bn(x)) * 2 + x
        return F.softmax_cross_entropy(self.l(h), t)


def _trained(target, profile, calls=8):
    np.random.seed(0)
    model = Model()
    x = np.random.randn(100, 3000).astype(np.float32)
    t = np.arange(100, dtype=np.int32) % 4
    results = []
    with chainer.using_config('static_target', target):
        for k in range(calls):
            with chainer.using_config('static_profile', profile and k >= 4):
                loss = model(x, t)
                model.cleargrads()
                loss.backward()
            results += [loss.array, model.l.W.grad, model.bn.gamma.grad, model.bn.avg_var.copy()]
    return model, results


@pytest.mark.parametrize('target', ['numpy', 'native'])
def test_timed_programs_compute_the_same_and_know_what_they_did(target):
    _, plain = _trained(target, profile=False)
    model, timed = _trained(target, profile=True)
    for one, other in zip(plain, timed, strict=True):
        assert one.tobytes() == other.tobytes()
    profiles = model.schedule_manager.programs[0].profiles
    assert list(profiles) == ['forward', 'backward 1']
    for profile in profiles.values():
        assert profile.calls and profile.seconds > 0
        lines = [time.line.split(' ')[0] for time in profile.by_line()]
        assert any(line.startswith('test_profile.py:') for line in lines)
        shares = sum(time.seconds for time in profile.by_line())
        assert shares == pytest.approx(profile.seconds)
    table = str(profiles['forward'])
    product = 'dot' if target == 'native' and native_target() else 'few_rows'
    for word in (f'in {profiles["forward"].calls} calls', 'LinearFunction', product):
        assert word in table


def test_nothing_is_timed_without_the_setting():
    model, _ = _trained('native', profile=False)
    assert model.schedule_manager.programs[0].profiles == {}


def test_errors_come_as_without_times():
    class Labels(chainer.Chain):
        @chainer.static_graph
        def forward(self, x, t):
            return F.select_item(x, t) * 2

    model, x = Labels(), np.ones((2, 3), np.float32)
    with chainer.using_config('static_profile', True):
        for _ in range(4):
            y = model(x, np.array([0, 2], np.int32))
        assert y.array.tolist() == [2, 2]
        with pytest.raises(IndexError):
            model(x, np.array([0, 3], np.int32))
