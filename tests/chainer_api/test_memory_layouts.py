"""Orders of axes in memory. Shapes and axes are those of 7.8.1; there only cuDNN's functions take
Variables with a layout, and their arrays cannot be seen."""
import itertools

import numpy as np
import pytest

import chainer
from chainer import functions as F
from chainer import gradient_check, memory_layouts
from chainer.memory_layouts import CUDNN_CHANNEL_LAST_W, CUDNN_CHANNEL_LAST_X

X = np.arange(120, dtype=np.float32).reshape(2, 3, 4, 5)


def test_names():
    assert memory_layouts.CUDNN_CHANNEL_FIRST_X is memory_layouts.CUDNN_CHANNEL_FIRST_W is None
    assert CUDNN_CHANNEL_LAST_X == 'CUDNN_CHANNEL_LAST_X'
    assert CUDNN_CHANNEL_LAST_W == 'CUDNN_CHANNEL_LAST_W'


@pytest.mark.parametrize('layout', [CUDNN_CHANNEL_LAST_X, CUDNN_CHANNEL_LAST_W])
def test_variables_with_a_layout(layout):
    x = chainer.Variable(X)
    assert x.layout is None
    y = x.as_layout(layout)
    assert (y.layout, y.shape) == (layout, (2, 3, 4, 5))
    assert type(y.creator).__name__ == 'AsLayout'
    np.testing.assert_array_equal(y.array, X)
    # Bytes from one element of each axis to the next.
    assert y.array.strides == (240, 4, 60, 12)
    assert memory_layouts.get_raw_shape(y) == (2, 4, 5, 3)
    assert memory_layouts.get_semantic_shape(y) == (2, 3, 4, 5)
    assert memory_layouts.get_semantic_shape(y, assumed_layout=layout) == (2, 3, 4, 5)
    with pytest.raises(AssertionError, match='layout of the Variable'):
        memory_layouts.get_semantic_shape(y, assumed_layout=None)
    back = y.as_layout(None)
    assert (back.layout, back.array.strides) == (None, X.strides)
    np.testing.assert_array_equal(back.array, X)


def test_variables_made_with_a_layout():
    """The array is then given as it lies in memory."""
    x = chainer.Variable(X, layout=CUDNN_CHANNEL_LAST_X)
    assert (x.layout, x.shape, memory_layouts.get_raw_shape(x)) == (
        CUDNN_CHANNEL_LAST_X, (2, 5, 3, 4), X.shape)
    np.testing.assert_array_equal(x.array, X.transpose(0, 3, 1, 2))
    assert chainer.Variable(layout=CUDNN_CHANNEL_LAST_X).layout == CUDNN_CHANNEL_LAST_X
    assert chainer.Variable(X, layout=None).layout is None


def test_the_layout_that_is_there_already():
    x = chainer.Variable(X)
    assert x.as_layout(None) is x
    y = x.as_layout(CUDNN_CHANNEL_LAST_X)
    assert y.as_layout(CUDNN_CHANNEL_LAST_X) is y


def test_shapes_of_arrays():
    assert memory_layouts.get_raw_shape(X) == memory_layouts.get_semantic_shape(X) == (2, 3, 4, 5)
    assert memory_layouts.get_semantic_shape(
        X, assumed_layout=CUDNN_CHANNEL_LAST_X) == (2, 5, 3, 4)


@pytest.mark.parametrize('ndim, to_last, to_first', [
    (3, (0, 2, 1), (0, 2, 1)), (4, (0, 2, 3, 1), (0, 3, 1, 2)),
    (5, (0, 2, 3, 4, 1), (0, 4, 1, 2, 3))])
def test_axes(ndim, to_last, to_first):
    axes = memory_layouts._get_layout_transpose_axes
    for last in (CUDNN_CHANNEL_LAST_X, CUDNN_CHANNEL_LAST_W):
        assert axes(ndim, None, last) == axes(ndim, last, None, inverse=True) == to_last
        assert axes(ndim, last, None) == axes(ndim, None, last, inverse=True) == to_first
        assert axes(ndim, last, last) is None
    assert axes(ndim, None, None) is None


def test_errors():
    x = chainer.Variable(X)
    with pytest.raises(ValueError, match="from 'None' to 'foo'"):
        x.as_layout('foo')
    with pytest.raises(AssertionError, match='different things'):
        x.as_layout(CUDNN_CHANNEL_LAST_X).as_layout(CUDNN_CHANNEL_LAST_W)


def test_derivatives():
    def f(x):
        return F.tanh(x.as_layout(CUDNN_CHANNEL_LAST_X)).as_layout(CUDNN_CHANNEL_LAST_W)

    x = np.random.RandomState(0).randn(2, 3, 2, 2)
    gradient_check.check_backward(f, x, x)
    gradient_check.check_double_backward(f, x, x, x)


@pytest.mark.parametrize('given', list(itertools.product([False, True], repeat=2)))
def test_parameters(given):
    with_shape, later = given
    if with_shape:
        p = chainer.Parameter(
            1., None if later else (2, 3, 4, 5), layout=CUDNN_CHANNEL_LAST_W)
        if later:
            p.initialize((2, 3, 4, 5))
        assert p.shape == (2, 3, 4, 5)
    else:
        # Such an array has its axes in this order.
        p = chainer.Parameter(X, layout=CUDNN_CHANNEL_LAST_W)
        assert p.shape == (2, 5, 3, 4)
        np.testing.assert_array_equal(p.array, X.transpose(0, 3, 1, 2))
    assert p.layout == CUDNN_CHANNEL_LAST_W
    assert memory_layouts.get_raw_shape(p) == tuple([p.shape[axis] for axis in (0, 2, 3, 1)])
    assert p.array.transpose(0, 2, 3, 1).flags.c_contiguous
    assert chainer.Parameter(1., ()).shape == ()


class Twice(chainer.FunctionNode):
    """Knows of layouts: writes down what it is given."""

    def __init__(self, output_layouts=None):
        self.given = output_layouts

    def check_layout_forward(self, inputs):
        self.checked = [x.layout for x in inputs]

    def forward(self, inputs):
        self.shapes = [x.shape for x in inputs]
        self.seen = self.input_layouts
        if self.given is not None:
            self.output_layouts = self.given
        return tuple([x * 2 for x in inputs])

    def backward(self, indexes, grad_outputs):
        self.gradients = [(gy.layout, gy.shape, gy.raw_array.shape) for gy in grad_outputs]
        return tuple([grad_outputs[i] * 2 for i in indexes])


@pytest.mark.parametrize(('layouts', 'shapes'), [  # as in 7.8.1
    ((None,), [(2, 3, 4, 5)]), ((CUDNN_CHANNEL_LAST_X,), [(2, 4, 5, 3)]),
    ((CUDNN_CHANNEL_LAST_W,), [(2, 4, 5, 3)]),
    ((CUDNN_CHANNEL_LAST_X, None), [(2, 4, 5, 3), (2, 3, 4, 5)])])
def test_functions_that_know_of_layouts(layouts, shapes):
    xs = [chainer.Variable(X) for _ in layouts]
    node = Twice(layouts)
    ys = node.apply([x.as_layout(layout) for x, layout in zip(xs, layouts, strict=True)])
    assert (node.checked, node.shapes, node.seen) == (list(layouts), shapes, layouts)
    assert node.output_layouts == layouts
    for y, layout, shape in zip(ys, layouts, shapes, strict=True):
        assert (y.layout, y.shape, y.raw_array.shape, y.creator) == (layout, X.shape, shape, node)
        np.testing.assert_array_equal(y.array, X * 2)
    F.sum(sum([y.as_layout(None) for y in ys])).backward()
    assert node.gradients == [
        (layout, X.shape, shape) for layout, shape in zip(layouts, shapes, strict=True)]
    for x in xs:
        np.testing.assert_array_equal(x.grad, np.full_like(X, 2))


def test_outputs_have_the_usual_layout_unless_it_is_said():
    """The array is then taken as it is, as in 7.8.1."""
    y, = Twice().apply((chainer.Variable(X).as_layout(CUDNN_CHANNEL_LAST_X),))
    assert (y.layout, y.shape) == (None, (2, 4, 5, 3))
    with pytest.raises(ValueError, match='output_layouts of Twice has 2 elements for 1 outputs'):
        Twice((None, None)).apply((X,))


def test_layouts_are_known_where_a_function_asks_for_them():
    for node in (Twice(), F.relu(chainer.Variable(X)).creator):
        for name in ('input_layouts', 'output_layouts'):
            with pytest.raises(AssertionError, match='layouts are known'):
                getattr(node, name)


def test_a_function_may_refuse_layouts():
    class Refuses(Twice):
        def check_layout_forward(self, inputs):
            raise ValueError('not this one')

    with pytest.raises(ValueError, match='not this one'):
        Refuses().apply((X,))


def test_raw_array():
    x = chainer.Variable(X)
    assert x.raw_array is X
    raw = x.as_layout(CUDNN_CHANNEL_LAST_X).raw_array
    assert raw.flags.c_contiguous
    np.testing.assert_array_equal(raw, X.transpose(0, 2, 3, 1))
    assert chainer.Variable().raw_array is None
