"""Link hooks: numbers against Chainer's, and their behaviour."""
import io
import pathlib
import sys

import numpy as np
import pytest

import chainer
from chainer import functions as F
from chainer import link_hooks
from chainer import links as L

GOLDEN = pathlib.Path(__file__).parents[2] / 'golden'
sys.path.insert(0, str(GOLDEN))

import link_hook_cases as cases  # noqa: E402

recorded = np.load(GOLDEN / 'link_hooks.npz')


@pytest.mark.parametrize(
    'case', list(cases.all_cases()), ids=lambda case: cases.key(*case).replace('"', ''))
def test_numbers_are_those_of_chainer(case):
    found = cases.run(chainer, *case)
    for name, value in found.items():
        expected = recorded[f'{cases.key(*case)} {name}']
        assert value.dtype == expected.dtype and value.shape == expected.shape
        # Sums are taken in another order, and the gradient through a standardized weight is a
        # difference of nearly equal sums.
        atol = 1e-6 + 2e-6 * np.abs(expected).max()
        np.testing.assert_allclose(value, expected, rtol=1e-6, atol=atol, err_msg=name)


class WeightLink(chainer.Link):
    def __init__(self, weight):
        super().__init__()
        with self.init_scope():
            self.W = chainer.Parameter(np.asarray(weight))

    def forward(self):
        return self.W


HOOKS = [link_hooks.SpectralNormalization, link_hooks.WeightStandardization]


@pytest.mark.parametrize('make', HOOKS)
class TestWeightHooks:

    def test_parameter_comes_back_after_the_call(self, make):
        link = L.Linear(3, 4).add_hook(make())
        weight = link.W
        link(np.ones((2, 3), np.float32))
        assert link.W is weight and isinstance(weight, chainer.Parameter)

    def test_parameter_comes_back_after_a_call_that_failed(self, make):
        link = L.Linear(3, 4).add_hook(make())
        weight = link.W
        with pytest.raises(chainer.utils.type_check.InvalidType):
            link(np.ones((2, 7), np.float32))
        link(np.ones((2, 3), np.float32))
        assert link.W is weight

    def test_hook_can_be_deleted_after_a_call_that_failed(self, make):
        link = L.Linear(3, 4).add_hook(make())
        weight = link.W
        with pytest.raises(chainer.utils.type_check.InvalidType):
            link(np.ones((2, 7), np.float32))
        link.delete_hook(make.name)
        assert link.W is weight

    @pytest.mark.parametrize('shape, n_batch_axes', [((2, 3), 1), ((2, 3, 5), 1), ((2, 3, 5), 2)])
    def test_lazy_linear(self, make, shape, n_batch_axes):
        link = L.Linear(None, 4).add_hook(make())
        link(np.ones(shape, np.float32), n_batch_axes)
        assert link.W.shape == (4, np.prod(shape[n_batch_axes:]))

    def test_lazy_convolution(self, make):
        link = L.Convolution2D(None, 4, 2).add_hook(make())
        link(np.ones((2, 3, 5, 5), np.float32))
        assert link.W.shape == (4, 3, 2, 2)

    def test_weight_must_exist(self, make):
        for link, name in [(chainer.Link(), 'W'), (L.Linear(2, 3), 'V')]:
            with pytest.raises(ValueError, match=f"Weight '{name}' does not exist"):
                link.add_hook(make(weight_name=name))

    def test_not_for_with(self, make):
        with pytest.raises(NotImplementedError, match='context manager'):
            with make():
                pass

    def test_two_weights_of_one_link(self, make):
        link = chainer.Link(A=(2, 2), B=(2, 2))
        link.A.array[...] = link.B.array[...] = [[3, 0], [0, 1]]
        link.add_hook(make(weight_name='A', name='a')).add_hook(make(weight_name='B', name='b'))
        link.forward = lambda: (link.A, link.B)
        a, b = link()
        assert not isinstance(a, chainer.Parameter) and not isinstance(b, chainer.Parameter)

    def test_copied_link(self, make):
        link = L.Linear(3, 4).add_hook(make())
        x = np.ones((2, 3), np.float32)
        for mode in ('share', 'copy'):
            copy = link.copy(mode)
            with chainer.using_config('train', False):
                np.testing.assert_allclose(copy(x).array, link(x).array, rtol=1e-6)


class TestSpectralNormalization:

    def test_norm_becomes_one(self):
        weight = np.random.RandomState(0).normal(size=(4, 3)).astype(np.float32)
        link = WeightLink(weight).add_hook(link_hooks.SpectralNormalization(50))
        singular = np.linalg.svd(link().array, compute_uv=False)
        np.testing.assert_allclose(
            singular, np.linalg.svd(weight, compute_uv=False) / np.linalg.norm(weight, 2),
            rtol=1e-5)

    def test_gradient(self):
        rng = np.random.RandomState(0)
        weight = rng.normal(size=(4, 3))
        gy = rng.normal(size=(4, 3))
        link = WeightLink(weight).add_hook(link_hooks.SpectralNormalization(100, eps=1e-12))
        link.cleargrads()
        F.sum(link() * gy).backward()
        numeric = np.empty_like(weight)
        for i in np.ndindex(weight.shape):
            values = []
            for delta in (1e-6, -1e-6):
                w = weight.copy()
                w[i] += delta
                values.append((gy * w / np.linalg.norm(w, 2)).sum())
            numeric[i] = (values[0] - values[1]) / 2e-6
        np.testing.assert_allclose(link.W.grad, numeric, rtol=1e-5, atol=1e-6)

    def test_vector_moves_in_training_only(self):
        link = L.Linear(3, 4).add_hook(link_hooks.SpectralNormalization())
        vector, before = link.W_u, link.W_u.copy()
        x = np.ones((2, 3), np.float32)
        with chainer.using_config('train', False):
            link(x)
        np.testing.assert_array_equal(vector, before)
        link(x)
        assert link.W_u is vector and not np.array_equal(vector, before)

    def test_saved_and_deleted(self):
        link = L.Linear(3, 4)
        link.add_hook(link_hooks.SpectralNormalization(use_gamma=True))
        s = chainer.serializers.DictionarySerializer()
        link.serialize(s)
        assert sorted(s.target) == ['W', 'W_u', 'b', 'gamma']
        link.delete_hook('SpectralNormalization')
        s = chainer.serializers.DictionarySerializer()
        link.serialize(s)
        assert sorted(s.target) == ['W', 'b']

    def test_delete_before_the_weight_exists(self):
        link = L.Linear(None, 4)
        link.add_hook(link_hooks.SpectralNormalization(use_gamma=True))
        link.delete_hook('SpectralNormalization')
        assert not hasattr(link, 'W_u')

    def test_gamma_is_trained_and_starts_at_the_norm(self):
        weight = np.diag([3.0, 2.0, 1.0]).astype(np.float16)
        link = WeightLink(weight).add_hook(link_hooks.SpectralNormalization(use_gamma=True))
        assert link.gamma.dtype == np.float16 and link.gamma.array == 3
        assert link().dtype == np.float16

    def test_number_of_iterations(self):
        with pytest.raises(ValueError, match='n_power_iteration must be positive'):
            link_hooks.SpectralNormalization(n_power_iteration=0)


def test_weight_standardization():
    weight = np.random.RandomState(0).normal(2, 3, (4, 3, 2)).astype(np.float32)
    w = WeightLink(weight).add_hook(link_hooks.WeightStandardization(eps=0))().array.reshape(4, 6)
    np.testing.assert_allclose(w.mean(axis=1), 0, atol=1e-6)
    np.testing.assert_allclose(w.std(axis=1), 1, rtol=1e-5)


class TestTimerHook:

    def setup_method(self):
        class Inner(chainer.Link):
            def forward(self, x, fail=False):
                if fail:
                    raise KeyError(x)
                return x

        class Outer(chainer.Chain):
            def __init__(self):
                super().__init__()
                with self.init_scope():
                    self.inner = Inner()

            def forward(self, x, fail=False):
                return self.inner(x) + self.inner(x, fail)

        self.link = Outer()
        self.hook = link_hooks.TimerHook()

    def test_history(self):
        with self.hook:
            self.link(1)
        self.link(2)
        names = [name for name, _ in self.hook.call_history]
        assert names == ['Inner', 'Inner', 'Outer']
        times = [seconds for _, seconds in self.hook.call_history]
        assert all(seconds >= 0 for seconds in times) and times[2] >= times[0] + times[1]
        assert self.hook.total_time() == times[2]
        assert self.hook.summary() == {
            'Inner': {'elapsed_time': times[0] + times[1], 'occurrence': 2},
            'Outer': {'elapsed_time': times[2], 'occurrence': 1}}

    def test_hook_of_one_link(self):
        self.link.inner.add_hook(self.hook)
        self.link(1)
        assert [name for name, _ in self.hook.call_history] == ['Inner', 'Inner']

    def test_calls_that_fail(self):
        with self.hook:
            with pytest.raises(KeyError):
                self.link(1, fail=True)
            self.link(1)
        assert [name for name, _ in self.hook.call_history] == [
            'Inner', 'Inner', 'Inner', 'Outer']

    def test_report(self):
        self.hook.call_history = [('Inner', 0.5), ('Inner', 1.0), ('Outer', 2.25)]
        f = io.StringIO()
        self.hook.print_report(f)
        assert f.getvalue() == (
            'LinkName  ElapsedTime  Occurrence\n'
            '   Inner      1.50sec           2\n'
            '   Outer      2.25sec           1\n')
        by_keyword, as_in_chainer_7 = io.StringIO(), io.StringIO()
        self.hook.print_report(by_keyword, unit='ms')
        self.hook.print_report('ms', as_in_chainer_7)
        assert '1500.00ms' in by_keyword.getvalue()
        assert as_in_chainer_7.getvalue() == by_keyword.getvalue()
        with pytest.raises(ValueError, match='unknown unit'):
            self.hook.print_report(unit='x')
