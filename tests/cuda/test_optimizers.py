"""Optimizers and their hooks with CuPy arrays: some steps of each as on the host."""
import numpy as np
import optimizer_cases as cases
import pytest

import chainer
from chainer.backends import cuda

CASES = [case for case in cases.all_cases() if case[3] == 'f' and case[1] != 'GradientNoise']
STEPS = 5


def steps(case, device):
    kind, name, args, dtype = case
    link = cases.make_link(chainer, dtype)
    if kind == 'optimizer':
        optimizer = getattr(chainer.optimizers, name)(**args).setup(link)
    else:
        optimizer = chainer.optimizers.SGD(lr=0.1).setup(link)
        optimizer.add_hook(getattr(chainer.optimizer_hooks, name)(*args))
    link.to_device(device)
    rng = np.random.RandomState(11)
    for _ in range(STEPS):
        for parameter in (getattr(link, name) for name in sorted(cases.SHAPES)):
            grad = rng.normal(size=parameter.shape).astype(dtype)
            parameter.grad = link.device.send(grad)
        optimizer.update()
    for parameter in link.params():
        assert isinstance(parameter.array, link.xp.ndarray)
        state = parameter.update_rule.state or {}
        for name, value in state.items():
            assert isinstance(value, (link.xp.ndarray, float, int))
            state[name] = cuda.to_cpu(value)
    link.to_cpu()
    return cases.snapshot(link)


@pytest.mark.parametrize('case', CASES, ids=lambda case: cases.key(*case).replace('"', ''))
def test_steps(case):
    np.testing.assert_allclose(
        steps(case, '@cupy:0'), steps(case, '@numpy'), rtol=2e-5, atol=1e-7)


def test_noise_of_gradients_is_drawn_on_the_device():
    link = cases.make_link(chainer, 'f')
    link.to_device('@cupy:0')
    optimizer = chainer.optimizers.SGD(lr=1.).setup(link)
    optimizer.add_hook(chainer.optimizer_hooks.GradientNoise(0.3))
    before = link.W.array.copy()
    for parameter in link.params():
        parameter.grad = cuda.cupy.zeros_like(parameter.array)
    optimizer.update()
    moved = (link.W.array - before).get()
    assert 0 < np.abs(moved).max() < 10
