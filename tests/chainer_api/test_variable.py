"""Variables and parameters."""
import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import chainer
import chainer.functions as F
from chainer import Parameter, Variable
from chainer import variable as variable_module
from chainer.variable import VariableNode


def ones(*shape):
    return Variable(np.ones(shape, np.float32))


# What a variable holds


def test_attributes():
    data = np.arange(6, dtype='f').reshape(2, 3)
    x = Variable(data, name='x', requires_grad=False)
    assert x.array is data and x.data is data
    assert (x.shape, x.ndim, x.size, x.dtype, len(x)) == ((2, 3), 2, 6, np.float32, 2)
    assert (x.name, x.requires_grad, x.rank, x.xp) == ('x', False, 0, np)
    assert x.creator is None and x.creator_node is None and x.grad is None and x.grad_var is None
    assert x.device == chainer.get_device('@numpy')
    assert (x.node.shape, x.node.dtype, x.node.name) == ((2, 3), np.float32, 'x')
    assert x.node.requires_grad is False and x.node.data is None


def test_uninitialized():
    x = Variable()
    assert x.array is None and x.grad is None
    assert x.xp is np and x.device == chainer.get_device('@numpy')  # as in 5.4 and 7.8.1
    x.cleargrad()
    x.zerograd()
    x.to_cpu()
    x.array = np.zeros((2, 3))
    assert x.node.shape == (2, 3)


def test_array_is_replaced_everywhere():
    x = ones(2)
    y = x * x
    x.array = np.full(2, 4, 'f')
    assert x.node.data is x.array
    y.grad = np.ones(2, 'f')
    y.backward()
    assert x.grad.tolist() == [8, 8]
    x.data = None
    assert x.array is None and x.node.shape is None


def test_gradient_array_and_variable_are_one():
    x = ones(3)
    g = np.arange(3, dtype='f')
    x.grad = g
    assert x.grad_var.array is g and x.node.grad is g and x.node.grad_var is x.grad_var
    gv = ones(3)
    x.grad_var = gv
    assert x.grad is gv.array
    x.cleargrad()
    assert x.grad_var is None


def test_initial_gradient():
    g = np.zeros(3, 'f')
    assert Variable(np.ones(3, 'f'), grad=g).grad is g


@pytest.mark.parametrize(('grad', 'exception', 'text'), [
    (np.zeros(2, 'f'), ValueError, r'variable .x. .* shape of its data, \(3,\), not \(2,\)'),
    (np.zeros(3, 'd'), TypeError, 'dtype of its data, float32, not float64'),
    ([0, 0, 0], TypeError, 'must be an array, not .*list'),
])
def test_wrong_gradients_are_refused(grad, exception, text):
    x = Variable(np.zeros(3, 'f'), name='x')
    with pytest.raises(exception, match=text):
        x.grad = grad
    with pytest.raises(exception, match=text.replace('variable .x.', 'a variable')):
        Variable(np.zeros(3, 'f'), grad=grad)


@pytest.mark.parametrize('data', [1.0, [1.0], np.float32(1), 'a'])
def test_data_must_be_an_array(data):
    with pytest.raises(TypeError, match='holds a NumPy or CuPy array'):
        Variable(data)


def test_hint_for_a_variable_in_a_variable():
    with pytest.raises(TypeError, match='take its array'):
        Variable(ones(1))


def test_numbers_of_numpy_become_arrays():
    """A product of arrays without axes is no array in NumPy: ``p.data = p.data * 0.9``."""
    x = Variable(np.array(2, 'f'))
    x.data = x.data * 0.5
    assert type(x.array) is np.ndarray and x.array.shape == () and x.dtype == np.float32
    x.array = np.float32(3)
    assert type(x.array) is np.ndarray and x.array == 3
    for wrong in (3., [3.], 'a'):
        with pytest.raises(TypeError, match='holds a NumPy or CuPy array'):
            x.array = wrong


def test_removed_and_unknown_arguments():
    with pytest.raises(ValueError, match='no_backprop_mode'):
        Variable(np.zeros(1), volatile=True)
    with pytest.raises(TypeError, match="unexpected keyword argument.*'foo'"):
        Variable(np.zeros(1), foo=1)


def test_item():
    assert Variable(np.array([[2.5]])).item() == 2.5
    assert type(Variable(np.array([2], 'i')).item()) is int


def test_methods_of_shape():
    x = Variable(np.arange(24.).reshape(2, 3, 4))
    assert x.T.shape == (4, 3, 2)
    assert x.reshape(4, -1).shape == x.reshape((4, 6)).shape == x.reshape([4, 6]).shape == (4, 6)
    assert x.transpose(1, 0, 2).shape == x.transpose((1, 0, 2)).shape == (3, 2, 4)
    assert x.transpose().shape == x.transpose(None).shape == (4, 3, 2)
    assert x[0, ..., 1].array.tolist() == [1, 5, 9]
    assert [y.shape for y in x] == [(3, 4), (3, 4)]


def test_mean():
    x = Variable(np.arange(6.).reshape(2, 3))
    assert x.mean().array == 2.5
    assert x.mean(axis=1, keepdims=True).array.tolist() == [[1], [4]]


def test_numpy_leaves_operators_to_variables():
    x = ones(2)
    a = np.full(2, 3, 'f')
    for y in (a + x, a - x, a * x, a / x, a ** x, a @ x, a // x, np.float32(3) * x):
        assert isinstance(y, Variable)


def test_augmented_assignment_makes_a_new_variable():
    x = ones(2)
    y = x
    y += 1
    assert y is not x and x.array.tolist() == [1, 1] and y.array.tolist() == [2, 2]


@pytest.mark.parametrize('x', [ones(1), Parameter(np.ones(1, 'f'))])
def test_variables_are_no_keys(x):
    with pytest.raises(TypeError, match='unhashable'):
        {x}  # noqa: B018
    with pytest.raises(TypeError, match='=='):
        x == ones(1)  # noqa: B015
    assert {x.node: 1}[x.node] == 1


# Graph


def test_node_follows_the_life_of_its_variable():
    x = ones(2)
    node = x.node
    assert node is x.node and node.get_variable() is x and node.get_variable_or_none() is x
    del x
    assert node.get_variable_or_none() is None
    with pytest.raises(RuntimeError, match='does not exist any more'):
        node.retain_data()
    y = node.get_variable()
    assert y.node is node and y.array is None and node.get_variable() is y


def test_retained_data_survives():
    x = ones(2)
    node = x.node
    x.retain_data()
    del x
    assert node.get_variable().array.tolist() == [1, 1]


def test_nodes_are_made_when_they_are_needed():
    with chainer.no_backprop_mode():
        y = ones(2) * 2
    assert '_node' not in vars(y)
    node = y.node
    assert y.node is node and (node.shape, node.dtype) == ((2,), np.float32)
    y.grad = np.zeros(2, 'f')
    assert node.grad is y.grad
    with chainer.no_backprop_mode():
        assert (ones(2) * 2).name is None


def test_creators():
    x = ones(2)
    y = x + 1
    func = y.creator
    assert y.creator_node is func and y.rank == 1 and y.node.creator is func
    y.unchain()
    assert y.creator is None
    y.creator_node = func
    assert y.creator is func and y.rank == 1
    y.node.unchain()
    z = ones(2)
    z.set_creator(func)
    z.set_creator_node(func)
    z.creator = func
    assert z.node.creator_node is func


def test_creator_of_an_old_style_function():
    class Same(chainer.Function):
        def forward(self, inputs):
            return inputs[0].copy(),

    f = Same()
    y = f(ones(1))
    assert y.creator is f and y.creator_node is f.node
    z = ones(1)
    z.set_creator(f)
    assert z.creator_node is f.node and z.creator is f


def test_graph_is_freed_without_garbage_collection():
    gc.disable()
    try:
        x = ones(3)
        h = x * 2
        y = F.sum(h * h + x)
        y.backward()
        freed = [weakref.ref(h), weakref.ref(y.creator), weakref.ref(h.node)]
        del h, y
        assert [ref() for ref in freed] == [None] * 3
    finally:
        gc.enable()


def test_unchain_backward_stops_at_leaves():
    x = ones(2)
    a = x * 2
    b = a * 3
    c = b + a
    d = c * 2
    c.unchain_backward()
    assert [v.creator is None for v in (a, b, c, d)] == [True, True, True, False]
    d.grad = np.ones(2, 'f')
    d.backward()
    assert x.grad is None and c.grad.tolist() == [2, 2]


def test_nodes_cannot_be_copied():
    with pytest.raises(TypeError, match='node'):
        copy.deepcopy(ones(1).node)


# Copies


def test_copy_shares_arrays_and_leaves_the_graph():
    x = ones(2)
    y = Variable((x * 2).array, name='y', grad=np.zeros(2, 'f'), requires_grad=False)
    y.creator_node = (x * 2).creator_node
    z = copy.copy(y)
    assert z.array is y.array and z.grad is y.grad and z.name == 'y' and not z.requires_grad
    assert z.creator is None and z.node is not y.node
    z.cleargrad()
    assert y.grad is not None
    z.array = np.zeros(3)
    assert y.array is z.array and y.node.shape == (3,)


def test_copies_of_an_uninitialized_parameter_get_its_array():
    p = Parameter(0.0)
    q = copy.copy(p)
    r = copy.copy(q)
    del q
    p.initialize((2,))
    assert r.array is p.array and r.shape == (2,) and r.grad is None
    assert np.isnan(p.grad).all()
    r.initialize(1)
    assert p.array is r.array and p.shape == (1,)


def test_copies_of_links_are_initialized_with_the_original():
    link = chainer.links.Linear(3)
    copied = link.copy()
    link(np.ones((1, 2), 'f'))
    assert copied.W.array is link.W.array
    copied.cleargrads()
    chainer.functions.sum(copied(np.ones((1, 2), 'f'))).backward()
    assert np.isnan(link.W.grad).all() and (copied.W.grad == 1).all()


@pytest.mark.parametrize('clone', [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_deep_copies(clone):
    x = Variable(np.arange(2.), name='x', grad=np.ones(2), requires_grad=False)
    y = clone(x)
    assert type(y) is Variable and y.array is not x.array and y.array.tolist() == [0, 1]
    assert (y.name, y.grad.tolist(), y.requires_grad) == ('x', [1, 1], False)
    assert clone(ones(2) * 2).creator is None


class Tagged(Parameter):
    tag = None


def test_copy_of_a_subclass_keeps_its_attributes():
    p = Tagged(1.0, (2,))
    p.tag = 'a'
    q = copy.copy(p)
    assert type(q) is Tagged and q.tag == 'a' and q.array is p.array


@pytest.mark.parametrize('clone', [
    copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
@pytest.mark.parametrize('shape', [(2,), None])
def test_copies_of_parameters(clone, shape):
    p = Parameter(3.0, shape, name='p')
    p.update_rule = 'rule'
    if shape is not None:
        p.grad = np.ones(2, 'f')
    q = clone(p)
    assert type(q) is Parameter and (q.name, q.update_rule) == ('p', 'rule')
    assert q.is_initialized == p.is_initialized and q.initializer.fill_value == 3.0
    if shape is None:
        q.initialize((1,))
        assert q.array.tolist() == [3] and np.isnan(q.grad).all() and p.grad is None
        assert p.array is (q.array if clone is copy.copy else None)
    else:
        assert q.array.tolist() == [3, 3] and q.grad.tolist() == [1, 1]


@pytest.mark.parametrize(('prepare', 'expected'), [('cleargrad', None), ('zerograd', [0.0])])
def test_cleared_gradients_are_remembered_by_pickles(prepare, expected):
    p = Parameter(3.0)
    getattr(p, prepare)()
    q = copy.copy(p) if expected else pickle.loads(pickle.dumps(p))
    q.initialize((1,))
    assert (None if q.grad is None else q.grad.tolist()) == expected


def test_pickles_of_chainer_5_and_7_are_read():
    data, grad = np.arange(2.), np.ones(2)
    recover, create = variable_module._recover_parameter, variable_module._create_variable
    initializer = chainer.initializers.Constant(1)
    device = chainer.get_device('@numpy')
    for args in ((data, 'p', grad, initializer, None),
                 (data, 'p', grad, True, initializer, None, device)):
        p = recover(*args)
        assert p.array is data and p.grad is grad and p.name == 'p'
        assert p.initializer is initializer
    for args in ((None, 'p', None, initializer, 'rule'),
                 (None, 'p', None, True, initializer, 'rule', device)):
        p = recover(*args)
        p.initialize((1,))
        assert p.grad is None and p.array.tolist() == [1] and p.update_rule == 'rule'
    for args in ((data, 'x', grad, False), (data, 'x', grad, False, device)):
        x = create(*args)
        assert x.array is data and x.grad is grad and not x.requires_grad


# Parameters


def test_parameter_of_an_array_is_that_array():
    data = np.zeros(3)
    p = Parameter(data)
    assert p.array is data and p.grad is None and p.initializer is data


def test_parameter_draws_from_its_initializer():
    np.random.seed(0)
    p = Parameter(chainer.initializers.Normal(0.5), (2, 3))
    np.random.seed(0)
    np.testing.assert_allclose(p.array, np.random.normal(0, 0.5, (2, 3)).astype('f'), rtol=1e-6)
    assert p.dtype == np.float32


def test_dtype_of_a_parameter_before_its_array():
    assert Parameter().dtype == np.float32
    assert Parameter(chainer.initializers.Zero(dtype=np.float64)).dtype == np.float64
    with chainer.using_config('dtype', np.float16):
        assert Parameter().dtype == np.float16
    assert Parameter(np.zeros(2, 'd')).dtype == np.float64


def test_integer_parameter_has_no_nan_gradient():
    p = Parameter(chainer.initializers.Constant(1, dtype=np.int32), (2,))
    assert p.array.dtype == np.int32 and p.grad is None


def test_device_of_a_parameter_before_its_array():
    p = Parameter()
    assert p.device == chainer.get_device('@numpy') and p.xp is np
    p.to_device('@numpy')
    assert not p.is_initialized
    p.initialize((1,))
    assert p.is_initialized


def test_uninitialized_parameter_in_a_function():
    with pytest.raises(ValueError, match='has no data.*Parameter.initialize'):
        Parameter() + ones(1)


def test_update_goes_to_the_rule():
    class Rule:
        def update(self, param):
            self.updated = param

    p = Parameter(1.0, (2,))
    p.update()
    p.update_rule = rule = Rule()
    p.update()
    assert rule.updated is p


def test_unknown_layouts_are_refused():
    with pytest.raises(ValueError, match='layout'):
        Parameter(1.0, (2, 3), layout='foo')


def test_addgrad_keeps_the_graph():
    x, y = ones(2), ones(2)
    gv = ones(2) * 3
    y.grad_var = gv
    x.grad_var = ones(2)
    x.addgrad(y)
    assert x.grad.tolist() == [4, 4] and x.grad_var.creator is not None
    x.addgrad(ones(2))
    assert x.grad.tolist() == [4, 4]


# Conversions


def test_as_variable_and_as_array():
    x, a = ones(2), np.zeros(2)
    assert chainer.as_variable(x) is x and chainer.as_array(x) is x.array
    assert chainer.as_variable(a).array is a and not chainer.as_variable(a).requires_grad
    assert chainer.as_array(a) is a and chainer.as_array(3) == 3


def test_repr_of_an_old_name():
    assert repr(Variable(np.zeros(1), name='x')) == 'variable x([0.])'


def test_chainerx():
    x = ones(1)
    x.from_chx()
    for call in (x.to_chx, lambda: x.to_device('native:0')):
        with pytest.raises(RuntimeError, match='ChainerX is not available'):
            call()
    with pytest.raises(ValueError, match='ChainerX'):
        x.chx_array  # noqa: B018


@pytest.mark.skipif(chainer.backends.cuda.available, reason='there is a GPU')
def test_no_gpu():
    with pytest.raises(RuntimeError, match='CUDA is not available'):
        ones(1).to_gpu()


def test_class_names():
    assert chainer.variable.Variable is Variable and isinstance(ones(1).node, VariableNode)


def test_numpy_scalars_are_numbers():
    x = Variable(np.ones(1))
    assert (x - np.uint8(3)).array == -2 and (np.uint8(3) - x).array == 2
    assert (x / np.float32(3)).array == 1 / 3 and (x / np.float16(3)).dtype == np.float64
    assert (x - np.True_).array == 0 and (x * np.int8(100) * np.int8(100)).array == 10000
    assert (Variable(np.ones(1, 'f')) * np.float64(0.1)).dtype == np.float32


def test_initialized_again():
    # As in 5.4 and 7.8.1: the first gradient is NaN, then there is none.
    p = Parameter(1.0, (2,))
    assert np.isnan(p.grad).all()
    p.initialize((3,))
    assert p.grad is None and p.array.tolist() == [1, 1, 1]
