"""The interface between trainers and what trains."""


class Updater:
    """Base of updaters: what a trainer calls to do one iteration.

    An iteration fetches a batch, computes a loss and its gradients, and lets the optimizers change
    the parameters. Besides the methods below an updater has the attributes ``iteration``,
    ``epoch``, ``epoch_detail``, ``previous_epoch_detail`` and ``is_new_epoch``, which triggers and
    extensions look at.
    """

    def connect_trainer(self, trainer):
        """Called when a trainer is made with this updater; does nothing by default."""

    def finalize(self):
        """Called at the end of training; should finalize the iterators."""
        raise NotImplementedError(f'{type(self).__name__} must define finalize()')

    def get_optimizer(self, name):
        """The optimizer of a name."""
        raise NotImplementedError(f'{type(self).__name__} must define get_optimizer(name)')

    def get_all_optimizers(self):
        """A dictionary of the optimizers by name."""
        raise NotImplementedError(f'{type(self).__name__} must define get_all_optimizers()')

    def update(self):
        """Does one iteration."""
        raise NotImplementedError(f'{type(self).__name__} must define update()')

    def serialize(self, serializer):
        """Saves or restores the updater's state."""
        raise NotImplementedError(f'{type(self).__name__} must define serialize(serializer)')
