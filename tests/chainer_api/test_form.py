"""Of an array whose form alone is taken nobody sees the array: which lines of Python do that."""
import sys
import types
import warnings

import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import _tracing, cuda
from chainer.backend import get_array_module


class Read:
    """Something with an array, which notes for each look whether it takes the form."""

    def __init__(self):
        self.found, self.inner = [], self
        self.all = [self]

    @property
    def data(self):
        self.found.append(_tracing.takes_form(sys._getframe(1)))
        return np.zeros((2, 3))

    array = data

    def get_array_module(self, array):
        return np


namespace = types.SimpleNamespace(get_array_module=cuda.get_array_module)

FORM = {
    'shape': lambda x: x.data.shape,
    'an item of it': lambda x: x.data.shape[0],
    'dtype': lambda x: x.array.dtype,
    'ndim': lambda x: x.data.ndim + 1,
    'size': lambda x: [x.array.size],
    'of an attribute': lambda x: x.inner.data.shape,
    'len': lambda x: len(x.data),
    'len of an attribute': lambda x: len(x.inner.inner.array),
    'compared': lambda x: x.data.shape == (2, 3) and len(x.array) == 2,
    'in a comprehension': lambda x: [len(y.data) + y.data.ndim for y in (x, x)],
    'on several lines': lambda x: (
        x
        .data
        .shape),
    'an array module': lambda x: chainer.backend.get_array_module(x.data),
    'that of a module': lambda x: cuda.get_array_module(x.inner.data),
    'by its own name': lambda x: get_array_module(x.array).zeros(3),
    'in a call': lambda x: max(x.data.shape, key=lambda n: -n),
    'in arguments': lambda x: max(len(x.data), *x.data.shape),
    'len of an item': lambda x: len([x][0].data),
    'len of an item by a sum': lambda x: len(x.all[-1 + 1].data),
    'len of an item of an attribute': lambda x: len(x.inner.all[-1].inner.array),
    'len of a slice': lambda x: len(x.all[0:1][0].data),
    'is None': lambda x: 1 if x.data is None else 2,
    'is not None': lambda x: x.array is not None,
    'is None, of an item': lambda x: [] if x.all[0].data is None else [1],
    'is None, and more': lambda x: x.data is None or x.data.ndim == 2,
    'is None, in a condition': lambda x: not (x.data is not None and x.data.ndim),
    'a device': lambda x: cuda.get_device_from_array(x.data),
    'a device, by its old name': lambda x: cuda.get_device(x.all[0].data),
    'a device of Chainer 6': lambda x: chainer.backend.get_device_from_array(x.array),
}
NOT = {
    'alone': lambda x: x.data,
    'an item': lambda x: x.data[0],
    'a method': lambda x: x.data.sum(),
    'another attribute': lambda x: x.data.T,
    'kept': lambda x: (y := x.data).shape + y.shape,
    'an argument': lambda x: np.shape(x.data),
    'by name': lambda x: getattr(x, 'data').shape,  # noqa: B009
    'len of an item of it': lambda x: len(x.data[0]),
    'is another thing': lambda x: x.data is x,
    'None is': lambda x: None is x.data,
    'equals None': lambda x: np.all(x.data == None),  # noqa: E711
    'one of two, of which the length is taken': lambda x: len(x.data if x else x.inner.data),
    'len of what a call gives': lambda x: len((lambda: x)().data),
    'another function': lambda x: id(x.data),
    'another function of a module': lambda x: chainer.backend.copyto(np.zeros((2, 3)), x.data),
    'of something else': lambda x: x.get_array_module(x.data),
    'of a namespace': lambda x: namespace.get_array_module(x.data),
    'two arrays': lambda x: get_array_module(x.data, x.data),
    'several arguments': lambda x: max(x.data.tolist(), len('a') * [[0.0]]),
    'len of another name': lambda x: (lambda len: len(x.data))(id),
    'one of two': lambda x: (x if x is None else x.data).tolist(),
}


@pytest.mark.filterwarnings('ignore:get_device')
@pytest.mark.parametrize('name', FORM)
def test_takes_the_form(name):
    x = Read()
    for _ in range(20):  # until the interpreter has adapted the instructions
        FORM[name](x)
    assert x.found and all(x.found)


@pytest.mark.parametrize('name', NOT)
def test_does_not(name):
    x = Read()
    for _ in range(20):
        NOT[name](x)
    assert x.found and not any(x.found)


def test_len_may_be_another_function():
    names = {'len': lambda array: array.sum()}
    x = Read()
    assert eval('len(x.data)', names, {'x': x}) == 0.0
    exec('def f(x): return len(x.data)', names)
    assert names['f'](x) == 0.0 and not any(x.found)


class OneLayer(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a = L.Linear(4, 4)


@pytest.mark.parametrize('python', [True, False])
def test_no_program_ends_where_a_form_is_read(python):
    class Net(OneLayer):
        @chainer.static_graph
        def forward(self, x):
            h = F.tanh(self.a(x))
            n, width = h.data.shape
            if python:
                print(end='')  # it keeps the call with its Python
            ones = cuda.get_array_module(h.data).ones((width, 1), 'f')
            return F.sum(F.reshape(h, (width, n)) * len(h.data) * ones + x.data.ndim)

    model = Net()
    with chainer.using_config('static_budget', None):
        for _ in range(24):
            model.cleargrads()
            model(chainer.Variable(np.ones((3, 4), 'f'))).backward()
    report, = model.schedule_manager.report()
    assert report.with_python + report.without_python == 22
    assert bool(report.without_python) is not python
    assert report.stops == ()


def test_neither_for_items_devices_and_none():
    class Net(OneLayer):
        @chainer.static_graph
        def forward(self, x):
            states = [F.tanh(self.a(x))]
            for k in range(2):
                if states[k].data is not None and self.a.W.data is not None:
                    with cuda.get_device_from_array(states[k].data):
                        states.append(F.sigmoid(self.a(states[-1])) * len(states[k].data))
            total = F.sum(states[-1])
            for h in states:
                with cuda.get_device(h.data):  # with a warning
                    total = total + 1
            return total

    model, losses = Net(), []
    with chainer.using_config('static_budget', None), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter('always')
        for _ in range(24):
            model.cleargrads()
            losses.append(model(chainer.Variable(np.ones((3, 4), 'f'))))
            losses[-1].backward()
    report, = model.schedule_manager.report()
    assert report.without_python > 12 and report.stops == ()
    assert [str(w.message)[:24] for w in told] == ['get_device is deprecated'] * 24 * 3
    assert {w.filename for w in told} == {__file__}
    assert len({loss.array.tobytes() for loss in losses}) == 1


def test_what_others_make_of_it_counts():
    class Mine(chainer.Variable):
        @property
        def array(self):
            return np.zeros(7)

    x = Mine(np.zeros(3, 'f'))
    with chainer.using_config('static_budget', None):
        class Net(chainer.Chain):
            @chainer.static_graph
            def forward(self, x):
                return x.data.shape

        assert [Net()(x) for _ in range(4)] == [(7,)] * 4
