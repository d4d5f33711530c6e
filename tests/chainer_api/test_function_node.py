"""Function nodes, and the old functions on top of them."""
import threading

import numpy as np
import pytest

import chainer
import chainer.functions as F
from chainer import Function, FunctionNode, Variable, _tracing
from chainer.utils import type_check


def ones(*shape):
    return Variable(np.ones(shape, np.float32))


class Mul(FunctionNode):
    def forward(self, inputs):
        self.retain_inputs((0, 1))
        return inputs[0] * inputs[1],

    def backward(self, indexes, grad_outputs):
        x, y = self.get_retained_inputs()
        gy, = grad_outputs
        return tuple([gy * (x if i else y) for i in indexes])


def test_apply_links_inputs_and_outputs():
    x, y = ones(2), ones(2)
    f = Mul()
    z, = f.apply((x, y))
    assert f.inputs == (x.node, y.node) and [ref() for ref in f.outputs] == [z.node]
    assert z.creator is f and f.rank == 0 and z.rank == 1
    assert x.node.data is x.array and z.node.data is None
    assert (z * x).creator.rank == 1 and z.node.data is z.array
    assert f.label == 'Mul' and f.stack is None


def test_arrays_are_inputs_without_gradients():
    x = ones(2)
    z, = Mul().apply((x, np.full(2, 3, 'f')))
    z.grad = np.ones(2, 'f')
    z.backward()
    assert x.grad.tolist() == [3, 3]
    assert not z.creator.inputs[1].requires_grad


@pytest.mark.parametrize('mode', [
    chainer.no_backprop_mode, lambda: chainer.using_config('enable_backprop', False)])
def test_no_graph(mode):
    x = ones(2)
    with mode():
        y, = Mul().apply((x, x))
        with chainer.force_backprop_mode():
            z, = Mul().apply((x, x))
    assert y.creator is None and x.node.data is x.array
    assert y.requires_grad and z.creator is not None


def test_nothing_is_retained_without_a_graph():
    x = ones(2)
    with chainer.no_backprop_mode():
        f = Mul()
        f.apply((x, x))
    assert f.inputs is None and x.node.data is None and f.get_retained_inputs() == ()


def test_backprop_modes_can_be_nested_and_reused():
    mode = chainer.no_backprop_mode()
    with mode:
        with mode:
            assert not chainer.config.enable_backprop
        assert not chainer.config.enable_backprop
    assert chainer.config.enable_backprop


def test_outputs_require_gradients_if_an_input_does():
    x, c = ones(1), Variable(np.ones(1, 'f'), requires_grad=False)
    assert (x * c).requires_grad and not (c * c).requires_grad


def test_forward_is_chosen_by_the_device():
    class Cpu(FunctionNode):
        def forward_cpu(self, inputs):
            return inputs[0] + 1,

    assert Cpu().apply((ones(1),))[0].array.tolist() == [2]
    with pytest.raises(NotImplementedError, match='neither forward nor forward_cpu'):
        FunctionNode().apply((ones(1),))
    with pytest.raises(NotImplementedError, match='forward_gpu'):
        Cpu().forward_gpu(())


@pytest.mark.parametrize(('result', 'text'), [
    (np.ones(1), 'forward output must be a tuple, .* forward of Bad returned'),
    ([np.ones(1)], 'must be a tuple'),
    ((np.float32(1),), 'must be a tuple of ndarrays.*.float32.; chainer.utils.force_array'),
    ((ones(1),), 'returned .Variable.'),
])
def test_forward_returns_a_tuple_of_arrays(result, text):
    class Bad(FunctionNode):
        def forward(self, inputs):
            return result

    for context in (chainer.force_backprop_mode(), chainer.no_backprop_mode()):
        with context, pytest.raises(TypeError, match=text):
            Bad().apply((ones(1),))


def test_functions_are_not_called():
    with pytest.raises(RuntimeError, match=r'Mul\(\).apply'):
        Mul()(ones(1), ones(1))


def test_inputs_must_be_arrays():
    with pytest.raises(TypeError, match='holds a NumPy or CuPy array'):
        Mul().apply((1.0, ones(1)))


def test_a_node_applied_twice_starts_anew():
    class Sometimes(FunctionNode):
        retain = True

        def forward(self, inputs):
            if self.retain:
                self.retain_inputs((0,))
            return inputs[0] * 2,

    f = Sometimes()
    f.apply((ones(1),))
    assert len(f.get_retained_inputs()) == 1
    f.retain = False
    f.apply((ones(1),))
    assert f.get_retained_inputs() == ()


def test_retained_inputs_are_the_variables_themselves():
    x, y = ones(2), ones(2)
    z, = Mul().apply((x, y))
    assert all(a is b for a, b in zip(z.creator.get_retained_inputs(), (x, y)))


def test_retained_inputs_of_dead_variables():
    x = ones(2)
    z, = Mul().apply((x * 3, x * 4))
    a, b = z.creator.get_retained_inputs()
    assert a.array.tolist() == [3, 3] and b.array.tolist() == [4, 4]
    assert a.creator.label == '_ * 3'


def test_outputs_can_be_retained():
    class Exp(FunctionNode):
        def forward(self, inputs):
            self.retain_outputs((0,))
            return np.exp(inputs[0]),

        def backward(self, indexes, grad_outputs):
            y, = self.get_retained_outputs()
            return y * grad_outputs[0],

    x = Variable(np.array([0.5]))
    y, = Exp().apply((x,))
    assert y.creator.get_retained_outputs()[0] is y
    assert y.creator.output_data[0] is y.array
    gx, = chainer.grad([y], [x], enable_double_backprop=True)
    ggx, = chainer.grad([gx], [x])
    np.testing.assert_allclose([gx.array, ggx.array], np.exp([[0.5], [0.5]]))


def test_output_data_has_to_be_retained():
    with pytest.raises(RuntimeError, match='not been retained'):
        Mul().output_data  # noqa: B018


def test_unchain():
    x = ones(2)
    y = x * 2
    z = y * 3
    func = y.creator
    func.unchain()
    assert y.creator is None and func.inputs is None and z.creator is not None


def test_default_backward_gives_nothing():
    class Forward(FunctionNode):
        def forward(self, inputs):
            return inputs[0] * 2,

    x = ones(1)
    y, = Forward().apply((x,))
    y.backward()
    assert x.grad is None


def test_debug_mode_remembers_the_call():
    with chainer.using_config('debug', True):
        y = ones(1) * 2
    assert [frame.name for frame in y.creator.stack][-2:] == [
        'test_debug_mode_remembers_the_call', 'mul']
    assert any('test_function_node' in frame.filename for frame in y.creator.stack)


def test_nan_message_tells_the_call():
    with chainer.using_config('debug', True):
        x = Variable(np.array([np.nan]))
        with pytest.raises(RuntimeError, match=r'forward computation of _ \* 2\n(.|\n)*test_func'):
            x * 2


# Type checks


class Checked(FunctionNode):
    runs = 0

    def check_type_forward(self, in_types):
        type(self).runs += 1
        type_check.argname(in_types, ('x', 'n'))
        x_type, n_type = in_types
        type_check.expect(x_type.ndim == 2, x_type.shape[0] == n_type.shape[0])

    def forward(self, inputs):
        return inputs[0] * 2,


def test_types_that_match_are_checked_once():
    Checked.runs = 0
    Checked().apply((np.ones((2, 3)), np.ones(2)))
    assert Checked.runs == 1


def test_message_of_types_that_do_not_match():
    with pytest.raises(type_check.InvalidType) as caught:
        Checked().apply((np.ones((2, 3)), np.ones(3)))
    assert str(caught.value) == (
        '\nInvalid operation is performed in: Checked (Forward)\n\n'
        'Expect: x.shape[0] == n.shape[0]\nActual: 2 != 3')
    assert caught.value.expect == 'x.shape[0] == n.shape[0]' and caught.value.actual == '2 != 3'


def test_message_of_a_wrong_number_of_inputs():
    with pytest.raises(type_check.InvalidType, match=r'2 expected \(x, n\), 1 given'):
        Checked().apply((np.ones((2, 3)),))


def test_checks_can_be_switched_off():
    Checked.runs = 0
    with chainer.using_config('type_check', False):
        Checked().apply((np.ones(3),))
    assert Checked.runs == 0


def test_checks_written_for_expressions_work():
    class Old(FunctionNode):
        def check_type_forward(self, in_types):
            x_type, = in_types
            if x_type.ndim.eval() != 1:
                raise type_check.InvalidType('one axis', 'several')
            type_check.expect(x_type.shape[0] == type_check.Variable(3, 'n'))

        def forward(self, inputs):
            return inputs[0] * 2,

    Old().apply((np.ones(3),))
    with pytest.raises(type_check.InvalidType, match=r'Expect: in_types\[0\].shape\[0\] == n'):
        Old().apply((np.ones(2),))
    with pytest.raises(type_check.InvalidType, match='Expect: one axis'):
        Old().apply((np.ones((2, 2)),))


def test_exceptions_of_checks_come_out():
    class Broken(FunctionNode):
        def check_type_forward(self, in_types):
            raise KeyError('broken')

    with pytest.raises(KeyError, match='broken'):
        Broken().apply((ones(1),))
    assert not type_check.in_light_mode()


# Recording: forward runs in one place, which a trace can take over


def test_trace_gets_each_forward_computation():
    calls = []

    class Trace:
        def apply_function(self, function, in_data):
            calls.append((type(function).__name__, [type(x) for x in in_data]))
            return function.forward(in_data)

    class Old(Function):
        def forward(self, inputs):
            return inputs[0] * 2,

        def backward(self, inputs, grad_outputs):
            return grad_outputs[0] * 2,

    x = ones(2)
    _tracing.state.trace = Trace()
    try:
        y = F.sum(Old()(x) * x)
        thread = threading.Thread(target=lambda: x + 1)
        thread.start()
        thread.join()
        y.backward()
    finally:
        _tracing.state.trace = None
    x + 1
    assert [name for name, _ in calls] == [
        'FunctionAdapter', 'Mul', 'Sum', 'BroadcastTo', 'Mul', 'Mul', 'Add']
    assert all(kind is np.ndarray for _, kinds in calls for kind in kinds)
    assert x.grad.tolist() == [4, 4]


def test_declarations_for_compilers():
    assert FunctionNode._supports_static_optimizations is False and FunctionNode.opaque is None


def test_documented_attribute():
    assert FunctionNode.lazy_grad_sum is False


# Old-style functions


class Square(Function):
    def forward(self, inputs):
        return inputs[0] * inputs[0],

    def backward(self, inputs, grad_outputs):
        return 2 * inputs[0] * grad_outputs[0],


def test_old_function():
    x = Variable(np.array([3.0]))
    f = Square()
    y = f(x)
    assert isinstance(y, Variable) and y.creator is f and f.node is y.creator_node
    assert f.inputs == (x.node,) and f.outputs[0]() is y.node and f.rank == 0 and f.stack is None
    y.backward()
    assert x.grad.tolist() == [6]
    f.unchain()
    assert y.creator is None


def test_old_function_keeps_the_adapter_until_it_is_applied():
    f = Square()
    assert f.node is f.node
    y = f(Variable(np.array([3.0])))
    del f
    assert isinstance(y.creator, Square)  # now the graph keeps the function


def test_old_function_by_device():
    class Cpu(Function):
        def forward_cpu(self, inputs):
            return inputs[0] * 2, inputs[0] * 3

        def backward_cpu(self, inputs, grad_outputs):
            return grad_outputs[1] * 3,

    x = ones(1)
    a, b = Cpu()(x)
    b.backward()
    assert x.grad.tolist() == [3]
    with pytest.raises(NotImplementedError):
        Cpu().forward_gpu(())
    with pytest.raises(NotImplementedError):
        Function()(ones(1))
    assert Function().backward((1, 2), (3,)) == (None, None)
    assert Function().backward_gpu((1,), (3,)) == (None,)


def test_old_function_checks_types():
    class Vector(Square):
        def check_type_forward(self, in_types):
            type_check.expect(in_types.size() == 1, in_types[0].ndim == 1)

    Vector()(ones(2))
    with pytest.raises(type_check.InvalidType, match='performed in: Vector'):
        Vector()(ones(2, 2))


def test_old_function_refuses_what_are_no_arrays():
    class Wrong(Square):
        def backward(self, inputs, grad_outputs):
            return 1.0,

    with pytest.raises(TypeError, match='backward of Wrong must return arrays or None'):
        Wrong()(ones(1)).backward()


def first_gradient(f, **settings):
    """``x`` and its gradient through an old-style function, a leaf of the graph."""
    x = Variable(np.array([3.0]))
    f(x).backward(**settings)
    return x, x.grad_var


TWICE = {'enable_double_backprop': True}


@pytest.mark.parametrize('differentiate', [
    lambda x, gx: gx.backward(),
    lambda x, gx: (gx * x).backward(),
    lambda x, gx: (gx * 2).backward(),
    lambda x, gx: chainer.grad([gx], [x]),
    lambda x, gx: chainer.grad([gx * x], [x]),
    lambda x, gx: chainer.grad([gx * (w := Variable(np.ones(1)))], [w]),
    lambda x, gx: chainer.backward([gx], [Variable(np.ones(1))]),
    lambda x, gx: (gx.unchain(), gx.backward()),
])
@pytest.mark.parametrize(('f', 'settings'), [
    (lambda x: Square()(x), TWICE), (lambda x: Square()(x), {}),
    (lambda x: chainer.functions.exp(Square()(x)), TWICE),
])
def test_old_function_cannot_be_differentiated_twice(differentiate, f, settings):
    # As in 5.4 and 7.8.1, also where the gradient was not made to be differentiated.
    with pytest.raises(RuntimeError, match='twice-differentiate .* "Square"'):
        differentiate(*first_gradient(f, **settings))


def test_gradients_by_old_functions_come_through_grad_too():
    x = Variable(np.array([3.0]))
    gx, = chainer.grad([Square()(x) * x], [x], enable_double_backprop=True)
    with pytest.raises(RuntimeError, match='twice-differentiate .* "Square"'):
        gx.backward()


def test_the_array_of_such_a_gradient_is_free():
    _, gx = first_gradient(Square())
    copied = Variable(gx.array)
    (copied * 2).backward()
    assert copied.grad.tolist() == [2]


class Given(Function):
    """The sum of its inputs; gradients are what the test gives."""

    def __init__(self, gradients):
        self.gradients = gradients

    def forward(self, inputs):
        return sum(inputs),

    def backward(self, inputs, grad_outputs):
        return self.gradients(grad_outputs[0])


@pytest.mark.parametrize('gradients', [
    lambda g: [g, g], lambda g: (g, g), lambda g: np.stack([g, g]), lambda g: [g, g, g],
])
def test_old_function_returns_any_sequence(gradients):
    x, y = ones(1), ones(1)
    Given(gradients)(x, y).backward()
    assert x.grad.tolist() == y.grad.tolist() == [1]


def test_old_function_leaves_out_gradients_at_the_end_that_nobody_needs():
    x = ones(1)
    Given(lambda g: [g])(x, np.ones(1, 'f')).backward()
    assert x.grad.tolist() == [1]
    with pytest.raises(ValueError, match='number of gradients'):
        Given(lambda g: [g])(ones(1), ones(1)).backward()


@pytest.mark.parametrize('gradients', [lambda g: iter([g, g]), lambda g: None, lambda g: g])
def test_old_function_returns_no_other_thing(gradients):
    with pytest.raises(TypeError, match='backward of Given must return'):
        Given(gradients)(ones(1), ones(1)).backward()


class Optional(FunctionNode):
    """Twice its first input; the second may be ``None``."""

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        return inputs[0] * 2, None

    def backward(self, indexes, grad_outputs):
        assert [x.array is None for x in self.get_retained_inputs()] == [False, True]
        assert grad_outputs[1] is None
        return tuple(grad_outputs[0] * 2 if i == 0 else None for i in indexes)


@pytest.mark.parametrize('missing', [None, Variable(None)])
def test_functions_may_take_and_give_none(missing):
    x = ones(1)
    y, z = Optional().apply((x, missing))
    assert y.array.tolist() == [2] and z.array is None
    y.backward()
    assert x.grad.tolist() == [2]
    assert chainer.grad([Optional().apply((x, missing))[0]], [x])[0].array.tolist() == [2]
    with chainer.no_backprop_mode(), chainer.using_config('debug', True):
        assert Optional().apply((x, missing))[1].array is None


def test_old_functions_may_take_none():
    x = ones(1)
    y = Given(lambda g: (g, None))
    y.forward = lambda inputs: (inputs[0] * 3,)
    y(x, None).backward()
    assert x.grad.tolist() == [1]


@pytest.mark.parametrize('exception', [ValueError, AttributeError, TypeError])
@pytest.mark.parametrize('call', [
    lambda F: F.relu(None), lambda F: F.concat([ones(1), None]), lambda F: F.matmul(None, ones(1)),
    lambda F: ones(1) + Variable(None)])
def test_functions_that_need_their_inputs_say_so(call, exception):
    with pytest.raises(exception, match='has no data: it is None'):
        call(chainer.functions)
