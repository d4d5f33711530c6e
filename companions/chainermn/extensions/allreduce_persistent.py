"""Running averages, averaged over the processes."""
import chainer
from chainer.training import extension


class AllreducePersistent(extension.Extension):
    """Extension that replaces floating-point persistent values by their means over all processes.

    These are the running averages of :class:`~chainer.links.BatchNormalization`, which each process
    takes over its own batches. It is enough to do it before the model is saved or evaluated.

    Its trigger is ``(1, 'epoch')``, its priority above that of evaluators.

    Args:
        model (chainer.Link): Its persistent values, and those of its children, are replaced.
        comm (CommunicatorBase): Communicator.
    """

    trigger = 1, 'epoch'
    priority = extension.PRIORITY_WRITER + 1

    def __init__(self, model, comm):
        self.model = model
        self.comm = comm

    def __call__(self, trainer=None):
        for link in self.model.links():
            for name in sorted(link._persistent):
                value = getattr(link, name)
                if isinstance(value, chainer.get_array_types()) and value.dtype.kind == 'f':
                    with chainer.using_device(link.device):
                        value[...] = self.comm.allreduce(value) / self.comm.size
