"""Hooks of optimizers: 20 steps of each against Chainer's numbers, and loss scaling."""
import pathlib
import sys

import numpy as np
import pytest

import chainer
from chainer import functions as F
from chainer import optimizer_hooks, optimizers

GOLDEN = pathlib.Path(__file__).parents[2] / 'golden'
sys.path.insert(0, str(GOLDEN))

import optimizer_cases as cases  # noqa: E402

recorded = np.load(GOLDEN / 'optimizers.npz')
HOOK_CASES = [case for case in cases.all_cases() if case[0] == 'hook']


@pytest.mark.parametrize('case', HOOK_CASES, ids=lambda case: cases.key(*case))
def test_steps_are_those_of_chainer(case):
    got = np.stack(list(cases.run(chainer, *case)))
    rtol = 0
    if case[1] in ('GradientClipping', 'GradientLARS'):  # the norm depends on the BLAS
        rtol = {'e': 1e-3, 'f': 1e-6, 'd': 1e-14}[case[3]]
    np.testing.assert_allclose(got, recorded[cases.key(*case)], rtol=rtol, atol=0)


ALL = [
    lambda: optimizer_hooks.WeightDecay(0.1), lambda: optimizer_hooks.Lasso(0.1),
    lambda: optimizer_hooks.GradientClipping(1.0),
    lambda: optimizer_hooks.GradientHardClipping(-3.0, 3.0),
    lambda: optimizer_hooks.GradientLARS(0.01, 0.1), lambda: optimizer_hooks.GradientNoise(0.1)]


def make_optimizer(hook, dtype=np.float32):
    link = chainer.Link()
    link.add_param('W', initializer=np.array([1, 2, 3], dtype))
    optimizer = optimizers.SGD(lr=1).setup(link)
    optimizer.add_hook(hook)
    return optimizer


@pytest.mark.parametrize('make', ALL)
def test_loss_scaling_changes_nothing(make):
    arrays = []
    for scale in (None, 8.0):
        np.random.seed(0)
        optimizer = make_optimizer(make())
        if scale is not None:
            optimizer.set_loss_scale(scale)
        link = optimizer.target
        optimizer.update(lambda: F.sum(link.W * link.W))  # noqa: B023
        arrays.append(link.W.array)
    np.testing.assert_allclose(*arrays, rtol=1e-6)
    assert not np.allclose(arrays[0], [-1, -2, -3]), 'the hook did nothing'


@pytest.mark.parametrize('make', ALL)
def test_gradient_arrays_of_others_stay(make):
    # Backward may give one array to several parameters.
    optimizer = make_optimizer(make())
    grad = np.array([5, -5, 5], np.float32)
    grad.flags.writeable = False
    optimizer.target.W.grad = grad
    optimizer.call_hooks('pre')
    np.testing.assert_array_equal(grad, [5, -5, 5])
    assert not np.array_equal(optimizer.target.W.grad, grad)


@pytest.mark.parametrize('make', ALL)
def test_parameters_without_gradient_are_skipped(make):
    optimizer = make_optimizer(make())
    link = optimizer.target
    link.add_param('late')
    link.W.grad = None
    optimizer.call_hooks('pre')
    # Cleared gradients are filled again between hooks, as in the original.
    assert link.W.grad is None or not link.W.grad.any()


@pytest.mark.parametrize(
    'make', [make for make in ALL if getattr(make(), 'call_for_each_param', False)])
def test_hook_of_one_rule(make):
    hook = make()
    param = chainer.Parameter(np.array([1, 2, 3], np.float32))
    param.grad = np.array([5, -5, 5], np.float32)
    rule = optimizers.sgd.SGDRule(lr=0)
    rule.add_hook(hook)
    rule.update(param)
    assert not np.array_equal(param.grad, [5, -5, 5])
    assert hook.timing == 'pre' and hook.name == type(hook).__name__


def test_weight_decay():
    optimizer = make_optimizer(optimizer_hooks.WeightDecay(0.5))
    optimizer.target.W.grad = np.zeros(3, np.float32)
    optimizer.update()
    np.testing.assert_array_equal(optimizer.target.W.array, [0.5, 1, 1.5])


def test_clipping_scales_all_parameters_together():
    link = chainer.Link()
    link.add_param('a', initializer=np.zeros(2))
    link.add_param('b', initializer=np.zeros(1))
    optimizer = optimizers.SGD().setup(link)
    optimizer.add_hook(optimizer_hooks.GradientClipping(6.5))
    link.a.grad, link.b.grad = np.array([3.0, 4.0]), np.array([12.0])  # the norm is 13
    optimizer.call_hooks()
    np.testing.assert_allclose(link.a.grad, [1.5, 2.0])
    np.testing.assert_allclose(link.b.grad, [6.0])
    optimizer.call_hooks()  # nothing to clip
    np.testing.assert_allclose(link.b.grad, [6.0])


def test_clipping_of_zero_gradients():
    optimizer = make_optimizer(optimizer_hooks.GradientClipping(1.0))
    optimizer.target.W.grad = np.zeros(3, np.float32)
    optimizer.update()
    np.testing.assert_array_equal(optimizer.target.W.grad, [0, 0, 0])


def test_own_noise():
    def noise(xp, shape, dtype, hook, opt):
        return xp.full(shape, hook.eta + opt.t, dtype)

    optimizer = make_optimizer(optimizer_hooks.GradientNoise(0.5, noise))
    optimizer.target.W.grad = np.zeros(3, np.float32)
    optimizer.update()
    np.testing.assert_array_equal(optimizer.target.W.grad, [0.5, 0.5, 0.5])


def test_noise_decays():
    hook = optimizer_hooks.GradientNoise(1.0)
    rule = optimizers.sgd.SGDRule()
    np.random.seed(0)
    deviations = []
    for rule.t in (0, 99):
        noise = hook.noise_func(np, (10000,), np.dtype(np.float32), hook, rule)
        assert noise.dtype == np.float32
        deviations.append(noise.std())
    np.testing.assert_allclose(deviations, [1, 100 ** -0.275], rtol=0.02)


def test_lars_of_small_parameters_is_plain_decay():
    optimizer = make_optimizer(optimizer_hooks.GradientLARS(threshold=10, weight_decay=0.5))
    optimizer.target.W.grad = np.ones(3, np.float32)
    optimizer.call_hooks()
    np.testing.assert_array_equal(optimizer.target.W.grad, [1.5, 2, 2.5])


@pytest.mark.parametrize('make', [
    *ALL,
    lambda: optimizer_hooks.WeightDecay(np.float64(0.1)),
    lambda: optimizer_hooks.Lasso(np.array(0.1)),
    lambda: optimizer_hooks.GradientClipping(np.float64(1.0)),
    lambda: optimizer_hooks.GradientHardClipping(np.float64(-3.0), np.float64(3.0))])
@pytest.mark.parametrize('shape', [(), (2,), (1, 1)])
def test_parameters_without_axes_and_numbers_of_numpy(make, shape):
    """NumPy gives scalars there, and float64 arrays: gradients are arrays of the type they had."""
    link = chainer.Link(W=shape)
    link.W.array = np.full(shape, 2, np.float32)
    optimizer = optimizers.SGD(lr=1).setup(link)
    optimizer.add_hook(make())
    link.W.grad = np.full(shape, 30, np.float32)
    optimizer.update()
    assert type(link.W.grad) is np.ndarray and link.W.grad.dtype == np.float32
    assert link.W.grad.shape == shape and not np.any(link.W.grad == 30)


def test_nothing_passes_a_clipping_whose_norm_is_nan():
    """As in the original: all parameters are NaN then, and nobody takes an unclipped step."""
    model = chainer.Chain()
    with model.init_scope():
        model.p = chainer.Parameter(np.zeros(3, 'f'))
        model.q = chainer.Parameter(np.zeros(2, 'f'))
    optimizer = chainer.optimizers.SGD(1.).setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(1.))
    model.p.grad, model.q.grad = np.array([1, np.nan, 2], 'f'), np.ones(2, 'f')
    optimizer.update()
    assert np.isnan(model.p.array).all() and np.isnan(model.q.array).all()


def test_loss_scale_of_a_parameter_without_axes():
    model = chainer.Chain()
    with model.init_scope():
        model.p = chainer.Parameter(np.ones((), 'f'))
    optimizer = chainer.optimizers.SGD(0.5).setup(model)
    optimizer.set_loss_scale(128.)
    optimizer.update(lambda: model.p * 2)
    assert model.p.array == 0 and type(model.p.grad) is np.ndarray
