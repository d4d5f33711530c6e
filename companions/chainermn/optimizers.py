"""Optimizers that average gradients over the processes."""
from chainer import _backprop
from chainer import serializer as serializer_module
from chainermn import _overlap


def create_multi_node_optimizer(actual_optimizer, communicator, double_buffering=False,
                                zero_fill=True, *, overlap=False):
    """Make an optimizer that updates with the means of all processes' gradients.

    It behaves as the given optimizer, whose attributes and methods are its own. Its first update
    does not change parameters but gives all processes those of rank 0; and so does the first one
    after the model has got new parameters. After all processes have loaded a snapshot, the first
    update is one like any other.

    Args:
        actual_optimizer (chainer.Optimizer): Optimizer.
        communicator (CommunicatorBase): Communicator.
        double_buffering (bool): Whether to average the gradients of an update while the next ones
            are computed, and to use those of the update before; only with ``pure_nccl``.
        zero_fill (bool): Whether a parameter without a gradient takes part with zeros.
        overlap (bool): Whether gradients are sent in buckets of some megabytes while backward
            still computes others; for parameters on the CPU. It is worth it where there are more
            cores than processes, or machines. The numbers do not depend on what overlaps.

    Returns:
        The optimizer.

    Raises:
        ValueError: The communicator does not support double buffering or overlap, or both are
            asked for, or ``overlap`` without ``zero_fill``.

    >>> import chainermn
    >>> comm = chainermn.create_communicator('naive')
    >>> optimizer = chainermn.create_multi_node_optimizer(chainer.optimizers.SGD(lr=0.5), comm)
    >>> optimizer = optimizer.setup(L.Linear(2, 3))
    >>> optimizer.lr
    0.5
    """
    if overlap:
        return _make_overlapping(actual_optimizer, communicator, double_buffering, zero_fill)
    if not double_buffering:
        return _MultiNodeOptimizer(actual_optimizer, communicator, zero_fill)
    from chainermn.communicators.pure_nccl_communicator import PureNcclCommunicator

    if not isinstance(communicator, PureNcclCommunicator):
        raise ValueError(
            "This communicator does not support double buffering. Use 'pure_nccl' for it")
    return _DoubleBufferingOptimizer(actual_optimizer, communicator, zero_fill)


def _make_overlapping(actual_optimizer, communicator, double_buffering, zero_fill):
    if double_buffering or not zero_fill:
        raise ValueError('overlap=True goes neither with double_buffering nor without zero_fill')
    if not hasattr(communicator, '_scale_to_mean'):
        raise ValueError("This communicator does not support overlap. Use 'naive' or 'flat'")
    return _OverlappingOptimizer(actual_optimizer, communicator, zero_fill)


class _MultiNodeOptimizer:

    _own = frozenset(['communicator', 'actual_optimizer', 'zero_fill', 'target_params', '_loaded'])

    def __init__(self, actual_optimizer, communicator, zero_fill):
        self.communicator = communicator
        self.actual_optimizer = actual_optimizer
        self.zero_fill = zero_fill
        self.target_params = []
        self._loaded = False

    def __getattr__(self, name):
        if name == 'actual_optimizer':  # not there yet, in unpickling
            raise AttributeError(name)
        return getattr(self.actual_optimizer, name)

    def __setattr__(self, name, value):
        if name in self._own:
            object.__setattr__(self, name, value)
        else:
            setattr(self.actual_optimizer, name, value)

    def setup(self, link):
        """Set the target, as the actual optimizer does; returns this one."""
        self.actual_optimizer.setup(link)
        self.target_params = []
        self._loaded = False
        return self

    def update(self, lossfun=None, *args, **kwds):
        """Average the gradients over the processes, and update the parameters.

        Args:
            lossfun (callable): Function that returns the loss. Without it, gradients must have
                been computed.
            args, kwds: Arguments of ``lossfun``.
        """
        target = self.target
        if not self.target_params and self._all_have_loaded(target):
            self.communicator.bcast_data(target)
            self.target_params = _names(target)
        if lossfun is not None:
            self._backward(lossfun(*args, **kwds))
        if self.is_changed(target):
            self._broadcast(target)
        else:
            self._average_and_update(target)

    def _backward(self, loss):
        if getattr(self.actual_optimizer, '_use_cleargrads', True):
            self.target.cleargrads()
        else:
            self.target.zerograds()
        loss.backward(loss_scale=self.actual_optimizer._loss_scale)

    def _broadcast(self, target):
        self.communicator.bcast_data(target)
        self.target_params = _names(target)

    def _average_and_update(self, target):
        self.communicator.multi_node_mean_grad(target, self.zero_fill)
        self.actual_optimizer.update(None)

    def is_changed(self, target):
        """Whether the model has other parameters than those that were broadcast."""
        return self.target_params != _names(target)

    def serialize(self, serializer):
        """Save or load what the actual optimizer does."""
        self.actual_optimizer.serialize(serializer)
        if isinstance(serializer, serializer_module.Deserializer):
            self._parameters_are_in_sync()

    def _parameters_are_in_sync(self):
        self.target_params = []
        self._loaded = True

    def _all_have_loaded(self, target):
        """Whether all processes go on from what they have loaded.

        Where one only has, its parameters are those that the others are to get.
        """
        loaded = self._loaded and all(param.array is not None for param in target.params())
        return self.communicator.allreduce_obj(int(loaded)) == self.communicator.size


class _DoubleBufferingOptimizer(_MultiNodeOptimizer):

    _own = _MultiNodeOptimizer._own | {'_pending'}

    def __init__(self, actual_optimizer, communicator, zero_fill):
        super().__init__(actual_optimizer, communicator, zero_fill)
        self._pending = None

    def setup(self, link):
        self._pending = None
        return super().setup(link)

    def _broadcast(self, target):
        self.wait()
        super()._broadcast(target)

    def _average_and_update(self, target):
        means = self.wait()
        self._pending = self.communicator._multi_node_mean_grad_async(target, self.zero_fill)
        if means is None:  # the gradients of the first update are used in the second
            return
        for name, param in target.namedparams():
            param.grad = means.get(name)
        self.actual_optimizer.update(None)

    def wait(self):
        """Wait for the means under way, and return them by name."""
        pending, self._pending = self._pending, None
        return None if pending is None else pending()


class _OverlappingOptimizer(_MultiNodeOptimizer):

    _own = _MultiNodeOptimizer._own | {'averager', '_begun'}

    def __init__(self, actual_optimizer, communicator, zero_fill):
        super().__init__(actual_optimizer, communicator, zero_fill)
        self.averager = None
        self._begun = False

    def setup(self, link):
        self.averager = None
        return super().setup(link)

    def _backward(self, loss):
        if self.is_changed(self.target):
            super()._backward(loss)
            return
        self._begin()
        with _backprop.watching(self.averager.put, _overlap.BUCKET):
            super()._backward(loss)

    def _begin(self):
        if self.averager is None:
            self.averager = _overlap.Averager(self.communicator, self.target.params(False))
        self.averager.begin()
        self._begun = True

    def _broadcast(self, target):
        self.averager = None
        super()._broadcast(target)

    def _average_and_update(self, target):
        if not self._begun:  # the gradients were computed before
            self._begin()
        self._begun = False
        self.averager.finish()
        self.actual_optimizer.update(None)


def _names(target):
    return [(name, param.array is not None) for name, param in sorted(target.namedparams())]
