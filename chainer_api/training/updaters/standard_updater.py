"""The plain updater: one batch, one loss, one step."""
from chainer import backend, device_resident
from chainer.dataset import convert
from chainer.training import _updater


class StandardUpdater(_updater.Updater):
    """Updater for one or more datasets and optimizers.

    An iteration takes a batch from the iterator 'main', converts it to arrays and has the optimizer
    'main' minimize the loss of them. The arrays are the arguments of the loss: positional ones for
    a tuple (or a list), keyword ones for a dictionary, a single one for an array. Subclasses
    override :meth:`update_core` for something else.

    Args:
        iterator: Iterator of the training data (named 'main'), or a dictionary of iterators.
        optimizer: Optimizer (named 'main'), or a dictionary of optimizers.
        converter: Makes arrays of a batch; called with the batch and the device.
        device: Device of the data, as for :func:`chainer.dataset.to_device`. The targets of the
            optimizers are sent to it as well if it is a GPU, but for what is on a GPU already:
            models whose parts are on several GPUs stay so.
        loss_func: Loss; the target of the optimizer 'main' if ``None``.
        loss_scale (float): Factor of the loss, which the optimizer divides gradients by again: half
            precision gradients do not vanish so easily.
        auto_new_epoch (bool): Whether the optimizer 'main' is told of new epochs.
        input_device: Device to send the data to, if not ``device``.

    Attributes:
        converter: Makes arrays of a batch.
        device: Device of the data, as it was given (as an object if it was given by a string).
        loss_func: Loss, or ``None``.
        iteration (int): Number of updates done.
        auto_new_epoch (bool): Whether the optimizer 'main' is told of new epochs.
        loss_scale (float): Factor of the loss, or ``None``.
    """

    def __init__(self, iterator, optimizer, converter=convert.concat_examples, device=None,
                 loss_func=None, loss_scale=None, auto_new_epoch=True, *, input_device=None):
        if not isinstance(iterator, dict):
            iterator = {'main': iterator}
        if not isinstance(optimizer, dict):
            optimizer = {'main': optimizer}
        self._iterators = iterator
        self._optimizers = optimizer
        self.converter = converter
        self.loss_func = loss_func
        self.iteration = 0
        self.device, given = [
            backend.get_device(spec) if isinstance(spec, str) else spec
            for spec in (device, input_device)]
        self.input_device = self.device if given is None else given
        self._send_targets()
        self.loss_scale = loss_scale
        if loss_scale is not None:
            for each in optimizer.values():
                each.set_loss_scale(loss_scale)
        self.auto_new_epoch = auto_new_epoch
        if auto_new_epoch:
            for each in optimizer.values():
                each.use_auto_new_epoch = True

    def _send_targets(self):
        device = None if self.device is None else backend.get_device(self.device)
        if device is not None and type(device) is not backend.CpuDevice:
            for optimizer in self._optimizers.values():
                # Models that were spread over several GPUs stay so.
                device_resident.to_device_from_host(optimizer.target, device, 'the updater')

    @property
    def epoch(self):
        """The number of epochs that the iterator 'main' has finished."""
        return self._iterators['main'].epoch

    @property
    def epoch_detail(self):
        """The number of finished epochs, with the fraction of the current one."""
        return self._iterators['main'].epoch_detail

    @property
    def previous_epoch_detail(self):
        """:attr:`epoch_detail` before the last update."""
        return self._iterators['main'].previous_epoch_detail

    @property
    def is_new_epoch(self):
        """Whether the last update finished an epoch."""
        return self._iterators['main'].is_new_epoch

    def finalize(self):
        """Finalizes the iterators."""
        for iterator in self._iterators.values():
            iterator.finalize()

    def get_optimizer(self, name):
        """The optimizer of a name."""
        return self._optimizers[name]

    def get_all_optimizers(self):
        """A dictionary of the optimizers by name."""
        return dict(self._optimizers)

    def get_iterator(self, name):
        """The iterator of a name."""
        return self._iterators[name]

    def update(self):
        """Does one iteration: :meth:`update_core`, and counts it."""
        self.update_core()
        self.iteration += 1

    def update_core(self):
        """Takes a batch, and makes one step of the optimizer 'main'."""
        iterator = self._iterators['main']
        optimizer = self._optimizers['main']
        loss_func = self.loss_func or optimizer.target
        args, kwargs = self._convert(iterator.next(), self.input_device)
        optimizer.update(loss_func, *args, **kwargs)
        if self.auto_new_epoch and iterator.is_new_epoch:
            optimizer.new_epoch(auto=True)

    def _convert(self, batch, device):
        """The arguments of the loss for a batch."""
        arrays = convert._call_converter(self.converter, batch, device)
        if isinstance(arrays, (tuple, list)):
            return arrays, {}
        if isinstance(arrays, dict):
            return (), arrays
        return (arrays,), {}

    def serialize(self, serializer):
        """Saves or restores iterators, optimizers, their targets, and the count of iterations."""
        for name, iterator in self._iterators.items():
            iterator.serialize(serializer['iterator:' + name])
        for name, optimizer in self._optimizers.items():
            optimizer.serialize(serializer['optimizer:' + name])
            optimizer.target.serialize(serializer['model:' + name])
        self.iteration = serializer('iteration', self.iteration)
