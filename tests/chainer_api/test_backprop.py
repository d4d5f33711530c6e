"""Gradients of whole graphs."""
import threading

import numpy as np
import pytest

import chainer
import chainer.functions as F
from chainer import FunctionNode, Variable, _backprop

_Order = _backprop._Order


class Record(FunctionNode):
    """Identity of the sum of its inputs that records when its backward runs."""

    def __init__(self, name, log):
        self.name = name
        self.log = log

    def forward(self, inputs):
        return sum(inputs[1:], inputs[0]) * 1,

    def backward(self, indexes, grad_outputs):
        self.log.append(self.name)
        return (grad_outputs[0],) * len(indexes)


def ones(*shape):
    return Variable(np.ones(shape, np.float32))


def random_program(rng, n_leaves=3, n_steps=12):
    """A random scalar function of vectors, as a list of steps."""
    steps = []
    for i in range(n_steps):
        n = n_leaves + i
        a, b = rng.randint(max(0, n - 5), n, 2)
        steps.append((rng.choice(['add', 'mul', 'sub', 'tanh', 'scale']), a, b, rng.uniform(-1, 1)))

    def evaluate(leaves):
        values = list(leaves)
        for op, a, b, c in steps:
            x, y = values[a], values[b]
            values.append({
                'add': lambda x=x, y=y: x + y, 'mul': lambda x=x, y=y: x * y,
                'sub': lambda x=x, y=y: x - y, 'tanh': lambda x=x: F.tanh(x),
                'scale': lambda x=x, c=c: x * c + c}[op]())
        return F.sum(values[-1] * values[-2])

    return evaluate


@pytest.mark.parametrize('seed', range(8))
def test_gradients_of_random_programs(seed):
    rng = np.random.RandomState(seed)
    evaluate = random_program(rng)
    arrays = [rng.uniform(-1, 1, 3) for _ in range(3)]
    leaves = [Variable(a) for a in arrays]
    evaluate(leaves).backward()
    by_grad = chainer.grad([evaluate(leaves)], leaves)
    for i, leaf in enumerate(leaves):
        gradient = np.zeros(3) if leaf.grad is None else leaf.grad
        if leaf.grad is None:
            assert by_grad[i] is None
        else:
            np.testing.assert_allclose(by_grad[i].array, gradient, rtol=1e-12)
        for j in range(3):
            ends = []
            for step in (1e-5, -1e-5):
                moved = [a.copy() for a in arrays]
                moved[i][j] += step
                with chainer.no_backprop_mode():
                    ends.append(evaluate([Variable(a) for a in moved]).array)
            np.testing.assert_allclose(
                gradient[j], (ends[0] - ends[1]) / 2e-5, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize('seed', range(4))
def test_lazy_sums_give_the_same_bits(seed):
    rng = np.random.RandomState(seed)
    evaluate = random_program(rng)
    arrays = [rng.uniform(-1, 1, 3).astype('f') for _ in range(3)]
    results = []
    for lazy in (False, True):
        leaves = [Variable(a) for a in arrays]
        with chainer.using_config('lazy_grad_sum', lazy):
            evaluate(leaves).backward()
        results.append([None if x.grad is None else x.grad.tobytes() for x in leaves])
    assert results[0] == results[1]


def test_higher_orders():
    x = Variable(np.array([2.0]))
    y = x ** 5
    for expected in (80, 160, 240, 240, 120):
        y, = chainer.grad([y], [x], enable_double_backprop=True)
        np.testing.assert_allclose(y.array, [expected])


def test_functions_run_by_rank_and_the_last_applied_first():
    log, x = [], ones(1)
    branches = [Record(name, log).apply((x,))[0] for name in 'abc']
    deep = Record('deep', log).apply((branches[0],))[0]
    y, = Record('y', log).apply((*branches, deep))
    y.backward()
    assert log == ['y', 'deep', 'c', 'b', 'a']
    del log[:]
    chainer.grad([y], [x])
    assert log == ['y', 'deep', 'c', 'b', 'a']


def test_sums_start_with_the_gradient_before():
    big = np.float32(2 ** 24)  # adding one to it is lost
    x = Variable(np.zeros(1, 'f'), grad=np.full(1, big))
    y, = Record('y', []).apply((x, x))
    y.backward()
    assert x.grad[0] == big
    x.cleargrad()
    y.backward()
    x.grad += big
    assert x.grad[0] == big + 2


def test_gradients_on_the_way_are_released():
    x = ones(3)
    h = x * 2
    y = h * 3
    y.grad = np.ones(3, 'f')
    y.backward()
    assert y.grad is None and h.grad is None and x.grad.tolist() == [6] * 3
    y.grad = np.ones(3, 'f')
    y.backward(retain_grad=True)
    assert y.grad.tolist() == [1] * 3 and h.grad.tolist() == [3] * 3


class Fails(FunctionNode):
    def forward(self, inputs):
        return inputs[0] * 1,

    def backward(self, indexes, grad_outputs):
        raise KeyError('on purpose')


@pytest.mark.parametrize('deep', [False, True])
def test_an_exception_leaves_settings_and_gradients(deep):
    x, w = ones(1), ones(1)
    w.grad = np.full(1, 5, 'f')
    h = x * w if deep else x
    y, = Fails().apply((h,))
    for value in (True, False):
        with chainer.using_config('enable_backprop', value):
            with pytest.raises(KeyError):
                y.backward()
            assert chainer.config.enable_backprop is value
    with pytest.raises(KeyError):
        y.backward()
    assert chainer.config.enable_backprop is True
    assert 'enable_backprop' not in chainer.config._local.__dict__
    assert w.grad.tolist() == [5] and x.grad is None


def test_backward_records_only_on_demand():
    x = ones(1)
    y = x * x * x
    y.backward()
    assert x.grad_var.creator is None
    x.cleargrad()
    with chainer.no_backprop_mode():
        y.backward(enable_double_backprop=True)
    assert x.grad_var.creator is not None


def test_backward_in_threads():
    results = {}

    def work(i):
        x = Variable(np.array([float(i)]))
        for _ in range(20):
            x.cleargrad()
            (x * x * x).backward()
        results[i] = x.grad[0]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == {i: 3.0 * i * i for i in range(4)}


def test_deep_graphs():
    x = ones(1)
    y = x
    for _ in range(3000):
        y = y + 1
    y.backward()
    assert x.grad.tolist() == [1]
    y.unchain_backward()
    assert y.creator is None


def test_function_with_an_output_that_nobody_uses():
    x = ones(2, 4)
    a, b = F.split_axis(x, 2, 1)
    F.sum(a).backward()
    assert x.grad.tolist() == [[1, 1, 0, 0]] * 2


@pytest.mark.parametrize('single', [True, False])
@pytest.mark.parametrize(('gradient', 'exception', 'text'), [
    (np.ones(1, 'f'), TypeError, 'type of gradients.*as_variable'),
    (1., ValueError, 'type of gradients'),  # as in the debug mode of 5.4 and 7.8.1
    (ones(2), ValueError, r'shape of gradients.*actual \(2,\) != expected \(1,\)\n'
     r'  function=Bad \(Bad\)\n    input 0: shape=\(1,\) dtype=float32\n'
     r'    output 0: shape=\(1,\)'),
    (Variable(np.ones(1)), TypeError, 'dtype of gradients.*float64 != expected float32'),
])
def test_wrong_gradients(single, gradient, exception, text):
    class Bad(FunctionNode):
        def forward(self, inputs):
            return inputs[0] * 1,

        def backward(self, indexes, grad_outputs):
            return gradient,

    x = ones(1)
    y, = Bad().apply((x if single else x * 2,))
    with pytest.raises(exception, match=text):
        y.backward()


def test_wrong_number_of_gradients():
    class Bad(FunctionNode):
        def forward(self, inputs):
            return inputs[0] + inputs[1] + inputs[2],

        def backward(self, indexes, grad_outputs):
            return (grad_outputs[0],) * 2

    with pytest.raises(ValueError, match='number of gradients.*2 != expected 3'):
        Bad().apply((ones(1), ones(1), ones(1)))[0].backward()
    # As many as inputs are accepted; those not asked for are ignored.
    x, c = ones(1), np.ones(1, 'f')

    class All(Bad):
        def backward(self, indexes, grad_outputs):
            return grad_outputs[0], 'ignored', None

    y, = All().apply((x, c, c))
    y.backward()
    assert x.grad.tolist() == [1]


def test_gradients_of_shared_inputs_in_accumulating_functions():
    class Sum(FunctionNode):
        def forward(self, inputs):
            return sum(inputs[1:], inputs[0]),

        def backward_accumulate(self, indexes, grad_outputs, grad_inputs):
            gy, = grad_outputs
            return tuple([gy if g is None else g + gy for g in grad_inputs])

    x = ones(1)
    y, = Sum().apply((x, x, x))
    z, = Sum().apply((y, x))
    z.backward()
    assert x.grad.tolist() == [4]


def test_default_accumulation():
    f = F.identity(ones(1)).creator
    gy, old = ones(1), ones(1)
    assert f.backward_accumulate((0,), (gy,), (None,))[0] is gy
    assert f.backward_accumulate((0,), (gy,), (old,))[0].array.tolist() == [2]
    assert f.backward_accumulate((0,), (None,), (old,))[0] is old


# chainer.grad


def test_grad_of_nothing():
    assert chainer.grad([ones(1)], []) == []


def test_grad_does_not_touch_gradients():
    x, h = ones(1), None
    x.grad = np.full(1, 7, 'f')
    h = x * 2
    gx, = chainer.grad([h * 3], [x])
    assert gx.array.tolist() == [6] and x.grad.tolist() == [7] and h.grad is None


def test_grad_runs_only_what_is_between():
    log = []
    x, w = ones(1), ones(1)
    a, = Record('a', log).apply((x,))
    b, = Record('b', log).apply((w,))
    y, = Record('y', log).apply((a, b))
    chainer.grad([y], [w])
    assert log == ['y', 'b']


@pytest.mark.parametrize(('args', 'exception', 'text'), [
    (lambda x, y: (y, [x]), TypeError, 'outputs must be a tuple or a list'),
    (lambda x, y: ([y.array], [x]), TypeError, 'outputs must contain Variables only'),
    (lambda x, y: ([y], [x.array]), TypeError, 'inputs must contain Variables only'),
    (lambda x, y: ([y], [x], [y, y]), ValueError, 'grad_outputs has 2 elements, but outputs has 1'),
    (lambda x, y: ([y], [x], None, ()), ValueError, 'grad_inputs has 0 elements'),
    (lambda x, y: ([y], [x], np.ones(1)), TypeError, 'grad_outputs must be None or a tuple'),
    (lambda x, y: ([y], [x], [1.]), TypeError, 'grad_outputs must contain Variables'),
])
def test_grad_arguments(args, exception, text):
    x = ones(1)
    with pytest.raises(exception, match=text):
        chainer.grad(*args(x, x * 2))


def test_backward_of_several_variables():
    x = ones(2)
    y, z = x * 2, x * x
    y.grad = np.ones(2, 'f')
    z.grad = np.full(2, 10, 'f')
    chainer.backward([y, z])
    assert x.grad.tolist() == [22, 22] and y.grad is None
    with pytest.raises(TypeError, match='outputs must contain Variables'):
        chainer.backward([None])
    with pytest.raises(ValueError, match='grad_outputs'):
        chainer.backward([y], [])


def test_gradients_are_given_as_arrays():
    x = Variable(np.array([1., 2.]))
    g = np.array([1., 10.])
    assert chainer.grad([x * x], [x], [g])[0].array.tolist() == [2, 40]
    assert chainer.grad([x * x], [x], grad_inputs=[g])[0].array.tolist() == [3, 14]
    chainer.backward([x * x], [g])
    assert x.grad.tolist() == [2, 40]


@pytest.mark.parametrize('before', [0, 10])
def test_backward_from_leaves(before):
    # As in 7.8.1: what is given to a leaf is added to its gradient.
    def start():
        x = Variable(np.array([1., 2.]))
        x.grad = np.full(2, before, float)
        return x

    ones = np.ones(2)
    x = start()
    chainer.backward([x], [ones])
    assert x.grad.tolist() == [1 + before, 1 + before]
    x = start()
    chainer.backward([x, x * x], [ones, ones])
    assert x.grad.tolist() == [3 + before, 5 + before]
    x = start()
    chainer.backward([x, x], [ones, ones])
    assert x.grad.tolist() == [2 + before, 2 + before]
    x = start()
    chainer.backward([x])
    assert x.grad.tolist() == [before, before]


def test_outputs_that_stand_twice_give_their_gradient_once():
    x = Variable(np.array([1., 2.]))
    y = x * x
    z = y * 2
    y.grad, z.grad = np.ones(2), np.ones(2)
    chainer.backward([z, y, z, y])
    assert x.grad.tolist() == [6, 12]  # as in 7.8.1
    assert y.grad is None and z.grad is None


def test_errors_in_backward_tell_where_the_function_was_applied():
    class Bad(FunctionNode):
        def forward(self, inputs):
            return inputs[0] * 2,

        def backward(self, indexes, grad_outputs):
            raise IndexError('list index out of range')

    x = Variable(np.array([1.]))
    with chainer.using_config('debug', True), pytest.raises(IndexError) as caught:
        Bad().apply((x,))[0].backward()
    assert 'list index out of range\nStacktrace' in str(caught.value)
    assert 'test_backprop.py' in str(caught.value)
    with pytest.raises(IndexError, match='^list index out of range$'):
        Bad().apply((x,))[0].backward()


class Doubled(chainer.FunctionNode):
    """Twice its input; ``gradient`` says what backward gives."""

    def __init__(self, gradient):
        self.gradient = gradient

    def forward(self, inputs):
        return inputs[0] * 2, inputs[0] * 3

    def backward(self, indexes, grad_outputs):
        first, second = grad_outputs
        return self.gradient(first if second is None else second),


@pytest.mark.parametrize('output', [0, 1])
def test_one_function_after_the_other(output):
    """Where nothing branches, gradients are those of the general way (`retain_grad`)."""
    found = []
    for retain_grad in (False, True):
        x = chainer.Variable(np.array([0.5, -1.5]))
        x.grad = np.array([3.0, 4.0])
        h = Doubled(lambda g: g * 7).apply((F.tanh(x),))[output]
        loss = F.sum(F.exp(h) * np.array([1.0, 2.0]))
        loss.backward(retain_grad=retain_grad)
        assert (h.grad is not None) is retain_grad
        found.append(x.grad.tobytes())
    assert found[0] == found[1]


def test_a_function_without_a_gradient_ends_the_way():
    x = chainer.Variable(np.array([0.5, -1.5]))
    loss = F.sum(Doubled(lambda g: None).apply((F.tanh(x),))[0])
    loss.backward()
    assert x.grad is None


@pytest.mark.parametrize('wrong, exception, text', [
    (lambda g: g[:1], ValueError, 'shape of gradients'),
    (lambda g: F.cast(g, 'f'), TypeError, 'dtype of gradients'),
    (lambda g: g.array, TypeError, 'type of gradients'),
])
def test_wrong_gradients_on_the_way(wrong, exception, text):
    x = chainer.Variable(np.array([0.5, -1.5]))
    loss = F.sum(Doubled(wrong).apply((F.tanh(x),))[0])
    with pytest.raises(exception, match=text):
        loss.backward()


# -- Nodes that live longer than their Variables: all expected is what the original gives ------

@pytest.mark.parametrize("gone", ["never", "before", "after"])
@pytest.mark.parametrize("several", [False, True])
def test_the_gradient_of_a_leaf_goes_with_its_variable(gone, several):
    x, z = (ones(2, 3) for _ in range(2))
    y = x * 2 + (z * x if several else 0)
    node = x.node
    if gone == "before":
        del x
    F.sum(y).backward()
    if gone == "after":
        del x
    there = gone == "never"
    assert (node.grad_var is not None) == (node.grad is not None) == there
    F.sum(y).backward()
    assert (node.get_variable().grad is not None) == there
    if there:
        np.testing.assert_array_equal(node.grad, np.full((2, 3), 6 if several else 4, 'f'))


def test_gradients_that_are_retained_go_with_their_variables():
    x = ones(3)
    y, z = x * 2, x * 3
    loss = F.sum(y * z)
    held, gone = y.node, z.node
    del z
    loss.backward(retain_grad=True)
    assert held.grad is not None
    assert gone.grad is None
    assert gone.get_variable().grad is None


def test_a_gradient_set_on_an_output_counts_while_its_variable_lives():
    for held in (True, False):
        x = ones(2, 4)
        a, b = F.split_axis(x, 2, 1)
        b.grad = np.ones((2, 2), 'f')
        node = b.node
        if not held:
            del b
        F.sum(a).backward()
        np.testing.assert_array_equal(x.grad, [[1, 1, held, held]] * 2)
        assert node.grad is None


@pytest.mark.parametrize("grad", [False, True])
def test_gradients_are_put_in_order_from_the_first_piece_on(grad, monkeypatch):
    """Graphs without programs pay nothing for those that have some."""
    made = []
    monkeypatch.setattr(FunctionNode, '_pieces_exist', True)
    monkeypatch.setattr(_backprop, '_Order', lambda *args: made.append(_Order(*args)) or made[-1])

    class Model(chainer.Chain):
        @chainer.static_graph
        def forward(self, x):
            return F.tanh(x) * x + F.exp(x)

    def gradient(function):
        x = ones(2, 3)
        h = F.sin(x)
        y = F.sum(function(h) * h + F.cos(h) * x + h * h)
        if grad:
            (found,) = chainer.grad([y], [x])
        else:
            y.backward()
            found = x.grad_var
        return found.array.tobytes()

    model = Model()
    expected = gradient(lambda x: F.tanh(x) * x + F.exp(x))
    assert not made
    assert {gradient(model) for _ in range(12)} == {expected}
    assert made


class Keeping(chainer.FunctionNode):
    """The identity, which keeps the gradients that it gets and gives; they may be transposed."""

    kept = []

    def __init__(self, fortran=False):
        self.fortran = fortran

    def forward(self, inputs):
        return inputs[0].copy(),

    def backward(self, indexes, gys):
        gx = gys[0]
        if self.fortran:
            gx = chainer.Variable(np.array(gx.array, order='F'))
        for array in (gys[0].array, gx.array):
            self.kept.append((array, array.copy('K')))
        return gx,


@pytest.mark.parametrize("dtype", ['e', 'f', 'd'])
@pytest.mark.parametrize("shape", [(), (3, 4), (1, 5)])
@pytest.mark.parametrize("uses", [2, 3, 7])
def test_sums_of_gradients(uses, shape, dtype):
    """They are what functions give, whoever looks, and no array that others have is written."""
    rng = np.random.RandomState(0)
    weights = rng.randn(uses, *shape).astype(dtype)

    def gradients(**config):
        Keeping.kept = []
        x = chainer.Variable(rng.randn(*shape).astype(dtype) if shape else np.ones((), dtype))
        h = Keeping().apply((x,))[0]
        y = sum([F.sum(Keeping(k == 4).apply((v * w,))[0]) for v in (x, h)
                 for k, w in enumerate(weights)])
        with chainer.using_config('debug', config.get('debug', False)):
            if config.get('hook'):
                with chainer.function_hooks.TimerHook() as hook:
                    y.backward()
                names = [name for name, _ in hook.call_history]
                assert names.count('Add') > 2 * uses - 1  # those of the graph
            else:
                y.backward()
        for array, before in Keeping.kept:
            np.testing.assert_array_equal(array, before)
        return x.grad.tobytes(), x.grad.strides

    given = gradients()
    assert gradients(debug=True) == gradients(hook=True) == given
