"""How good the model is on other data."""
import copy
import warnings

import chainer
from chainer import _tracing, backend, reporter
from chainer.dataset import convert
from chainer.training import extension
from chainer.training.extensions import util


class Evaluator(extension.Extension):
    """Extension that evaluates a model on a dataset, usually of validation.

    What the model reports for each batch is averaged (each batch counting the same) and reported
    to the trainer, with the extension's name in front: ``validation/main/loss``. The model runs in
    test mode (``chainer.config.train`` is false) and no graphs are made.

    Subclasses override :meth:`evaluate` for something else. An evaluator may also be called without
    a trainer; it returns the means, under names without the prefix.

    Args:
        iterator: Iterator over the data once (``repeat=False``), named 'main', or a dictionary of
            iterators.
        target: Model (named 'main'), or a dictionary of links, which are the observers.
        converter: Makes arrays of a batch; called with the batch and the device.
        device: Device of the data, as for :func:`chainer.dataset.to_device`.
        eval_hook: Called with the evaluator before each evaluation.
        eval_func: Called with the arrays of each batch; the target 'main' if ``None``.
        progress_bar (bool): Whether to show a progress bar on standard output meanwhile.

    Attributes:
        converter: Makes arrays of a batch.
        device: Device of the data, as it was given (as an object if it was given by a string).
        eval_hook: Called before each evaluation.
        eval_func: Called with the arrays of each batch.
    """

    trigger = (1, 'epoch')
    default_name = 'validation'
    priority = extension.PRIORITY_WRITER
    name = None

    def __init__(self, iterator, target, converter=convert.concat_examples, device=None,
                 eval_hook=None, eval_func=None, *, progress_bar=False):
        self._iterators = iterator if isinstance(iterator, dict) else {'main': iterator}
        self._targets = target if isinstance(target, dict) else {'main': target}
        self.converter = converter
        self.device = backend.get_device(device) if isinstance(device, str) else device
        self.eval_hook = eval_hook
        self.eval_func = eval_func
        self._progress_bar = progress_bar
        for name, each in self._iterators.items():
            if getattr(each, 'repeat', False):
                warnings.warn(
                    f'the iterator {name!r} of an Evaluator repeats its dataset, so that the '
                    'evaluation will not end; make it with repeat=False')

    def get_iterator(self, name):
        """The iterator of a name."""
        return self._iterators[name]

    def get_all_iterators(self):
        """A dictionary of the iterators by name."""
        return dict(self._iterators)

    def get_target(self, name):
        """The target of a name."""
        return self._targets[name]

    def get_all_targets(self):
        """A dictionary of the targets by name."""
        return dict(self._targets)

    def __call__(self, trainer=None):
        """Evaluates, and reports the means.

        Args:
            trainer (~chainer.training.Trainer): Not used; may be left out.

        Returns:
            dict: Means by name.
        """
        values = reporter.Reporter()
        prefix = '' if self.name is None else self.name + '/'
        for name, target in self._targets.items():
            values.add_observer(prefix + name, target)
            values.add_observers(prefix + name, target.namedlinks(skipself=True))
        with values, chainer.using_config('train', False):
            result = self.evaluate()
        reporter.report(result)
        return result

    def evaluate(self):
        """Runs over the dataset once.

        Returns:
            dict: Means, over the batches, of what was reported.
        """
        if self.eval_hook is not None:
            self.eval_hook(self)
        iterator = self._iterators['main']
        if hasattr(iterator, 'reset'):
            iterator.reset()
        else:
            iterator = copy.copy(iterator)
        function = self.eval_func or self._targets['main']
        summary = reporter.DictSummary()
        progress = _Progress(iterator) if self._progress_bar else None
        for batch in iterator:
            observation = {}
            with reporter.report_scope(observation), chainer.no_backprop_mode():
                arrays = convert._call_converter(self.converter, batch, self.device)
                evaluate = _tracing.as_whole(function, self._targets['main'])
                if isinstance(arrays, (tuple, list)):
                    evaluate(*arrays)
                elif isinstance(arrays, dict):
                    evaluate(**arrays)
                else:
                    evaluate(arrays)
            summary.add(observation)
            if progress is not None:
                progress.update()
        if progress is not None:
            progress.close()
        return summary.compute_mean()

    def finalize(self):
        """Finalizes the iterators."""
        for iterator in self._iterators.values():
            iterator.finalize()


class _Progress(util.ProgressBar):

    def __init__(self, iterator):
        super().__init__()
        self._iterator = iterator
        self._iteration = 0
        self.begin(0, iterator.epoch_detail)

    def get_lines(self):
        self._iteration += 1
        done = self._iterator.epoch_detail
        iterations_per_second, epochs_per_second = self.update_speed(self._iteration, done)
        return [
            self.bar('validation', min(done, 1.)),
            f'{self._iteration:10} batches\n',
            f'{iterations_per_second:10.5g} batches/sec. Estimated time to finish: '
            f'{util.remaining(1. - done, epochs_per_second)}.\n']
