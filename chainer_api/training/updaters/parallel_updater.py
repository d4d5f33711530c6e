"""Several devices in one process."""
import contextlib
import copy

import chainer
from chainer import backend
from chainer.dataset import convert
from chainer.training.updaters import standard_updater


class ParallelUpdater(standard_updater.StandardUpdater):
    """Updater that computes the gradients of a batch on several devices (usually GPUs) at once.

    Each batch is dealt out to copies of the model, one on each device. Their gradients are added
    up in the main model, which the optimizer changes, and its parameters are copied to the others.
    One process queues the work of all devices.

    Args:
        iterator: Iterator of the training data (named 'main'), or a dictionary of iterators.
        optimizer: Optimizer (named 'main'), or a dictionary of optimizers.
        converter: Makes arrays of a batch; called with its part of the batch and the device.
        models (dict): Models by name; 'main' is the target of the optimizer. ``None`` makes copies
            for the ``devices``.
        devices (dict): Device of each model, by the same names.
        loss_func: Loss, used for all models; the models themselves if ``None``.
        loss_scale (float): As for :class:`~chainer.training.updaters.StandardUpdater`.
        auto_new_epoch (bool): Whether the optimizer 'main' is told of new epochs.

    Raises:
        ValueError: Neither ``models`` nor ``devices`` is given.
        KeyError: There is no 'main' among them.
    """

    def __init__(self, iterator, optimizer, converter=convert.concat_examples, models=None,
                 devices=None, loss_func=None, loss_scale=None, auto_new_epoch=True):
        super().__init__(
            iterator, optimizer, converter, loss_func=loss_func, loss_scale=loss_scale,
            auto_new_epoch=auto_new_epoch)
        if models is None and devices is None:
            raise ValueError('either models or devices must be specified')
        for name, given in (('models', models), ('devices', devices)):
            if given is not None and 'main' not in given:
                raise KeyError(f"'{name}' must contain a 'main' key.")
        target = self._optimizers['main'].target
        if models is None:
            models = {name: target if name == 'main' else copy.deepcopy(target)
                      for name in devices}
            for name, device in devices.items():
                if device is not None:
                    models[name].to_device(backend.get_device(device))
        self._models = models
        self._devices = devices or dict.fromkeys(models)

    def connect_trainer(self, trainer):
        """Makes the models other than 'main' observers, under their names."""
        for name, model in self._other_models().items():
            trainer.reporter.add_observer(name, model)

    def _other_models(self):
        return {name: model for name, model in self._models.items() if name != 'main'}

    def update_core(self):
        """Takes a batch, computes gradients on all devices, and makes one step."""
        iterator = self._iterators['main']
        optimizer = self._optimizers['main']
        main = self._models['main']
        others = self._other_models().values()
        batch = iterator.next()

        losses = []
        for model in self._models.values():
            model.cleargrads()
        for i, (name, model) in enumerate(self._models.items()):
            device = self._devices[name]
            args, kwargs = self._convert(batch[i::len(self._models)], device)
            loss_func = self.loss_func or model
            with chainer.force_backprop_mode(), _using(device):
                losses.append((loss_func(*args, **kwargs), device))
        for loss, device in losses:
            with _using(device):
                loss.backward(loss_scale=self.loss_scale)
        for model in others:
            main.addgrads(model)
        optimizer.update()
        for model in others:
            model.copyparams(main)

        if self.auto_new_epoch and iterator.is_new_epoch:
            optimizer.new_epoch(auto=True)


def _using(device):
    return contextlib.nullcontext() if device is None else chainer.using_device(device)
