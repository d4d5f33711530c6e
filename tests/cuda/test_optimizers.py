"""Optimizers and their hooks with CuPy arrays: some steps of each as on the host."""
import contextlib

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


# -- all parameters in one launch


class Net(chainer.Chain):
    """Parameters of several sizes, some of whole vectors, one transposed, one that is a scalar."""

    def __init__(self, dtype='f'):
        super().__init__()
        rng = np.random.RandomState(0)
        with self.init_scope():
            for name, shape in (('a', (3, 5)), ('b', (64, 33)), ('c', (8,)), ('d', (2, 3, 4))):
                value = rng.standard_normal(shape).astype(dtype)
                setattr(self, name, chainer.Parameter(value))
            self.e = chainer.Parameter(np.asfortranarray(rng.standard_normal((4, 7)).astype(dtype)))
            self.f = chainer.Parameter(np.array(0.5, dtype))


def updated(make, dtype='f', one=True, steps=7, change=None, hooks=(), check='first'):
    """Parameters, states and counts after some updates, and the launches of the last one."""
    model = Net(dtype)
    model.to_device('@cupy:0')
    optimizer = make().setup(model)
    for hook in hooks:
        optimizer.add_hook(hook)
    rng = np.random.RandomState(3)
    found = []
    settings = {'static_step': one, 'static_check': check}
    with contextlib.ExitStack() as stack:
        for name, value in settings.items():
            stack.enter_context(chainer.using_config(name, value))
        for k in range(steps):
            for param in model.params():
                grad = np.asarray(rng.standard_normal(param.shape) * 10.0 ** rng.randint(-8, 2))
                param.grad = cuda.cupy.asarray(grad.astype(dtype), order='K')
            if change is not None:
                change(k, optimizer)
            launches = len(kernel_launches())
            optimizer.update()
            launches = len(kernel_launches()) - launches
            for param in model.params():
                rule = param.update_rule
                arrays = [param.array, param.grad, *(rule.state or {}).values()]
                found.append((rule.t, *(a.get().tobytes() for a in arrays)))
    return found, launches, optimizer


def kernel_launches():
    from cupy import _memory
    return [e for e in _memory.events if e[0] == 'launch' and e[1] == 'update']


OPTIMIZERS = {
    'SGD': chainer.optimizers.SGD, 'MomentumSGD': chainer.optimizers.MomentumSGD,
    'CorrectedMomentumSGD': chainer.optimizers.CorrectedMomentumSGD,
    'NesterovAG': chainer.optimizers.NesterovAG, 'AdaGrad': chainer.optimizers.AdaGrad,
    'AdaDelta': chainer.optimizers.AdaDelta, 'RMSprop': chainer.optimizers.RMSprop,
    'RMSpropGraves': chainer.optimizers.RMSpropGraves, 'SMORMS3': chainer.optimizers.SMORMS3,
    'Adam': chainer.optimizers.Adam,
    'AMSGrad': lambda: chainer.optimizers.Adam(amsgrad=True),
    'AdamW': lambda: chainer.optimizers.AdamW(weight_decay_rate=.1, eta=.5),
}
on_simulator = pytest.mark.skipif(
    'simulated' not in cuda.cupy.__file__, reason='a real device notes no launches')


@on_simulator
@pytest.mark.parametrize('name', OPTIMIZERS)
def test_one_launch_updates_all(name):
    """Bit for bit what the loop over parameters does; only the scalar goes by itself."""
    expected, none, _ = updated(OPTIMIZERS[name], one=False)
    found, launches, _ = updated(OPTIMIZERS[name])
    assert found == expected
    assert (none, launches) == (0, 1)


@on_simulator
def test_one_launch_in_double_precision():
    expected, *_ = updated(chainer.optimizers.Adam, 'd', one=False)
    found, launches, _ = updated(chainer.optimizers.Adam, 'd')
    assert found == expected and launches == 1


@on_simulator
def test_what_has_no_kernel_stays_a_loop():
    """Half precision (whose moments are wider), and what clips, which is CuPy's own function."""
    for make, dtype in ((chainer.optimizers.Adam, 'e'), (chainer.optimizers.AdaBound, 'f'),
                        (chainer.optimizers.MSVAG, 'f')):
        expected, *_ = updated(make, dtype, one=False)
        found, launches, _ = updated(make, dtype)
        assert found == expected and launches == 0


@on_simulator
def test_numbers_of_their_own():
    """Learning rates change, one rule has its own, one is disabled for a while."""
    def change(k, optimizer):
        optimizer.lr = .1 / (k + 1)
        optimizer.target.b.update_rule.hyperparam.lr = .3
        optimizer.target.c.update_rule.enabled = k != 5

    expected, *_ = updated(chainer.optimizers.MomentumSGD, one=False, change=change)
    found, launches, _ = updated(chainer.optimizers.MomentumSGD, change=change)
    assert found == expected and launches == 2


@on_simulator
def test_hooks_are_one_launch():
    hooks = [chainer.optimizer_hooks.WeightDecay(.01), chainer.optimizer_hooks.Lasso(.001)]
    expected, *_ = updated(chainer.optimizers.SGD, one=False, hooks=hooks)
    found, launches, _ = updated(chainer.optimizers.SGD, hooks=hooks)
    assert found == expected and launches >= 2


@on_simulator
def test_arrays_that_overlap_are_updated_one_after_the_other():
    def change(k, optimizer):
        model = optimizer.target
        if k == 0:
            model.c.array = model.d.array.reshape(-1)[:8]

    expected, *_ = updated(chainer.optimizers.SGD, one=False, change=change)
    found, launches, _ = updated(chainer.optimizers.SGD, change=change)
    assert found == expected and launches == 0


@on_simulator
def test_arrays_that_overlap_between_launches():
    """Rules with numbers of their own have a launch each: the order of parameters counts there."""
    def change(k, optimizer):
        model = optimizer.target
        model.b.update_rule.hyperparam.lr = .3
        if k == 0:
            model.b.array = model.d.array.reshape(-1)[:24].reshape(4, 6)
        model.b.grad = cuda.cupy.ones((4, 6), 'f')

    expected, *_ = updated(chainer.optimizers.MomentumSGD, one=False, change=change)
    found, launches, _ = updated(chainer.optimizers.MomentumSGD, change=change)
    assert found == expected and launches == 0


@on_simulator
def test_a_rule_of_two_parameters():
    """Its count is two higher after each update."""
    def change(k, optimizer):
        optimizer.target.c.update_rule = optimizer.target.b.update_rule

    expected, *_ = updated(chainer.optimizers.SGD, one=False, change=change)
    found, launches, _ = updated(chainer.optimizers.SGD, change=change)
    assert found == expected and launches == 1


@on_simulator
def test_kernels_that_give_other_values_are_not_used(monkeypatch, caplog):
    from chainer.graph_optimizations import _device_update

    real = _device_update.sweep_text

    def wrong(*args):
        text = real(*args)
        return text._replace(code=text.code.replace('float t0 = ', 'float t0 = 1.5f * '))

    monkeypatch.setattr(_device_update, 'sweep_text', wrong)
    _device_update._text_of.cache_clear()
    expected, *_ = updated(chainer.optimizers.SGD, one=False)
    found, launches, _ = updated(chainer.optimizers.SGD)
    _device_update._text_of.cache_clear()
    assert found == expected and launches == 0
    assert 'gave other values' in caplog.text


@on_simulator
def test_the_table_of_addresses_is_sent_when_it_changes():
    from cupy import _memory
    model = Net()
    model.to_device('@cupy:0')
    optimizer = chainer.optimizers.Adam().setup(model)
    for param in model.params():
        param.grad = cuda.cupy.ones_like(param.array)
    with chainer.using_config('static_check', 'first'):
        for _ in range(6):
            optimizer.update()
        del _memory.events[:]
        optimizer.update()
    assert not [e for e in _memory.events if e[0] in ('to host', 'to device', 'synchronize')]
