"""Base classes of optimizers: hyperparameters, hooks, states, loss scaling."""
import copy
import pickle
import warnings

import numpy as np
import pytest

import chainer
from chainer import functions as F
from chainer import optimizer as optimizer_module
from chainer import optimizers


def make_link(dtype=np.float32):
    link = chainer.Link()
    link.add_param('W', initializer=np.array([1, 2, 3], dtype))
    link.add_param('b', initializer=np.array([4], dtype))
    for param in link.params():
        param.grad = np.ones_like(param.array)
    return link


def loss_of(link):
    return lambda: F.sum(link.W * link.W) + F.sum(link.b)


class TestHyperparameter:

    def setup_method(self):
        self.parent = optimizer_module.Hyperparameter()
        self.parent.x = 1
        self.child = optimizer_module.Hyperparameter(self.parent)
        self.child.y = 2

    def test_missing_ones_come_from_the_parent(self):
        assert (self.child.x, self.child.y) == (1, 2)
        self.parent.x = 5
        assert self.child.x == 5
        self.child.x = 7
        assert (self.child.x, self.parent.x) == (7, 5)
        assert self.child.parent is self.parent and self.parent.parent is None

    def test_dict_and_repr(self):
        assert self.child.get_dict() == {'x': 1, 'y': 2}
        assert self.parent.get_dict() == {'x': 1}
        assert repr(self.child) == 'Hyperparameter(x=1, y=2)'

    def test_unknown(self):
        with pytest.raises(AttributeError, match="'zz'"):
            _ = self.child.zz

    @pytest.mark.parametrize('duplicate', [
        copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
    def test_copies(self, duplicate):
        assert duplicate(self.child).get_dict() == {'x': 1, 'y': 2}


def test_proxy():
    optimizer = optimizers.SGD(lr=0.5)
    optimizer.lr = 3
    assert optimizer.hyperparam.lr == 3 and optimizer.lr == 3
    assert isinstance(optimizers.SGD.lr, optimizer_module.HyperparameterProxy)
    assert 'hyperparam.lr' in optimizers.SGD.__dict__['lr'].__doc__


class TestUpdateRule:

    def setup_method(self):
        self.link = make_link()
        self.rule = optimizers.momentum_sgd.MomentumSGDRule(lr=0.5)

    def test_update(self):
        assert self.rule.state is None
        self.rule.update(self.link.W)
        np.testing.assert_array_equal(self.link.W.array, [0.5, 1.5, 2.5])
        assert self.rule.t == 1 and list(self.rule.state) == ['v']

    def test_disabled(self):
        self.rule.enabled = False
        self.rule.update(self.link.W)
        assert self.rule.t == 0 and self.rule.state is None
        np.testing.assert_array_equal(self.link.W.array, [1, 2, 3])

    def test_uninitialized_parameter_only_counts(self):
        self.rule.update(chainer.Parameter(0))
        assert self.rule.t == 1 and self.rule.state is None

    def test_update_core_has_to_be_implemented(self):
        with pytest.raises(NotImplementedError, match='update_core'):
            chainer.UpdateRule().update(self.link.W)

    def test_hooks(self):
        log = []
        self.rule.add_hook(lambda rule, param: log.append(('pre', rule.t, param.array[0])), 'a')
        self.rule.add_hook(
            lambda rule, param: log.append(('post', rule.t, param.array[0])), 'b', timing='post')
        self.rule.update(self.link.W)
        self.rule.remove_hook('a')
        self.rule.update(self.link.W)
        assert [entry[:2] for entry in log] == [('pre', 1), ('post', 1), ('post', 2)]
        assert [entry[2] for entry in log[:2]] == [1.0, 0.5]

    def test_subclass_of_update_core(self):
        class Rule(chainer.UpdateRule):
            def update_core(self, param):
                param.array[...] = 9

        Rule().update(self.link.W)
        np.testing.assert_array_equal(self.link.W.array, [9, 9, 9])

    def test_fp32_update(self):
        param = chainer.Parameter(np.array([1.0], np.float16))
        rule = optimizers.sgd.SGDRule(lr=1e-4)
        rule.use_fp32_update()
        param.grad = np.array([1.0], np.float16)
        for _ in range(100):  # a step of 1e-4 is lost in float16
            rule.update(param)
        assert param.array[0] == np.float16(0.99)
        assert param.dtype == np.float16 and param.grad.dtype == np.float16

    def test_fp32_update_leaves_other_types_alone(self):
        self.rule.use_fp32_update()
        self.rule.update(self.link.W)
        assert self.rule.state['v'].dtype == np.float32
        np.testing.assert_array_equal(self.link.W.array, [0.5, 1.5, 2.5])


@pytest.mark.parametrize('make', [
    lambda: optimizers.SGD().setup(make_link()), chainer.UpdateRule])
class TestHookErrors:

    def test_names(self, make):
        target = make()
        target.add_hook(np.abs, 'x')
        with pytest.raises(KeyError, match='hook "x" already exists'):
            target.add_hook(np.abs, 'x', timing='post')
        with pytest.raises(KeyError):
            target.remove_hook('zz')

        class Nameless:
            def __call__(self, *args):
                pass

        with pytest.raises(ValueError, match='name of the hook function is not specified'):
            target.add_hook(Nameless())

    def test_type(self, make):
        with pytest.raises(TypeError, match='must be callable'):
            make().add_hook(3)

    def test_timing(self, make):
        with pytest.raises(ValueError, match='timing must be one of'):
            make().add_hook(np.abs, 'x', timing='x')
        hook = chainer.optimizer_hooks.WeightDecay(0.1)
        hook.timing = 'bad'
        with pytest.warns(UserWarning, match="'bad'"):
            make().add_hook(hook)


class TestOptimizer:

    def test_needs_setup(self):
        optimizer = optimizers.SGD()
        for use in (lambda: optimizer.add_hook(np.abs, 'x'), lambda: optimizer.remove_hook('x'),
                    lambda: optimizer.call_hooks(), optimizer.update,
                    lambda: optimizer.serialize(chainer.serializers.DictionarySerializer())):
            with pytest.raises(RuntimeError, match='not set up'):
                use()

    def test_target_must_be_a_link(self):
        with pytest.raises(TypeError, match='must be a link'):
            optimizers.SGD().setup(3)

    def test_setup_returns_self_and_starts_anew(self):
        optimizer = optimizers.SGD()
        link = make_link()
        assert optimizer.setup(link) is optimizer
        optimizer.add_hook(np.abs, 'x', timing='post')
        optimizer.remove_hook('x')
        optimizer.update()
        optimizer.new_epoch()
        assert (optimizer.t, optimizer.epoch, link.W.update_rule.t) == (1, 1, 1)
        optimizer.setup(link)
        assert (optimizer.t, optimizer.epoch, link.W.update_rule.t) == (0, 0, 0)

    def test_order_of_hooks(self):
        link = make_link()
        optimizer = optimizers.SGD().setup(link)
        log = []

        def each(rule, param):
            log.append((param.name, rule.t))
        each.call_for_each_param = True

        optimizer.add_hook(lambda opt: log.append(('b', opt.t)), 'b')
        optimizer.add_hook(lambda opt: log.append(('a', opt.t)), 'a')
        optimizer.add_hook(lambda opt: log.append(('post', opt.t)), 'post', timing='post')
        optimizer.add_hook(each)
        link.W.update_rule.add_hook(lambda rule, param: log.append(('rule', rule.t)), 'rule')
        optimizer.update()
        assert log == [('b', 0), ('a', 0), ('W', 0), ('b', 0), ('rule', 1), ('post', 1)]

    def test_call_hooks_checks_timing(self):
        with pytest.raises(ValueError, match="'pre' or 'post'"):
            optimizers.SGD().setup(make_link()).call_hooks('auto')

    def test_new_epoch(self):
        optimizer = optimizers.SGD().setup(make_link())
        optimizer.new_epoch()
        with pytest.raises(RuntimeError, match='use_auto_new_epoch = True'):
            optimizer.new_epoch(auto=True)
        optimizer.use_auto_new_epoch = True
        with pytest.raises(RuntimeError, match='duplicated new_epoch'):
            optimizer.new_epoch()
        optimizer.new_epoch(auto=True)
        assert optimizer.epoch == 2

    def test_hooks_of_one_that_is_no_gradient_method(self):
        class Own(chainer.Optimizer):
            def update(self, lossfun, *args):
                self.target.cleargrads()
                lossfun(*args).backward()
                self.call_hooks()
                self.t += 1

        optimizer = Own().setup(make_link())
        optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(.5))
        link = optimizer.target
        before = link.W.array.copy()
        optimizer.update(lambda: F.sum(link.W))
        np.testing.assert_array_equal(link.W.grad, 1 + np.float32(.5) * before)
        assert optimizer.t == 1

    def test_abstract(self):
        with pytest.raises(NotImplementedError):
            chainer.Optimizer().update()
        with pytest.raises(NotImplementedError):
            chainer.GradientMethod().create_update_rule()


class TestGradientMethod:

    def test_update_with_a_loss_function(self):
        link = make_link()
        optimizer = optimizers.SGD(lr=0.5).setup(link)
        optimizer.update(loss_of(link))
        np.testing.assert_array_equal(link.W.array, [0, 0, 0])
        np.testing.assert_array_equal(link.b.array, [3.5])

    def test_arguments_of_the_loss_function(self):
        link = make_link()
        optimizers.SGD(lr=1).setup(link).update(
            lambda factor, *, plus: F.sum(link.W * factor) + plus, 2., plus=1.)
        np.testing.assert_array_equal(link.W.array, [-1, 0, 1])

    def test_missing_gradients_become_zero(self):
        link = make_link()
        link.W.grad = None
        optimizers.SGD(lr=1).setup(link).update()
        np.testing.assert_array_equal(link.W.array, [1, 2, 3])
        np.testing.assert_array_equal(link.W.grad, [0, 0, 0])

    def test_uninitialized_parameter(self):
        link = make_link()
        link.add_param('late')
        optimizer = optimizers.MomentumSGD(lr=1).setup(link)
        optimizer.update()
        assert link.late.update_rule.state is None
        link.late.initialize((2,))
        link.cleargrads()
        link.late.grad = np.ones(2, np.float32)
        optimizer.update()
        assert link.late.update_rule.state['v'].shape == (2,)

    def test_use_cleargrads(self):
        link = make_link()
        optimizer = optimizers.SGD().setup(link)
        with pytest.warns(DeprecationWarning):
            optimizer.use_cleargrads(False)
        with warnings.catch_warnings():
            warnings.simplefilter('ignore', DeprecationWarning)
            optimizer.update(loss_of(link))
        np.testing.assert_array_equal(link.W.grad, [2, 4, 6])

    def test_use_fp32_update(self):
        for order in ('before', 'after'):
            link = make_link(np.float16)
            optimizer = optimizers.MomentumSGD()
            if order == 'before':
                optimizer.use_fp32_update()
            optimizer.setup(link)
            if order == 'after':
                optimizer.use_fp32_update()
            optimizer.update()
            assert link.W.update_rule.state['v'].dtype == np.float32
            assert link.W.dtype == np.float16


class TestLossScaling:

    @pytest.mark.parametrize('fp32', [False, True])
    def test_static_scale_changes_nothing_but_the_gradients_on_the_way(self, fp32):
        arrays = []
        for scale in (None, 8.0):
            link = make_link(np.float16)
            optimizer = optimizers.SGD(lr=0.25).setup(link)
            optimizer.use_fp32_update(fp32)
            if scale is not None:
                optimizer.set_loss_scale(scale)
            seen = []
            optimizer.add_hook(lambda opt: seen.append(link.W.grad.copy()), 'spy')  # noqa: B023
            optimizer.update(loss_of(link))
            np.testing.assert_array_equal(seen[0], np.array([2, 4, 6]) * (scale or 1))
            arrays.append(link.W.array)
        np.testing.assert_array_equal(*arrays)

    def test_scale_is_divided_out_once(self):
        link = make_link()
        optimizer = optimizers.SGD(lr=1).setup(link)
        optimizer.set_loss_scale(10.0)
        optimizer.update(loss_of(link))
        np.testing.assert_array_equal(link.W.grad, [2, 4, 6])
        optimizer.update()  # with the same gradients
        np.testing.assert_array_equal(link.W.grad, [2, 4, 6])

    def test_small_gradients_survive_in_float16(self):
        def step(scale):
            link = chainer.Link()
            link.add_param('x', initializer=np.zeros(1, np.float16))
            optimizer = optimizers.SGD(lr=2.0 ** 20).setup(link)
            optimizer.use_fp32_update()
            if scale is not None:
                optimizer.set_loss_scale(scale)
            small = np.float16(2.0 ** -13)
            optimizer.update(lambda: F.sum(link.x * small * small))
            return float(link.x.array[0])

        assert step(None) == 0
        assert step(2.0 ** 10) == -(2.0 ** -6)

    def test_dynamic(self):
        link = make_link()
        optimizer = optimizers.SGD(lr=0.5).setup(link)
        optimizer.loss_scaling(interval=2)
        scales = []
        for step in range(6):
            factor = np.inf if step == 3 else 1.0
            before = link.W.array.copy()
            if step == 3:
                with pytest.warns(UserWarning, match=r'Non finite .* of /W .*loss_scale: 8'):
                    optimizer.update(lambda: F.sum(link.W) * np.float32(np.inf))
                np.testing.assert_array_equal(link.W.array, before)
            else:
                optimizer.update(lambda: F.sum(link.W) * np.float32(1))
                np.testing.assert_array_equal(link.W.array, before - 0.5 * factor)
            scales.append(optimizer._loss_scale)
        np.testing.assert_allclose(scales, [2, 4, 8, 4, 4 * 2 ** 0.5, 8])
        assert optimizer.t == 6 and link.W.update_rule.t == 5

    def test_a_fixed_scale_updates_by_what_is_not_finite(self):
        """As in the original: it is the dynamic one that leaves updates out."""
        link = make_link()
        optimizer = optimizers.SGD(lr=0.5).setup(link)
        optimizer.loss_scaling()
        with pytest.warns(UserWarning, match='Non finite'):
            optimizer.update(lambda: F.sum(link.W) * np.float32(np.inf))
        assert np.isfinite(link.W.array).all()
        optimizer.set_loss_scale(16.0)
        optimizer.update(lambda: F.sum(link.W) * np.float32(np.inf))
        assert (link.W.array == -np.inf).all()

    def test_dynamic_scale_has_bounds(self):
        link = make_link()
        optimizer = optimizers.SGD(lr=0).setup(link)
        optimizer.loss_scaling()
        for _ in range(20):
            optimizer.update()
        assert optimizer._loss_scale == 65504
        optimizer.loss_scaling()
        link.W.grad = np.full(3, np.nan, np.float32)
        with pytest.warns(UserWarning, match='Non finite'):
            optimizer.update()
        assert optimizer._loss_scale == 1

    def test_errors(self):
        optimizer = optimizers.SGD().setup(make_link())
        with pytest.raises(ValueError, match='interval'):
            optimizer.loss_scaling(interval=0)
        with pytest.raises(ValueError, match='positive'):
            optimizer.set_loss_scale(-1)

    def test_scale_after_dynamic_is_static(self):
        optimizer = optimizers.SGD().setup(make_link())
        optimizer.loss_scaling()
        optimizer.set_loss_scale(4.0)
        optimizer.update()
        assert optimizer._loss_scale == 4.0


class TestSerialize:

    def saved(self, optimizer):
        serializer = chainer.serializers.DictionarySerializer()
        serializer.save(optimizer)
        return serializer.target

    def load(self, optimizer, target):
        chainer.serializers.NpzDeserializer(target).load(optimizer)

    def test_names(self):
        optimizer = optimizers.Adam(amsgrad=True).setup(make_link())
        assert sorted(self.saved(optimizer)) == ['W/t', 'b/t', 'epoch', 't']
        optimizer.update()
        assert sorted(self.saved(optimizer)) == [
            'W/m', 'W/t', 'W/v', 'W/vhat', 'b/m', 'b/t', 'b/v', 'b/vhat', 'epoch', 't']

    @pytest.mark.parametrize('name', optimizers.__all__)
    def test_training_goes_on_as_if_it_had_not_stopped(self, name):
        def train(optimizer, steps, seed):
            rng = np.random.RandomState(seed)
            for _ in range(steps):
                for param in optimizer.target.params():
                    param.grad = rng.normal(size=param.shape).astype(np.float32)
                optimizer.update()

        first = getattr(optimizers, name)().setup(make_link())
        train(first, 3, 0)
        second = getattr(optimizers, name)().setup(make_link())
        second.target.copyparams(first.target)
        self.load(second, self.saved(first))
        train(first, 3, 1)
        train(second, 3, 1)
        assert second.t == 6 and second.target.W.update_rule.t == 6
        np.testing.assert_array_equal(second.target.W.array, first.target.W.array)

    def test_loaded_states_are_copies(self):
        optimizer = optimizers.MomentumSGD().setup(make_link())
        optimizer.update()
        target = self.saved(optimizer)
        other = optimizers.MomentumSGD().setup(make_link())
        self.load(other, target)
        assert other.target.W.update_rule.state['v'] is not target['W/v']

    def test_missing_state(self):
        optimizer = optimizers.MomentumSGD().setup(make_link())
        optimizer.update()
        target = self.saved(optimizer)
        del target['W/v']
        other = optimizers.MomentumSGD().setup(make_link())
        with pytest.raises(KeyError, match='W/v'):
            self.load(other, target)
        assert other.target.W.update_rule.state is None
        other.target.disable_update()
        self.load(other, target)
        assert other.target.W.update_rule.state is None

    def test_snapshot_of_before_the_first_update(self):
        target = self.saved(optimizers.MomentumSGD().setup(make_link()))
        trained = optimizers.MomentumSGD().setup(make_link())
        trained.update()
        self.load(trained, target)
        assert trained.t == 0 and trained.target.W.update_rule.state is None

    def test_uninitialized_parameter_has_no_state(self):
        def make():
            link = make_link()
            link.add_param('late')
            return optimizers.MomentumSGD().setup(link)

        optimizer = make()
        optimizer.update()
        target = self.saved(optimizer)
        assert 'late/t' in target and 'late/v' not in target
        other = make()
        self.load(other, target)
        assert other.target.late.update_rule.t == 1
        assert other.target.W.update_rule.state is not None


@pytest.mark.parametrize('name, args', [
    ('WeightDecay', (0.1,)), ('Lasso', (0.1,)), ('GradientClipping', (0.1,)),
    ('GradientHardClipping', (-1, 1)), ('GradientNoise', (0.1,))])
def test_old_names_of_hooks(name, args):
    new = getattr(chainer.optimizer_hooks, name)
    with pytest.warns(DeprecationWarning, match=f'Use chainer.optimizer_hooks.{name}'):
        hook = getattr(optimizer_module, name)(*args)
    assert isinstance(hook, new) and hook.name == name
    assert vars(hook) == vars(new(*args))
    pickle.loads(pickle.dumps(hook))


@pytest.mark.parametrize('timing', ['pre', 'post'])
def test_cleared_gradients_are_zeros_for_the_next_hook(timing):
    # As in 5.4 and 7.8.1.
    link = chainer.links.Linear(1, 1, nobias=True)
    optimizer = chainer.optimizers.SGD().setup(link)
    seen = []
    optimizer.add_hook(lambda opt: opt.target.cleargrads(), 'clear', timing=timing)
    optimizer.add_hook(lambda opt: seen.append(link.W.grad.tolist()), 'see', timing=timing)
    link.W.grad = np.ones((1, 1), 'f')
    optimizer.update()
    assert seen == [[[0]]] and link.W.grad.tolist() == [[0]]
