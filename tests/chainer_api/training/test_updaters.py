"""Updaters: what they hand to the loss, and their errors."""
import pathlib
import sys

import numpy as np
import pytest

import chainer
import chainer.functions as F
from chainer import dataset, iterators, optimizers, training
from chainer.backends import cuda
from chainer.training import updater as old_place
from chainer.training import updaters
from chainer.training.updaters import multiprocess_parallel_updater as multiprocess

GOLDEN = pathlib.Path(__file__).parents[2] / 'golden'
sys.path.insert(0, str(GOLDEN))

from training_cases import Model, make_data  # noqa: E402


class Loss(chainer.Link):
    """Records its arguments."""

    def __init__(self):
        super().__init__(w=(1,))
        self.w.array[...] = 2
        self.calls = []

    def forward(self, *args, **kwargs):
        self.calls.append((args, kwargs))
        return F.sum(self.w)


def make(batch=None, model=None, **kwargs):
    model = Loss() if model is None else model
    iterator = iterators.SerialIterator([1, 2, 3, 4], 2, shuffle=False)
    if batch is not None:
        kwargs['converter'] = lambda examples, device: batch
    return updaters.StandardUpdater(iterator, optimizers.SGD(0.5).setup(model), **kwargs), model


@pytest.mark.parametrize('batch, args, kwargs', [
    ((1, 2), (1, 2), {}), ([1, 2], (1, 2), {}), ({'x': 1, 'y': 2}, (), {'x': 1, 'y': 2}),
    (7, (7,), {})])
def test_arguments_of_the_loss(batch, args, kwargs):
    updater, model = make(batch)
    updater.update()
    assert model.calls == [(args, kwargs)] and model.w.array == 1.5
    updater, model = make(batch, loss_func=lambda *a, **k: F.sum(model.w) * len(a or k))
    updater.update()
    assert model.calls == [] and model.w.array == 2 - 0.5 * len(args or kwargs)


def test_counts():
    updater, model = make()
    assert (updater.iteration, updater.epoch, updater.previous_epoch_detail) == (0, 0, None)
    updater.update()
    updater.update()
    assert (updater.iteration, updater.epoch, updater.epoch_detail) == (2, 1, 1.)
    assert updater.is_new_epoch and updater.previous_epoch_detail == 0.5
    optimizer = updater.get_optimizer('main')
    assert optimizer.target is model and updater.get_all_optimizers() == {'main': optimizer}
    assert updater.get_iterator('main').batch_size == 2
    assert (optimizer.t, optimizer.epoch, optimizer.use_auto_new_epoch) == (2, 1, True)


def test_without_auto_new_epoch():
    updater, _ = make(auto_new_epoch=False)
    updater.update()
    updater.update()
    optimizer = updater.get_optimizer('main')
    assert optimizer.epoch == 0 and not optimizer.use_auto_new_epoch


def test_dictionaries_and_finalize():
    finalized = []

    class Iterator(dataset.Iterator):
        def finalize(self):
            finalized.append(self)

    given = {'main': Iterator(), 'other': Iterator()}
    optimizer = optimizers.SGD().setup(Loss())
    updater = updaters.StandardUpdater(given, {'a': optimizer, 'b': optimizer})
    assert list(updater.get_all_optimizers()) == ['a', 'b']
    with pytest.raises(KeyError):
        updater.get_optimizer('main')
    updater.finalize()
    assert finalized == list(given.values())


@pytest.mark.parametrize('device, shown, number', [
    (None, None, None), (-1, -1, -1), ('@numpy', chainer.get_device('@numpy'), -1)])
def test_device(device, shown, number):
    seen = []
    updater, model = make(
        converter=lambda batch, device: seen.append(device) or np.ones(1), device=device)
    updater.update()
    assert updater.device == shown and seen == [number]

    @dataset.converter()
    def converter(batch, device):
        seen.append(device)
        return np.ones(1)

    updater, model = make(converter=converter, device=device, input_device='@numpy')
    updater.update()
    assert seen[1] == chainer.get_device('@numpy')


@pytest.mark.skipif(cuda.available, reason='there is a GPU')
def test_gpu_that_is_not_there():
    with pytest.raises(RuntimeError, match='CUDA'):
        make(device=0)


def test_loss_scale():
    plain, scaled = [make(model=Model(), converter=lambda batch, device: (
        np.ones((2, 2), np.float32), np.zeros((2, 1), np.float32)), loss_scale=scale)
        for scale in (None, 64.)]
    for updater, _ in plain, scaled:
        updater.update()
    np.testing.assert_array_equal(plain[1].l.W.array, scaled[1].l.W.array)


def test_interface():
    updater = training.Updater()
    updater.connect_trainer(None)
    for call in (updater.update, updater.finalize, updater.get_all_optimizers,
                 lambda: updater.get_optimizer('x'), lambda: updater.serialize(None)):
        with pytest.raises(NotImplementedError, match='Updater must define'):
            call()


def test_older_places():
    assert old_place.StandardUpdater is updaters.StandardUpdater is training.StandardUpdater
    assert old_place.ParallelUpdater is updaters.ParallelUpdater is training.ParallelUpdater
    assert old_place.Updater is training.Updater


class TestParallel:

    def make(self, **kwargs):
        model = Model()
        iterator = iterators.SerialIterator(make_data(4), 4, shuffle=False)
        return updaters.ParallelUpdater(
            iterator, optimizers.SGD(0.1).setup(model), **kwargs), model

    def test_errors(self):
        with pytest.raises(ValueError, match='either models or devices must be specified'):
            self.make()
        with pytest.raises(KeyError, match="'devices' must contain a 'main' key"):
            self.make(devices={'a': -1})
        with pytest.raises(KeyError, match="'models' must contain a 'main' key"):
            self.make(models={'a': Model()})

    def test_two_halves_are_the_whole(self):
        # Twice the learning rate: gradients are of means over halves, and are added.
        parallel, model = self.make(devices={'main': -1, 'second': -1})
        whole = Model()
        iterator = iterators.SerialIterator(make_data(4), 4, shuffle=False)
        standard = updaters.StandardUpdater(iterator, optimizers.SGD(0.2).setup(whole))
        for _ in range(5):
            parallel.update()
            standard.update()
        np.testing.assert_allclose(model.l.W.array, whole.l.W.array, rtol=1e-5)
        second = parallel._models['second']
        assert second is not model
        np.testing.assert_array_equal(second.l.W.array, model.l.W.array)
        assert parallel.get_optimizer('main').epoch == 5

    def test_given_models(self):
        model = Model()
        iterator = iterators.SerialIterator(make_data(4), 4, shuffle=False)
        updater = updaters.ParallelUpdater(
            iterator, optimizers.SGD(0.1).setup(model), models={'main': model, 'b': Model()})
        updater.update()
        np.testing.assert_array_equal(updater._models['b'].l.W.array, model.l.W.array)


class TestMultiprocessParallel:

    @pytest.mark.skipif(cuda.available, reason='there may be NCCL')
    def test_without_nccl(self):
        assert not updaters.MultiprocessParallelUpdater.available()
        with pytest.raises(RuntimeError, match='NCCL is not enabled.*Use StandardUpdater'):
            updaters.MultiprocessParallelUpdater([], optimizers.SGD().setup(Loss()), devices=[0])

    def test_vectors(self):
        model, other = Model(), Model()
        for param in model.params():
            param.grad = param.array + 1
        assert multiprocess.size_num_grads(model) == (3, 2)
        params = multiprocess._gather(model, multiprocess._array)
        grads = multiprocess._gather(model, multiprocess._grad_or_zeros)
        np.testing.assert_array_equal(params, np.float32([0.5, -0.25, 0]))
        np.testing.assert_array_equal(grads, params + 1)
        multiprocess.scatter_params(other, params * 2)
        multiprocess.scatter_grads(other, grads * 3)
        np.testing.assert_array_equal(other.l.W.array, [[1, -0.5]])
        np.testing.assert_array_equal(other.l.W.grad, [[4.5, 2.25]])
        np.testing.assert_array_equal(other.l.b.grad, [3])
        other.cleargrads()
        grads = multiprocess._gather(other, multiprocess._grad_or_zeros)
        np.testing.assert_array_equal(grads, [0, 0, 0])
        assert multiprocess._gather(chainer.Link(), multiprocess._array).size == 0

    @pytest.mark.parametrize('name', ['gather_grads', 'gather_params'])
    def test_vectors_are_for_gpus(self, name):
        with pytest.raises(RuntimeError, match=f'{name} works on a GPU only'):
            getattr(multiprocess, name)(Model())


class OwnDevice(chainer.backend.Device):
    """A device of the user's, as Chainer 7 lets one write it."""

    xp = np
    supported_array_types = np.ndarray,
    name = 'own'

    def __init__(self):
        self.sent = []

    def send_array(self, array):
        self.sent.append(array.shape)
        return array


def test_device_of_the_user():
    # 7.8.1 sends the same arrays: parameters, their gradients, and the batch.
    device = OwnDevice()
    model = chainer.links.Linear(2, 1)
    iterator = iterators.SerialIterator([np.ones(2, np.float32)] * 4, 2)
    updater = updaters.StandardUpdater(
        iterator, optimizers.SGD().setup(model), device=device,
        loss_func=lambda x: chainer.functions.sum(model(x)))
    updater.update()
    assert sorted(device.sent[:4]) == [(1,), (1,), (1, 2), (1, 2)]
    assert device.sent[4:] == [(2, 2)]
