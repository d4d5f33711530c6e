"""chainerx as an installation of Chainer 7.8.1 without the compiled part has it."""
import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
import chainerx
from chainer import backend

NOT_AVAILABLE = 'ChainerX is not available: its compiled part is not installed'


def test_what_is_there():
    assert chainerx.is_available() is False
    assert isinstance(chainerx.ndarray, type)
    assert not isinstance(np.zeros(2), chainerx.ndarray)
    assert chainer.chainerx is chainerx


def test_no_array_can_be_made():
    with pytest.raises(RuntimeError, match='chainerx is not available: .*NumPy array'):
        chainerx.ndarray((2, 3), 'f')


@pytest.mark.parametrize('name', ['zeros', 'array', 'using_device', 'get_device', 'backward'])
def test_other_names_say_what_is_missing(name):
    with pytest.raises(AttributeError, match=f'{name}.*is_available'):
        getattr(chainerx, name)
    assert not hasattr(chainerx, name)


def test_submodules_are_missing():
    with pytest.raises(ModuleNotFoundError, match='chainerx.testing'):
        import chainerx.testing  # noqa: F401


def _link():
    return L.Linear(2, 3)


def _updater():
    iterator = chainer.iterators.SerialIterator([1], 1)
    optimizer = chainer.optimizers.SGD().setup(_link())
    return chainer.training.updaters.StandardUpdater(iterator, optimizer, device='native')


# Each gives RuntimeError in 7.8.1, too.
@pytest.mark.parametrize('call', [
    lambda: chainer.get_device('native'),
    lambda: chainer.get_device('native:0'),
    lambda: chainer.get_device('cuda:0'),
    lambda: chainer.get_device('another_backend'),
    lambda: chainer.using_device('native:0'),
    lambda: backend.ChainerxDevice('native:0'),
    lambda: backend.to_chx([np.zeros(2)]),
    lambda: chainer.Variable(np.zeros(2)).to_chx(),
    lambda: chainer.Variable(np.zeros(2)).to_device('native:0'),
    lambda: chainer.Parameter(np.zeros(2)).to_chx(),
    lambda: _link().to_chx(),
    lambda: _link().to_device('native:0'),
    lambda: chainer.dataset.to_device('native:0', np.zeros(2)),
    lambda: chainer.dataset.concat_examples([np.zeros(2)], device='cuda:0'),
    _updater,
])
def test_devices_of_chainerx_are_missing(call):
    with pytest.raises(RuntimeError, match=NOT_AVAILABLE):
        call()


def test_nothing_to_bring_back():
    x, link = np.zeros(2), _link()
    assert backend.from_chx(x) is x
    assert backend.from_chx([x, None, (x,)]) == [x, None, (x,)]
    assert link.from_chx() is link
    assert chainer.Variable(x).from_chx() is None
    for wrong in ('s', {'x': x}):
        with pytest.raises(TypeError, match='an array .* is needed'):
            backend.from_chx(wrong)


def test_nothing_to_send():
    assert backend.to_chx(None) is None
    assert backend.to_chx([]) == []
    assert backend.ChainerxDevice.from_array(np.zeros(2)) is None


def test_chx_array():
    with pytest.raises(ValueError, match='chx_array'):
        chainer.Variable(np.zeros(2)).chx_array  # noqa: B018


class Identity(chainer.FunctionNode):
    def forward(self, inputs):
        assert self.chainerx_device is None
        return inputs

    def forward_chainerx(self, inputs):
        raise AssertionError('there are no arrays of ChainerX')

    def backward(self, indexes, grad_outputs):
        return grad_outputs


def test_functions_with_code_for_chainerx():
    y, = Identity().apply((np.ones(2, 'f'),))
    assert y.array.tolist() == [1, 1]
    assert F.relu.__module__ == 'chainer.functions.activation.relu'
    assert chainer.FunctionNode().forward_chainerx((y.array,)) is chainer.Fallback


def test_update_rules_with_code_for_chainerx():
    with pytest.raises(RuntimeError, match=NOT_AVAILABLE):
        chainer.UpdateRule().update_core_chainerx(chainer.Parameter(np.zeros(2)))


def test_runtime_info(capsys):
    chainer.print_runtime_info()
    assert '\nChainerX: Not Available\n' in capsys.readouterr().out
