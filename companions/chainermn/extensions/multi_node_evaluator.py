"""Evaluation split among the processes."""
import functools

import chainer
from chainer import reporter
from chainer.dataset import convert
from chainer.training import extension


def create_multi_node_evaluator(actual_evaluator, communicator):
    """Have an evaluator give the means over all processes.

    Each process evaluates its part of the data, and :meth:`Evaluator.evaluate` then returns the
    means of what they have computed, in which each process counts the same. A value that only some
    of them report is averaged over these.

    Args:
        actual_evaluator (chainer.training.extensions.Evaluator): Evaluator, also of a class of
            one's own; it is changed, and no longer works without the other processes.
        communicator (CommunicatorBase): Communicator.

    Returns:
        chainer.training.extensions.Evaluator: The same evaluator.
    """
    actual_evaluator._mn_communicator = communicator
    actual_evaluator._mn_original_evaluate = actual_evaluator.evaluate
    actual_evaluator.evaluate = functools.partial(_evaluate, actual_evaluator)
    return actual_evaluator


def _evaluate(evaluator):
    comm = evaluator._mn_communicator
    own = evaluator._mn_original_evaluate()
    means = comm.gather_obj(dict(own))
    if means is not None:
        values = {}
        for each in means:
            for key, value in each.items():
                values.setdefault(key, []).append(value)
        means = {key: sum(found) / len(found) for key, found in values.items()}
    return comm.bcast_obj(means)


class GenericMultiNodeEvaluator(extension.Extension):
    """Evaluator whose results of all batches of all processes come together in one.

    For measures that are no means of those of batches. A subclass implements :meth:`calc_local`
    and :meth:`aggregate`.

    Args:
        comm (CommunicatorBase): Communicator.
        iterator (chainer.dataset.Iterator): Over this process's part of the data, once.
        target (chainer.Link or callable): The model.
        device: Device of the data.
        converter: Makes arrays of a batch.
        root (int): Rank of the process that aggregates.
        progress_bar (bool): Accepted, but nothing is shown.
    """

    trigger = 1, 'epoch'
    default_name = 'validation'
    priority = extension.PRIORITY_WRITER

    def __init__(self, comm, iterator, target, device=None, converter=convert.concat_examples,
                 root=0, *, progress_bar=False):
        self.comm = comm
        self.iterator = iterator
        self._targets = {'main': target}
        self.converter = converter
        self.device = device
        self.root = root

    def __call__(self, trainer):
        """Evaluates.

        Returns:
            What :meth:`aggregate` returns in the root process, ``None`` elsewhere.
        """
        if hasattr(self.iterator, 'reset'):
            self.iterator.reset()
        values = reporter.Reporter()
        for name, target in self._targets.items():
            if isinstance(target, chainer.Link):
                values.add_observer(name, target)
                values.add_observers(name, target.namedlinks(skipself=True))
        local = []
        with values, chainer.using_config('train', False), chainer.no_backprop_mode():
            for batch in self.iterator:
                arrays = convert._call_converter(self.converter, batch, self.device)
                if isinstance(arrays, (tuple, list)):
                    local.append(self.calc_local(*arrays))
                elif isinstance(arrays, dict):
                    local.append(self.calc_local(**arrays))
                else:
                    local.append(self.calc_local(arrays))
        everything = self.comm.gather_obj(local, root=self.root)
        if everything is None:
            return None
        longest = max(len(each) for each in everything)
        return self.aggregate(
            [each[i] for i in range(longest) for each in everything if i < len(each)])

    def calc_local(self, *args, **kwargs):
        """Computes the result of a batch; any object that can be pickled.

        Args:
            args, kwargs: The arrays of the batch.
        """
        raise NotImplementedError(f'{type(self).__name__} does not implement calc_local')

    def aggregate(self, results):
        """Computes the result of all batches, in the root process only; it may report values.

        Args:
            results (list): What :meth:`calc_local` has returned: the first batch of each process
                in the order of ranks, then the second of each, and so on.
        """
        raise NotImplementedError(f'{type(self).__name__} does not implement aggregate')
