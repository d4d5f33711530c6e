"""Link, Chain and ChainList."""
import copy
import operator
import pickle
import warnings

import numpy as np
import pytest

import chainer
from chainer import initializers


def normal(*shape):
    return chainer.Parameter(initializers.Normal(1.0), shape or None)


class Leaf(chainer.Link):
    def __init__(self, n=2):
        super().__init__()
        with self.init_scope():
            self.W = normal(n)
            self.b = chainer.Parameter(0, (n,))

    def forward(self, x):
        return x * self.W + self.b


class Tree(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.right = Leaf(3)
            self.left = Leaf(2)
            self.own = normal(4)
            self.lazy = normal()
        self.other = [1, 2]
        self.add_persistent('mean', np.zeros(2))
        self.add_persistent('none', None)

    def forward(self, x):
        return self.left(x)


def paths(link, **kwargs):
    return [path for path, _ in link.namedparams(**kwargs)]


class TestParameters:

    def test_keywords(self):
        link = chainer.Link(b=(2, 3), a=2, c=((3,), np.float64), d=None, e=(2, 'f2'), f=(), g=[2])
        assert [param.name for param in link.params()] == list('abcdefg')
        assert link.b.shape == (2, 3) and link.b.dtype == np.float32
        assert link.a.shape == (2,) and np.isnan(link.a.array).all()
        assert link.c.shape == (3,) and link.c.dtype == np.float64
        assert link.d.array is None
        assert link.e.shape == (2,) and link.e.dtype == np.float16
        assert link.f.shape == () and link.g.shape == (2,)

    @pytest.mark.parametrize('value', ['a', 3.4, (None,), ((2,), 'f', 'g'), (2.5, 3)])
    def test_bad_shape(self, value):
        with pytest.raises(TypeError, match='parameter x needs a shape'):
            chainer.Link(x=value)

    def test_init_scope(self):
        link = chainer.Link()
        assert not link.within_init_scope
        with link.init_scope():
            assert link.within_init_scope
            with link.init_scope():
                link.W = normal(2)
            assert link.within_init_scope
            link.x = 3
            link.v = chainer.Variable(np.zeros(2))
        link.outside = normal(2)
        assert not link.within_init_scope
        assert paths(link) == ['/W'] and link.W.name == 'W' and link.outside.name is None

    def test_init_scope_ends_with_an_exception(self):
        link = chainer.Link()
        with pytest.raises(KeyError):
            with link.init_scope():
                raise KeyError
        assert not link.within_init_scope

    def test_assigned_again(self):
        link = chainer.Link(W=2)
        with link.init_scope():
            link.W = chainer.Parameter(5, (3,))
        assert link.W.shape == (3,) and paths(link) == ['/W']

    def test_add_param(self):
        link = chainer.Link()
        link.add_param('a', (2,), np.float64)
        link.add_param('b')
        link.add_param('c', (3,), initializer=np.arange(3))
        link.add_param('d', 2, initializer=7)
        link.add_param('e', initializer=np.arange(2.0))
        assert link.a.dtype == np.float64 and np.isnan(link.a.array).all()
        assert link.b.array is None
        np.testing.assert_array_equal(link.c.array, [0, 1, 2])
        np.testing.assert_array_equal(link.d.array, [7, 7])
        np.testing.assert_array_equal(link.e.array, [0, 1])
        with pytest.raises(AttributeError, match='new parameter a: attribute exists'):
            link.add_param('a', 2)

    def test_include_uninit(self):
        tree = Tree()
        everything = ['/lazy', '/own', '/left/W', '/left/b', '/right/W', '/right/b']
        assert paths(tree) == everything
        assert paths(tree, include_uninit=False) == everything[1:]
        assert [id(param) for param in tree.params(False)] == [
            id(param) for _, param in tree.namedparams(False)]

    def test_delete(self):
        link = Leaf()
        del link.W
        assert paths(link) == ['/b'] and not hasattr(link, 'W')
        with pytest.raises(AttributeError):
            del link.W

    def test_shared_parameter_is_found_twice(self):
        link = Leaf()
        with link.init_scope():
            link.V = link.W
        assert paths(link) == ['/V', '/W', '/b']

    def test_count_params(self):
        assert Leaf(3).count_params() == 6
        with pytest.warns(UserWarning, match="'/lazy' has not been initialized"):
            assert Tree().count_params() == 14


class TestPersistent:

    def test_add(self):
        link = Leaf()
        link.add_persistent('x', 3)
        link.x = 4
        assert link._persistent == {'x'}
        with pytest.raises(AttributeError, match='new persistent value x: attribute exists'):
            link.add_persistent('x', 3)
        with pytest.raises(AttributeError, match='attribute exists'):
            link.add_persistent('W', 3)
        del link.x
        assert link._persistent == set()

    def test_register(self):
        link = Leaf()
        link.x = 3
        link.register_persistent('x')
        link.register_persistent('W')
        assert link._persistent == {'W', 'x'} and paths(link) == ['/b']
        with pytest.raises(AttributeError, match='non-existent attribute zz'):
            link.register_persistent('zz')

    def test_parameter_instead_of_a_persistent_value(self):
        link = chainer.Link()
        link.add_persistent('x', 3)
        with link.init_scope():
            link.x = normal(2)
        assert link._persistent == set() and paths(link) == ['/x']


class TestCall:

    def test_forward(self):
        link = Leaf()
        link.W.array[...] = 2
        np.testing.assert_array_equal(link(np.ones(2, np.float32)).array, [2, 2])

    def test_arguments(self):
        link = chainer.Link()
        link.forward = lambda *args, **kwargs: (args, kwargs)
        assert link(1, 2, x=3) == ((1, 2), {'x': 3})

    def test_no_forward(self):
        with pytest.raises(AttributeError, match="'Chain' object has no attribute 'forward'"):
            chainer.Chain()()

    def test_call_of_a_mixin(self):
        class Mixin:
            def __call__(self, x):
                return 'mixin', x

        class Both(chainer.Link, Mixin):
            pass

        assert Both()(3) == ('mixin', 3)

    def test_own_call(self):
        class Old(chainer.Chain):  # as before Chainer 5
            def __call__(self, x):
                return x + 1

        assert Old()(3) == 4

    @pytest.mark.parametrize('base', [chainer.Link, chainer.Chain, chainer.ChainList])
    def test_missing_super_init(self, base):
        class Forgetful(base):
            def __init__(self):
                pass

            def forward(self):
                return 3

        with pytest.raises(RuntimeError, match=r'Link.__init__\(\) has not been called.*Forget'):
            Forgetful()()
        with pytest.raises(RuntimeError, match=r'Link.__init__\(\) has not been called'):
            with Forgetful().init_scope():
                pass


class Log(chainer.LinkHook):
    def __init__(self, name, log):
        self.name = name
        self.log = log

    def added(self, link):
        self.log.append((self.name, 'added', link))

    def deleted(self, link):
        self.log.append((self.name, 'deleted', link))

    def forward_preprocess(self, args):
        assert args.forward_name == 'forward' and not hasattr(args, 'out')
        self.log.append((self.name, 'pre', args.link, args.args, args.kwargs))

    def forward_postprocess(self, args):
        self.log.append((self.name, 'post', args.link, args.out))


class TestHooks:

    def setup_method(self):
        class Twice(chainer.Link):
            def forward(self, x, fail=False):
                if fail:
                    raise KeyError(x)
                return 2 * x

        self.link = Twice()
        self.log = []

    def test_order(self):
        link, log = self.link, self.log
        assert link.add_hook(Log('a', log)) is link
        link.add_hook(Log('b', log))
        with Log('c', log), Log('d', log):
            link(3, fail=False)
        assert log[:2] == [('a', 'added', link), ('b', 'added', link)]
        assert log[2:4] == [('c', 'added', None), ('d', 'added', None)]
        assert log[4:8] == [(name, 'pre', link, (3,), {'fail': False}) for name in 'cdab']
        assert log[8:12] == [(name, 'post', link, 6) for name in 'cdab']
        assert log[12:] == [('d', 'deleted', None), ('c', 'deleted', None)]
        assert not chainer._get_link_hooks()

    def test_delete(self):
        self.link.add_hook(Log('a', self.log))
        self.link.delete_hook('a')
        self.link(3)
        assert [entry[1] for entry in self.log] == ['added', 'deleted']
        assert self.link.local_link_hooks == {}
        with pytest.raises(KeyError, match='Hook a does not exist'):
            self.link.delete_hook('a')

    def test_names(self):
        self.link.add_hook(Log('a', self.log))
        with pytest.raises(KeyError, match='Hook a already exists'):
            self.link.add_hook(Log('a', self.log))
        self.link.add_hook(Log('a', self.log), name='z')
        assert list(self.link.local_link_hooks) == ['a', 'z']
        with Log('g', self.log):
            with pytest.raises(KeyError, match='hook g already exists'):
                with Log('g', self.log):
                    pass
        with pytest.raises(TypeError, match='must be of type LinkHook'):
            self.link.add_hook(3)

    def test_exception_in_forward(self):
        with Log('g', self.log):
            with pytest.raises(KeyError):
                self.link(3, fail=True)
        assert [entry[1] for entry in self.log] == ['added', 'pre', 'deleted']

    def test_hooks_of_other_threads_are_not_called(self):
        import threading
        with Log('g', self.log):
            thread = threading.Thread(target=self.link, args=(3,))
            thread.start()
            thread.join()
        assert [entry[1] for entry in self.log] == ['added', 'deleted']

    def test_copies_have_hooks_of_their_own(self):
        self.link.add_hook(Log('a', self.log))
        for mode in ('share', 'copy'):
            other = self.link.copy(mode)
            other.delete_hook('a')
            assert list(self.link.local_link_hooks) == ['a']

    def test_repr_of_arguments(self):
        seen = []

        class Repr(chainer.LinkHook):
            def forward_postprocess(self, args):
                seen.append(repr(args))

        with Repr():
            self.link(3)
        assert 'args=(3,)' in seen[0] and 'out=6' in seen[0]


class TestCopy:

    def setup_method(self):
        self.tree = Tree()
        self.tree.name = 'tree'
        for param in self.tree.params(False):
            param.grad = np.ones_like(param.array)

    def test_share(self):
        other = self.tree.copy()
        assert other.name is None and other.left.name == 'left'
        assert other.left is not self.tree.left
        for (path, theirs), (_, ours) in zip(
                other.namedparams(False), self.tree.namedparams(False), strict=True):
            assert theirs is not ours and theirs.array is ours.array, path
            assert theirs.grad is None and ours.grad is not None, path
        assert other.mean is self.tree.mean and other.other is self.tree.other
        del other.left.W
        assert '/left/W' in paths(self.tree)

    def test_shared_array_stays_shared_in_updates(self):
        other = self.tree.copy('share')
        chainer.optimizers.SGD(lr=1).setup(self.tree).update()
        np.testing.assert_array_equal(other.left.W.array, self.tree.left.W.array)

    def test_copy(self):
        other = self.tree.copy('copy')
        assert other.name is None and other.left.name == 'left'
        for (path, theirs), (_, ours) in zip(
                other.namedparams(False), self.tree.namedparams(False), strict=True):
            assert theirs.array is not ours.array, path
            np.testing.assert_array_equal(theirs.array, ours.array)
        assert other.mean is not self.tree.mean and other.other is not self.tree.other
        assert other.lazy.array is None

    def test_init_draws_each_parameter_once_in_order(self):
        np.random.seed(0)
        other = self.tree.copy('init')
        np.random.seed(0)
        for path in ('own', 'left', 'right'):
            param = getattr(other, path)
            param = param if path == 'own' else param.W
            np.testing.assert_array_equal(
                param.array, np.random.normal(size=param.shape).astype(np.float32))
        np.testing.assert_array_equal(other.left.b.array, [0, 0])
        assert other.lazy.array is None
        assert not np.array_equal(other.own.array, self.tree.own.array)

    def test_init_keeps_parameters_that_were_given(self):
        link = chainer.Link()
        with link.init_scope():
            link.W = chainer.Parameter(np.arange(3.0))
        np.testing.assert_array_equal(link.copy('init').W.array, [0, 1, 2])

    def test_init_of_a_shared_parameter(self):
        link = Leaf()
        with link.init_scope():
            link.V = link.W
        np.random.seed(0)
        other = link.copy('init')
        assert other.V is other.W
        expected = np.random.RandomState(0).normal(size=2).astype(np.float32)
        np.testing.assert_array_equal(other.W.array, expected)

    @pytest.mark.parametrize('make', [Leaf, Tree, lambda: chainer.ChainList(Leaf())])
    def test_bad_mode(self, make):
        with pytest.raises(ValueError, match="'init','copy', or 'share'.*zz"):
            make().copy('zz')
        with pytest.raises(ValueError, match="'init','copy', or 'share'.*zz"):
            make().repeat(2, 'zz')

    def test_update_rules(self):
        chainer.optimizers.SGD().setup(self.tree)
        rule = self.tree.own.update_rule
        assert self.tree.copy('share').own.update_rule is rule
        assert self.tree.copy('copy').own.update_rule is not rule

    @pytest.mark.parametrize('duplicate', [
        copy.deepcopy, lambda link: pickle.loads(pickle.dumps(link))])
    def test_deepcopy_and_pickle(self, duplicate):
        other = duplicate(self.tree)
        assert paths(other) == paths(self.tree) and other.name == 'tree'
        np.testing.assert_array_equal(other.left.W.array, self.tree.left.W.array)
        assert other.left.W.array is not self.tree.left.W.array
        assert other.left.W.name == 'W' and other.left.name == 'left'

    def test_repeat(self):
        for mode in ('init', 'copy', 'share'):
            repeated = self.tree.left.repeat(3, mode)
            assert type(repeated) is chainer.Sequential and len(repeated) == 3
            assert sorted(link.name for link in repeated) == ['0', '1', '2']
            arrays = [link.W.array for link in repeated]
            same = [array is self.tree.left.W.array for array in arrays]
            assert same == [mode == 'share'] * 3
            equal = np.array_equal(arrays[0], arrays[1])
            assert equal == (mode != 'init')
        assert self.tree.left.name == 'left'
        assert len(self.tree.left.repeat(0)) == len(self.tree.left.repeat(-1)) == 0
        with pytest.raises(TypeError):
            self.tree.left.repeat(2.5)


class TestGradsAndParams:

    def test_cleargrads(self):
        tree = Tree()
        tree.own.grad = np.ones(4, np.float32)
        tree.cleargrads()
        assert [param.grad for param in tree.params(False)] == [None] * 5
        tree.lazy.initialize((2,))
        assert tree.lazy.grad is None

    def test_zerograds(self):
        tree = Tree()
        with pytest.warns(DeprecationWarning, match='cleargrads'):
            tree.zerograds()
        for param in tree.params(False):
            np.testing.assert_array_equal(param.grad, np.zeros_like(param.array))

    @pytest.mark.parametrize('make', [
        Tree, lambda: chainer.ChainList(Leaf(2), Leaf(3)), lambda: Leaf(2)])
    def test_addgrads(self, make):
        a, b = make(), make()
        for link, value in [(a, 1), (b, 2)]:
            link.cleargrads()
            for param in link.params(False):
                param.grad = np.full_like(param.array, value)
        next(b.params(False)).grad = None
        a.addgrads(b)
        values = [param.grad.ravel()[0] for param in a.params(False)]
        assert values == [1] + [3] * (len(values) - 1)

    @pytest.mark.parametrize('make', [
        Tree, lambda: chainer.ChainList(Leaf(2), Leaf(3)), lambda: Leaf(2)])
    def test_copyparams(self, make):
        a, b = make(), make()
        arrays = [param.array for param in a.params(False)]
        a.copyparams(b)
        for ours, array, theirs in zip(
                a.params(False), arrays, b.params(False), strict=True):
            assert ours.array is array and array is not theirs.array
            np.testing.assert_array_equal(array, theirs.array)

    def test_copyparams_of_persistent_values(self):
        a, b = Tree(), Tree()
        b.mean[:] = 5
        b.none = [3]
        mean = a.mean
        a.copyparams(b, copy_persistent=False)
        np.testing.assert_array_equal(a.mean, [0, 0])
        assert a.none is None
        a.copyparams(b)
        assert a.mean is mean and a.none == [3] and a.none is not b.none
        np.testing.assert_array_equal(a.mean, [5, 5])

    def test_copyparams_of_lazy_parameters(self):
        a, b = Tree(), Tree()
        b.lazy.initialize((3,))
        a.copyparams(b)
        np.testing.assert_array_equal(a.lazy.array, b.lazy.array)

    def test_copyparams_errors(self):
        with pytest.raises(AttributeError, match='cannot copy parameter W'):
            Leaf().copyparams(chainer.Link(b=2))
        with pytest.raises(ValueError):
            Leaf(2).copyparams(Leaf(3))
        with pytest.raises(KeyError):
            chainer.Chain(a=Leaf()).copyparams(chainer.Chain(b=Leaf()))
        with pytest.raises(IndexError):
            chainer.ChainList(Leaf()).copyparams(chainer.ChainList())

    def test_update_enabled(self):
        tree = Tree()
        assert not tree.update_enabled
        tree.disable_update()  # without rules there is nothing to do
        chainer.optimizers.SGD(lr=1).setup(tree)
        assert tree.update_enabled
        tree.disable_update()
        assert not tree.update_enabled
        tree.left.enable_update()
        assert tree.update_enabled and not tree.right.update_enabled

    def test_disabled_parameters_are_not_updated(self):
        tree = Tree()
        optimizer = chainer.optimizers.SGD(lr=1).setup(tree)
        tree.left.disable_update()
        before = [param.array.copy() for param in tree.params(False)]
        for param in tree.params(False):
            param.grad = np.ones_like(param.array)
        optimizer.update()
        changed = [not np.array_equal(param.array, old)
                   for param, old in zip(tree.params(False), before, strict=True)]
        assert changed == [True, False, False, True, True]


class TestDevices:

    def test_cpu(self):
        tree = Tree()
        assert tree.xp is np and tree.device == chainer.get_device('@numpy')
        arrays = [param.array for param in tree.params(False)]
        for move in (tree.to_cpu, tree.from_chx, lambda: tree.to_device('@numpy'),
                     lambda: tree.to_device(-1)):
            assert move() is tree
        assert all(param.array is array
                   for param, array in zip(tree.params(False), arrays, strict=True))
        with pytest.warns(DeprecationWarning, match='_device_id'):
            assert tree._device_id is None

    @pytest.mark.skipif(chainer.backends.cuda.available, reason='there is a GPU')
    def test_no_gpu(self):
        for move in (lambda link: link.to_gpu(), lambda link: link.to_gpu(0),
                     lambda link: link.to_device('@cupy:0')):
            with pytest.raises(RuntimeError, match='CUDA'):
                move(Tree())

    def test_what_is_gone(self):
        with pytest.raises(RuntimeError, match='iDeep is not available'):
            Tree().to_intel64()
        with pytest.raises(RuntimeError, match='ChainerX is not available'):
            Tree().to_chx()

    def test_another_device(self):
        class Elsewhere(chainer.backend.Device):
            name = '@elsewhere'
            xp = np

            def is_array_supported(self, array):
                return False

            def send_array(self, array):
                return array + 1

        device = Elsewhere()
        tree = Tree()
        before = tree.left.b.array
        tree.to_device(device)
        assert {link.device for link in tree.links()} == {device}
        np.testing.assert_array_equal(tree.left.b.array, before + 1)
        np.testing.assert_array_equal(tree.mean, [1, 1])
        assert tree.lazy.array is None

    def test_visitor(self):
        seen = []

        class Visitor(chainer.device_resident.DeviceResidentsVisitor):
            def visit_device_resident(self, device_resident):
                seen.append(type(device_resident).__name__)

            def visit_array(self, arr):
                return arr + 1

            def visit_variable(self, param):
                seen.append(param.name)

        tree = Tree()
        tree.device_resident_accept(Visitor())
        assert sorted(seen) == sorted(
            ['Tree', 'own', 'lazy', 'Leaf', 'W', 'b', 'Leaf', 'W', 'b'])
        np.testing.assert_array_equal(tree.mean, [1, 1])

    def test_overridden_methods_of_descendants_are_called(self):
        calls = []

        class Old(chainer.Chain):
            def to_cpu(self):
                calls.append('old')
                return super().to_cpu()

        tree = chainer.Chain(a=Old(b=Leaf()), c=chainer.ChainList(Old()))
        tree.to_cpu()
        assert calls == ['old', 'old']
        tree.a.to_cpu()
        assert calls == ['old'] * 3
        tree.to_device('@numpy')
        assert calls == ['old'] * 5


class TestChain:

    def test_children(self):
        tree = Tree()
        assert [link.name for link in tree.children()] == ['left', 'right']
        assert list(tree.links()) == [tree, tree.left, tree.right]
        assert list(tree.links(skipself=True)) == [tree.left, tree.right]
        outer = chainer.Chain(tree=tree, leaf=Leaf())
        named = dict(outer.namedlinks())
        assert list(named) == ['/', '/leaf', '/tree', '/tree/left', '/tree/right']
        assert named['/tree/right'] is tree.right
        assert list(dict(outer.namedlinks(skipself=True))) == list(named)[1:]
        assert list(chainer.Link().children()) == []

    def test_getitem(self):
        tree = Tree()
        assert tree['left'] is tree.left
        with pytest.raises(AttributeError):
            tree['zz']

    def test_names_in_use(self):
        chain = chainer.Chain(a=Leaf())
        chain.x = 3
        for name in ('a', 'x', 'copy'):
            with pytest.raises(AttributeError, match=f'new link {name}: attribute exists'):
                chain.add_link(name, Leaf())
            with pytest.raises(AttributeError, match=f'new link {name}: attribute exists'):
                with chain.init_scope():
                    setattr(chain, name, Leaf())

    def test_bad_children(self):
        for make in (lambda: chainer.Chain(a=3), lambda: chainer.Chain().add_link('a', 3),
                     lambda: chainer.ChainList(3), lambda: chainer.ChainList().append(3)):
            with pytest.raises(TypeError, match='non-link object'):
                make()
        with pytest.raises(TypeError, match='name of a child must be a string'):
            chainer.Chain().add_link(3, Leaf())

    def test_delete(self):
        tree = Tree()
        del tree.left
        assert [link.name for link in tree.children()] == ['right']

    def test_replaced_outside_of_the_scope(self):
        tree = Tree()
        leaf = tree.left = Leaf(7)
        assert next(tree.children()) is leaf

    def test_no_registration_outside_of_the_scope(self):
        tree = Tree()
        tree.extra = Leaf()
        assert [link.name for link in tree.children()] == ['left', 'right']

    def test_str(self):
        class Spec(chainer.Link):
            @property
            def printable_specs(self):
                yield 'size', 3
                yield 'mode', 'x'

        inner = chainer.Chain(b=Spec(), a=chainer.Link())
        chain = chainer.ChainList(inner, chainer.Chain(), chainer.Sequential(np.abs, np.sin))
        assert str(chain) == '''\
ChainList(
  (0): Chain(
    (a): Link(),
    (b): Spec(size=3, mode=x),
  ),
  (1): Chain(),
  (2): Sequential(
    0\tabsolute
    1\tsin
  ),
)'''


class TestChainList:

    def setup_method(self):
        self.leaves = [Leaf() for _ in range(4)]
        self.list = chainer.ChainList(*self.leaves)

    def check(self, *expected):
        expected = list(expected)
        assert list(self.list) == expected == list(self.list.children())
        assert [link.name for link in expected] == [str(i) for i in range(len(expected))]
        assert len(self.list) == len(expected)

    def test_access(self):
        a, b, c, d = self.leaves
        assert self.list[1] is b and self.list[-1] is d and self.list[1:3] == [b, c]
        assert b in self.list and Leaf() not in self.list
        assert self.list.index(c) == 2 and self.list.count(c) == 1
        assert list(reversed(self.list)) == [d, c, b, a]
        with pytest.raises(IndexError):
            self.list[4]
        assert paths(self.list)[:3] == ['/0/W', '/0/b', '/1/W']
        assert [path for path, _ in self.list.namedlinks()][:2] == ['/', '/0']

    def test_changes(self):
        a, b, c, d = self.leaves
        new, other = Leaf(), Leaf()
        self.list.insert(1, new)
        self.check(a, new, b, c, d)
        self.list.insert(-1, other)
        self.check(a, new, b, c, other, d)
        del self.list[0]
        self.check(new, b, c, other, d)
        self.list[-1] = a
        self.check(new, b, c, other, a)
        self.list[1:3] = [d]
        self.check(new, d, other, a)
        del self.list[:2]
        self.check(other, a)
        self.list.reverse()
        self.check(a, other)
        self.list.extend([b, c])
        assert self.list.pop() is c
        self.list += [d]
        self.list.remove(other)
        self.check(a, b, d)
        self.list.insert(100, new)
        self.list.add_link(c)
        self.check(a, b, d, new, c)
        self.list.clear()
        self.check()

    def test_bad_changes_change_nothing(self):
        for change in (lambda: self.list.append(3), lambda: self.list.insert(0, 3),
                       lambda: self.list.__setitem__(0, 3),
                       lambda: self.list.__setitem__(slice(0, 2), [Leaf(), 3])):
            with pytest.raises(TypeError, match='non-link object'):
                change()
            self.check(*self.leaves)

    def test_attributes(self):
        with pytest.raises(TypeError, match='chainlist.init_scope'):
            with self.list.init_scope():
                self.list.leaf = Leaf()
        with self.list.init_scope():
            self.list.own = normal(2)
        self.list.other = Leaf()
        assert paths(self.list)[:2] == ['/own', '/0/W']
        assert len(self.list) == 4

    def test_copy(self):
        other = self.list.copy()
        assert [link.name for link in other] == ['0', '1', '2', '3']
        assert other[0] is not self.list[0] and other[0].W.array is self.list[0].W.array
        other.append(Leaf())
        assert len(self.list) == 4


class TestSerialize:

    def test_names(self):
        s = chainer.serializers.DictionarySerializer()
        chainer.ChainList(Leaf(), Tree()).serialize(s)
        assert sorted(s.target) == sorted([
            '0/W', '0/b', '1/own', '1/lazy', '1/mean', '1/none',
            '1/left/W', '1/left/b', '1/right/W', '1/right/b'])

    def test_lazy_parameter_takes_the_shape(self):
        saved = Tree()
        saved.lazy.initialize((2, 3))
        s = chainer.serializers.DictionarySerializer()
        s.save(saved)
        loaded = Tree()
        own = loaded.own.array
        chainer.serializers.NpzDeserializer(s.target).load(loaded)
        np.testing.assert_array_equal(loaded.lazy.array, saved.lazy.array)
        assert loaded.lazy.array is not saved.lazy.array
        assert loaded.own.array is own

    def test_uninitialized_parameter_in_the_file(self):
        s = chainer.serializers.DictionarySerializer()
        s.save(Tree())
        loaded = Tree()
        loaded.lazy.initialize((2,))
        array = loaded.lazy.array.copy()
        chainer.serializers.NpzDeserializer(s.target).load(loaded)
        np.testing.assert_array_equal(loaded.lazy.array, array)


def test_from_params_is_for_child_classes():
    with pytest.raises(NotImplementedError, match='from_params'):
        chainer.Link.from_params()


def test_module_path_of_old_pickles():
    assert chainer.Chain.__module__ == 'chainer.link'
    assert chainer.Sequential.__module__ == 'chainer.sequential'


def test_no_warnings_in_everyday_use():
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        tree = Tree()
        tree.to_device('@numpy')
        tree.cleargrads()
        tree.copy()
        str(tree)


@pytest.mark.parametrize('mode', ['share', 'copy', 'init'])
def test_names_of_copies(mode):
    # As in 5.4; 7.8.1 keeps those of chains, too.
    chain = chainer.Chain(l=chainer.links.Linear(2, 2))
    chain.name = 'chain'
    copied = chain.copy(mode)
    assert (copied.name, copied.l.name) == (None, 'l')
    assert chain.l.copy(mode).name == (None if mode == 'share' else 'l')


class _Listed(chainer.Chain):
    """Has parameters that it does not own."""

    def __init__(self, other):
        super().__init__(inner=chainer.Link(w=(2,)))
        self.others = [other]

    def params(self, include_uninit=True):
        yield from super().params(include_uninit)
        yield from self.others[0].params(include_uninit)


def test_all_params_are_params():
    listed = _Listed(chainer.Link(v=(1,)))
    instance = chainer.Link(u=(3,))
    instance.params = lambda include_uninit=True: iter([listed.inner.w])
    model = chainer.Chain(
        b=chainer.ChainList(chainer.Link(y=(1,), x=(2,)), listed), a=Leaf(), c=instance)
    with model.init_scope():
        model.z = chainer.Parameter(np.zeros(1, 'f'))
    found = chainer.link._all_params(model)
    assert len(found) == 8
    assert all(map(operator.is_, found, model.params()))
