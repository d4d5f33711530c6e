"""Saving a training, and finding what was saved."""
import functools
import os
import re
import string
import warnings

import numpy

from chainer import serializer as serializer_module
from chainer.serializers import npz
from chainer.training import _files, extension


def snapshot(savefun=npz.save_npz, filename='snapshot_iter_{.updater.iteration}', *, target=None,
             condition=None, writer=None, snapshot_on_error=False, n_retains=-1, autoload=False,
             random_state=False, num_retain=None):
    """Makes an extension that saves the trainer, to resume from.

    A file is written under another name first, and gets its own when it is whole and on the disk:
    whenever the process is killed, the snapshots in the folder are good ones.

    Its trigger is ``(1, 'epoch')``, its priority -100, lower than that of most extensions.

    Args:
        savefun: Saves; called with a path and the object. Not together with ``writer``.
        filename (str): Name of the file in the trainer's ``out``: a format string, formatted with
            the trainer, or a function of the trainer.
        target: What to save instead of the trainer.
        condition: Called without arguments when the trigger fires; nothing is saved if it returns
            false.
        writer: What writes files, see :mod:`chainer.training.extensions.snapshot_writers`; called
            with the name, the folder and a dictionary of arrays.
        snapshot_on_error (bool): Whether to save when an exception ends the training loop.
        n_retains (int): Number of newest snapshots to keep; all if it is not positive.
        autoload (bool): Whether to load the newest snapshot in the trainer's ``out`` (a npz file)
            that can be loaded before training, if there is one. A warning names newer ones that
            are damaged or belong to something else.
        random_state (bool): Whether the state of ``numpy.random`` is saved with the trainer, and
            restored when the training is resumed: then dropout and shuffling go on with the numbers
            that they would have had.
        num_retain (int): A deprecated name of ``n_retains``.

    Raises:
        TypeError: Both ``savefun`` and ``writer`` are given.
    """
    if writer is not None and savefun not in (None, npz.save_npz):
        raise TypeError('savefun and writer arguments cannot be specified together.')
    return _Snapshot('snapshot', target, filename, savefun or npz.save_npz, writer, condition,
                     snapshot_on_error, _retained(n_retains, num_retain), autoload, random_state)


def snapshot_object(target, filename, savefun=npz.save_npz, *, condition=None, writer=None,
                    snapshot_on_error=False, n_retains=-1, autoload=False, num_retain=None):
    """Makes an extension that saves an object, such as the model.

    Args:
        target: What to save.
        filename (str): Name of the file in the trainer's ``out``, see :func:`snapshot`; for example
            ``'model_iter_{.updater.iteration}'``.
        savefun: Saves; called with a path and the object.

    The other arguments, trigger and priority are those of :func:`snapshot`.
    """
    if writer is not None and savefun not in (None, npz.save_npz):
        raise TypeError('savefun and writer arguments cannot be specified together.')
    return _Snapshot('snapshot_object', target, filename, savefun or npz.save_npz, writer,
                     condition, snapshot_on_error, _retained(n_retains, num_retain), autoload,
                     False)


def _retained(n_retains, num_retain):
    """How many snapshots stay, by the old name of the argument too."""
    if num_retain is None:
        return n_retains
    warnings.warn('num_retain is deprecated: use n_retains.', DeprecationWarning, stacklevel=3)
    return num_retain


class _Snapshot(extension.Extension):

    trigger = (1, 'epoch')
    priority = -100
    default_name = None
    default_name_in_7 = '_Snapshot'

    def __init__(self, default_name, target, filename, savefun, writer, condition,
                 snapshot_on_error, n_retains, autoload, random_state):
        self.default_name = default_name
        self.filename = filename
        self.condition = condition
        self.writer = writer
        self.n_retains = n_retains
        self.autoload = autoload
        self._target = target
        self._savefun = savefun
        self._snapshot_on_error = snapshot_on_error
        self._random_state = random_state
        self._resumed_random_state = None

    def initialize(self, trainer):
        if self.autoload:
            self._load_newest(trainer)
        if self.writer is not None and self.n_retains > 0:
            self.writer._add_cleanup_hook(functools.partial(
                _remove_old, self._format(), trainer.out, self.n_retains))
        if self._resumed_random_state is not None:
            numpy.random.set_state(self._resumed_random_state)

    def __call__(self, trainer):
        if self.condition is None or self.condition():
            self._save(trainer)

    def on_error(self, trainer, exc, tb):
        if self._snapshot_on_error:
            self._save(trainer)

    def finalize(self):
        if self.writer is not None:
            self.writer.finalize()

    def serialize(self, serializer):
        if not self._random_state:
            return
        kind, *state = numpy.random.get_state()
        try:
            state = [serializer(f'random_state_{i}', value) for i, value in enumerate(state)]
        except KeyError:
            warnings.warn('the snapshot does not have the state of numpy.random')
            return
        if isinstance(serializer, serializer_module.Deserializer):
            self._resumed_random_state = (kind, *state)

    def _save(self, trainer):
        target = trainer if self._target is None else self._target
        make_name = self.filename if callable(self.filename) else self.filename.format
        name = make_name(trainer)
        if self.writer is not None:
            serializer = npz.DictionarySerializer()
            serializer.save(target)
            self.writer(name, trainer.out, serializer.target)
            return
        _files.write_whole(
            os.path.join(trainer.out, name), lambda path: self._savefun(path, target), durable=True)
        if self.n_retains > 0:
            _remove_old(self._format(), trainer.out, self.n_retains)

    def _format(self):
        if callable(self.filename):
            raise TypeError('n_retains and autoload need a format string as the file name, to know '
                            'the snapshots by')
        return self.filename

    def _load_newest(self, trainer):
        target = trainer if self._target is None else self._target
        names = [name for _, name in _find_snapshot_files(self._format(), trainer.out)]
        for name in reversed(names):
            path = os.path.join(trainer.out, name)
            problem = _load(path, target)
            if problem is None:
                return
            warnings.warn(f'{path} {problem}; looking for an older snapshot')
        if names:
            raise ValueError(
                f'none of the {len(names)} snapshots in {trainer.out} can be loaded; remove them '
                'to start anew')


# The names of the three below are those of Chainer 7, which others import.

def _find_snapshot_files(fmt, path):
    """Times and names of the snapshots in the folder ``path``, oldest first.

    ``fmt`` is the format string of their names.
    """
    pattern = ''.join(
        re.escape(text) + ('' if field is None else '(.+)')
        for text, field, _, _ in string.Formatter().parse(fmt))
    found = []
    with os.scandir(path) as entries:
        for entry in entries:
            match = re.fullmatch(pattern, entry.name)
            if match and entry.is_file():
                # Numbers decide between files of one clock tick.
                numbers = [int(g) if g.isdecimal() else -1 for g in match.groups()]
                status = entry.stat()
                found.append((status.st_mtime_ns, numbers, entry.name, status.st_mtime))
    return [(time, name) for _, _, name, time in sorted(found)]


def _find_latest_snapshot(fmt, path):
    """The name of the newest snapshot, ``None`` if there is none."""
    found = _find_snapshot_files(fmt, path)
    return found[-1][1] if found else None


def _find_stale_snapshots(fmt, path, n_retains):
    """The names of all but the ``n_retains`` newest snapshots; of all if it is not positive."""
    names = [name for _, name in _find_snapshot_files(fmt, path)]
    return names[:-n_retains] if n_retains > 0 else names


def _remove_old(fmt, folder, n_retains):
    for name in _find_stale_snapshots(fmt, folder, n_retains):
        os.remove(os.path.join(folder, name))


def _load(path, target):
    """Loads a file wholly, or not at all; then returns what is wrong with it."""
    if not npz.is_whole(path):
        return 'is no npz file or is damaged'
    try:
        npz.load_npz(path, target)
    except (KeyError, OSError, TypeError, ValueError) as error:
        return f'cannot be loaded ({error.args[0] if error.args else error!r})'
    return None
