"""Checkpoints of all processes, which agree on the iteration to go on from."""
import os
import re
import warnings

import numpy

from chainer import serializer as serializer_module
from chainer.serializers import npz
from chainer.training import _files, extension


def create_multi_node_checkpointer(name, comm, cp_interval=5, gc_interval=5, path=None):
    """Make an extension that saves checkpoints of each process, to go on after a failure.

    Each process saves its own file, ``<name>.<rank>.<iteration>``. After a restart
    :meth:`maybe_load` loads the newest iteration of which all processes have a whole file; the
    state of ``numpy.random`` is in it, so that training goes on as if it had not been interrupted.
    When training ends without an error, the files are removed.

    ::

        checkpointer = chainermn.create_multi_node_checkpointer('run1', comm)
        trainer.extend(checkpointer, trigger=(25, 'iteration'))
        checkpointer.maybe_load(trainer, optimizer)  # after all extensions are there
        trainer.run()

    It works without a trainer, too: ``checkpointer.save(model, iteration)``.

    Args:
        name (str): Tells the runs in a folder apart.
        comm (CommunicatorBase): Communicator.
        cp_interval (int): Number of checkpoints of each process that are kept at least.
        gc_interval (int): Older ones are removed when there are so many of them.
        path (str): Folder of the files; that of the trainer by default.

    Returns:
        chainer.training.Extension: The extension, with the methods ``maybe_load`` and ``save``.

    Raises:
        ValueError: The name cannot be part of a file name, or a number is less than one.

    .. seealso:: :func:`chainermn.extensions.multi_node_snapshot`, of which one file is enough for
        all processes, and which may go on with another number of them.
    """
    warnings.warn(
        'Checkpointer is deprecated. Use chainer.extensions.multi_node_snapshot instead.',
        DeprecationWarning, stacklevel=2)
    if not name or os.path.basename(name) != name:
        raise ValueError(f'the name of a checkpointer is part of file names; {name!r} cannot be')
    if cp_interval < 1 or gc_interval < 1:
        raise ValueError('cp_interval and gc_interval must be at least 1, not '
                         f'{cp_interval} and {gc_interval}')
    return _MultiNodeCheckpointer(name, comm, cp_interval, gc_interval, path)


class _MultiNodeCheckpointer(extension.Extension):

    priority = -100  # what other extensions have done in the iteration is in the file

    def __init__(self, name, comm, cp_interval, gc_interval, path):
        self.name = name
        self.comm = comm
        self.cp_interval = cp_interval
        self.gc_interval = gc_interval
        self.path = path
        self._failed = False
        self._random_state = None

    @property
    def default_name(self):
        return self.name

    def __call__(self, trainer):
        self._choose_path(trainer)
        self.save(trainer, trainer.updater.iteration)

    def save(self, target, iteration):
        """Save a checkpoint of this process.

        Args:
            target: What is saved: a trainer, a link or any other object that can be serialized.
            iteration (int): Number of the iteration; the greatest is the newest.
        """
        self._choose_path(target)
        _files.write_whole(
            self._file(iteration), lambda path: npz.save_npz(path, target, compression=False),
            durable=True)
        own = self._iterations()
        if len(own) >= self.cp_interval + self.gc_interval:
            # All processes save alike: those that are that old are of use to none of them.
            self._remove(own[:-self.cp_interval])

    def maybe_load(self, trainer, optimizer=None, path=None):
        """Load the newest checkpoint that all processes have, if there is one.

        All processes have to call it, after everything with a state was made.

        Args:
            trainer: What :meth:`save` was given: a trainer, a link, ...
            optimizer: What :func:`chainermn.create_multi_node_optimizer` has returned; it then
                does without the broadcast in its first update.
            path (str): Folder of the files.

        Returns:
            int or None: The iteration.
        """
        if path is not None:
            self.path = path
        self._choose_path(trainer)
        own = [i for i in self._iterations() if npz.is_whole(self._file(i))]
        everybody = self.comm.gather_obj(own)
        decision = None
        if everybody is not None:
            common = set(everybody[0]).intersection(*everybody[1:])
            decision = max(common, default=None), [i for i, its in enumerate(everybody) if not its]
        iteration, without = self.comm.bcast_obj(decision)
        if iteration is None:
            if own:
                warnings.warn(
                    f'there are checkpoints {self.name!r} in {self.path}, but none that all '
                    f'{self.comm.size} processes have (ranks without any: {without}); starting '
                    'anew', stacklevel=2)
            return None
        npz.load_npz(self._file(iteration), trainer)
        self._remove([i for i in self._iterations() if i > iteration])
        if optimizer is not None:
            optimizer._parameters_are_in_sync()
        return iteration

    def initialize(self, trainer):
        if self._random_state is not None:
            numpy.random.set_state(self._random_state)

    def serialize(self, serializer):
        # Training goes on with the random numbers that it would have had.
        kind, *state = numpy.random.get_state()
        try:
            state = [serializer(f'random_state_{i}', value) for i, value in enumerate(state)]
        except KeyError:  # a file of Chainer 7
            return
        if isinstance(serializer, serializer_module.Deserializer):
            self._random_state = (kind, *state)

    def on_error(self, trainer, exc, tb):
        self._failed = True

    def finalize(self):
        """Remove the files of this process, unless the training has failed."""
        if not self._failed and self.path is not None:
            self._remove(self._iterations())

    def _choose_path(self, target):
        if self.path is None:
            self.path = getattr(target, 'out', 'result')

    def _file(self, iteration):
        return os.path.join(self.path, f'{self.name}.{self.comm.rank}.{iteration}')

    def _iterations(self):
        pattern = re.compile(re.escape(f'{self.name}.{self.comm.rank}.') + r'(\d+)')
        try:
            names = os.listdir(self.path)
        except FileNotFoundError:
            return []
        return sorted(int(match[1]) for match in map(pattern.fullmatch, names) if match)

    def _remove(self, iterations):
        for iteration in iterations:
            os.remove(self._file(iteration))
