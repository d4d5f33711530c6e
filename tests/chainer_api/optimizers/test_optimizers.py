"""Optimizers: 20 steps of each against Chainer's numbers."""
import pathlib
import sys

import numpy as np
import pytest

import chainer
from chainer import optimizers

GOLDEN = pathlib.Path(__file__).parents[2] / 'golden'
sys.path.insert(0, str(GOLDEN))

import optimizer_cases as cases  # noqa: E402

recorded = np.load(GOLDEN / 'optimizers.npz')
OPTIMIZER_CASES = [case for case in cases.all_cases() if case[0] == 'optimizer']


@pytest.mark.filterwarnings('ignore::RuntimeWarning')  # 0 / 0 where eps vanishes in float16
@pytest.mark.parametrize(
    'case', OPTIMIZER_CASES, ids=lambda case: cases.key(*case).replace('"', ''))
def test_steps_are_those_of_chainer(case):
    got = np.stack(list(cases.run(chainer, *case)))
    # M-SVAG subtracts nearly equal numbers, which shows the last bit of a power.
    rtol = 1e-13 if case[1] == 'MSVAG' and case[3] == 'd' else 0
    np.testing.assert_allclose(got, recorded[cases.key(*case)], rtol=rtol, atol=0)


def make_param(dtype=np.float32):
    param = chainer.Parameter(np.array([1, 2, 3], dtype))
    param.grad = np.array([1, -1, 0.5], dtype)
    return param


@pytest.mark.parametrize('name', optimizers.__all__)
def test_rule_alone_has_the_default_hyperparameters(name):
    optimizer = getattr(optimizers, name)()
    base = optimizers.Adam() if isinstance(optimizer, optimizers.Adam) else optimizer
    rule = type(optimizer.create_update_rule())()
    assert rule.hyperparam.get_dict() == base.hyperparam.get_dict()
    assert rule.is_elementwise


@pytest.mark.parametrize('name', optimizers.__all__)
def test_rule_takes_each_hyperparameter(name):
    optimizer = getattr(optimizers, name)()
    for key, value in optimizer.hyperparam.get_dict().items():
        rule = type(optimizer.create_update_rule())(optimizer.hyperparam, **{key: value + 1})
        assert getattr(rule.hyperparam, key) == value + 1
        assert getattr(optimizer, key) == value
        setattr(optimizer, key, 7)
        assert getattr(optimizer.hyperparam, key) == 7
        setattr(optimizer, key, value)


@pytest.mark.parametrize('name', optimizers.__all__)
def test_no_gradient_no_step(name):
    param = make_param()
    param.grad = None
    rule = getattr(optimizers, name)().create_update_rule()
    rule.update(param)
    np.testing.assert_array_equal(param.array, [1, 2, 3])
    assert rule.t == 1


@pytest.mark.parametrize('name', optimizers.__all__)
def test_arrays_are_updated_in_place(name):
    param = make_param()
    array = param.array
    grad = param.grad.copy()
    getattr(optimizers, name)().create_update_rule().update(param)
    assert param.array is array
    assert not np.array_equal(array, [1, 2, 3])
    np.testing.assert_array_equal(param.grad, grad)


@pytest.mark.parametrize('name', optimizers.__all__)
def test_scalar_parameter(name):
    scalar, vector = chainer.Parameter(np.float64(3.0)), chainer.Parameter(np.array([3.0]))
    scalar.initialize(())
    scalar.array[...] = 3.0
    for param in (scalar, vector):
        param.grad = np.full_like(param.array, 0.5)
        rule = getattr(optimizers, name)().create_update_rule()
        for _ in range(3):
            rule.update(param)
    assert scalar.array.shape == ()
    np.testing.assert_allclose(scalar.array, vector.array[0], rtol=1e-6)


class TestAdam:

    def test_learning_rate(self):
        optimizer = optimizers.Adam(alpha=0.001, beta1=0.9, beta2=0.999)
        rule = optimizer.create_update_rule()
        for obj in (optimizer, rule):
            with pytest.raises(RuntimeError, match='not been started'):
                _ = obj.alpha_t
            obj.t = 1
            assert obj.alpha_t == pytest.approx(0.001 * 0.001 ** 0.5 / 0.1)
            with pytest.warns(DeprecationWarning, match='alpha_t'):
                assert obj.lr == obj.alpha_t

    def test_bounds(self):
        rule = optimizers.AdaBound(final_lr=0.1, gamma=1e-3).create_update_rule()
        with pytest.raises(RuntimeError, match='not been started'):
            _ = rule.bounds
        rule.t = 1
        np.testing.assert_allclose(rule.bounds, [0.1 - 0.1 / 1.001, 0.1 + 0.1 / 0.001])
        rule.hyperparam.alpha *= 2  # final_lr follows
        np.testing.assert_allclose(rule.bounds, [0.2 - 0.2 / 1.001, 0.2 + 0.2 / 0.001])

    def test_eps_too_small(self):
        rule = optimizers.Adam(eps=1e-50).create_update_rule()
        with pytest.raises(ValueError, match='eps of Adam optimizer is too small for float32'):
            rule.update(make_param())
        rule = optimizers.Adam(eps=1e-50).create_update_rule()
        rule.update(make_param(np.float64))

    def test_float16_computes_in_float32(self):
        param = make_param(np.float16)
        optimizers.Adam(eps=1e-8).create_update_rule().update(param)  # 1e-8 is 0 in float16
        np.testing.assert_allclose(param.array, [0.999, 2.001, 2.999], atol=1e-3)


def test_rmsprop_eps_too_small():
    rule = optimizers.RMSprop(eps=1e-8).create_update_rule()
    with pytest.raises(ValueError, match='eps of RMSprop optimizer is too small for float16'):
        rule.update(make_param(np.float16))


def test_all_reach_the_minimum():
    for name in optimizers.__all__:
        link = chainer.Link()
        link.add_param('x', initializer=np.array([0.3, -0.2]))
        optimizer = getattr(optimizers, name)().setup(link)
        rate = {'lr': 0.02, 'alpha': 0.02, 'rho': 0.5}
        for key in rate.keys() & optimizer.hyperparam.get_dict().keys() - {'alpha'} or {'alpha'}:
            setattr(optimizer, key, rate[key])
        for _ in range(2000):
            link.x.grad = 2 * link.x.array
            optimizer.update()
        # Steps of AdaDelta and RMSprop do not vanish at the minimum.
        assert np.abs(link.x.array).max() < 0.05, name
