"""The training loop."""
import contextlib
import functools
import inspect
import os
import sys
import time
import traceback

from chainer import _tracing
from chainer import reporter as reporter_module
from chainer import serializer as serializer_module
from chainer.training import _files
from chainer.training import extension as extension_module
from chainer.training import trigger as trigger_module
from chainer.training.triggers import _progress
from chainer.training.triggers.interval_trigger import IntervalTrigger
from chainwright.runtime import pass_on


class _Loop:
    """How far a training has come: compiled methods ask what still pays."""

    def __init__(self, trainer):
        self._updater, self._trigger = trainer.updater, trainer.stop_trigger

    def done(self):
        """Iterations that are over, those of earlier runs as well."""
        return getattr(self._updater, 'iteration', 0)

    def left(self):
        """Iterations to come, with the one that is under way; None where nobody knows."""
        try:
            length, unit = self._trigger.get_training_length()
            now = self._updater.iteration
            if unit == 'iteration':
                return max(length - now, 0)
            epochs = self._updater.epoch_detail  # with the batch of this iteration
            return max((length - epochs) * (now + 1) / epochs, 0) + 1
        except Exception as error:  # triggers and updaters may be the user's
            pass_on(error)
            return None


class _Entry:
    """An extension as it is registered."""

    def __init__(self, extension, name_in_7, priority, trigger, call_before_training):
        self.extension = extension
        self.name_in_7 = name_in_7
        self.priority = priority
        self.trigger = trigger
        self.call_before_training = call_before_training

    def call(self, name, *args):
        """Calls one of the methods that extensions may have."""
        method = getattr(self.extension, name, None)
        if method is not None:
            method(*args)

    def finalize(self, trainer):
        """Finalizes the extension. Methods take nothing, functions may take the trainer."""
        method = getattr(self.extension, 'finalize', None)
        if method is not None:
            method(*([trainer] if _needs_an_argument(method) else []))


class Trainer:
    """The training loop.

    Each iteration calls ``update`` of the updater, and then the extensions whose triggers fire, in
    the order of their priorities. Values that are reported meanwhile (see :func:`chainer.report`)
    are in :attr:`observation`; the links of the optimizers' targets are observers, named after
    the optimizer and their place in it (``main/l1``).

    A trainer can be saved and restored by the serializers, and then trains on as if it had never
    stopped. What does not change in training (the model's shape, settings, the extensions
    themselves) has to be set up anew before.

    Args:
        updater (~chainer.training.Updater): Does the iterations.
        stop_trigger: When to stop, a trigger or a tuple such as ``(20, 'epoch')``. ``None``: never.
        out (str): Folder for the files of the extensions, made by :meth:`run`.
        extensions: Extensions to begin with.

    Attributes:
        updater: The updater.
        stop_trigger: The trigger that stops the loop.
        observation (dict): Values reported in the current iteration.
        out (str): Folder for the files of the extensions.
        reporter (~chainer.Reporter): Collects the values; other observers may be added.
    """

    def __init__(self, updater, stop_trigger=None, out='result', extensions=None):
        self.updater = updater
        self.stop_trigger = trigger_module.get_trigger(stop_trigger)
        self.observation = {}
        self.out = out
        self.reporter = reporter_module.Reporter()
        for name, optimizer in updater.get_all_optimizers().items():
            self.reporter.add_observer(name, optimizer.target)
            self.reporter.add_observers(name, optimizer.target.namedlinks(skipself=True))
        self._done = False
        self._extensions = {}
        self._start_at = None
        self._snapshot_elapsed_time = 0.
        self._final_elapsed_time = None
        updater.connect_trainer(self)
        for extension in extensions or ():
            self.extend(extension)

    @property
    def elapsed_time(self):
        """Seconds of training, those before the last resumption included.

        Raises ``RuntimeError`` before :meth:`run`.
        """
        if self._done:
            return self._final_elapsed_time
        if self._start_at is None:
            raise RuntimeError('training has not been started yet')
        return time.perf_counter() - self._start_at + self._snapshot_elapsed_time

    @property
    def is_before_training(self):
        """Whether no iteration was done yet, here or before a resumption."""
        return self.updater.iteration == 0

    def extend(self, extension, name=None, trigger=None, priority=None, *,
               call_before_training=False, **kwargs):
        """Registers an extension.

        Args:
            extension: Callable that takes the trainer; see :class:`chainer.training.Extension`.
            name (str): Name to know it by; what the extension says (``name``, ``default_name``, or
                its ``__name__``) if ``None``. A second one of the name gets ``_1`` behind it, and
                so on.
            trigger: When to call it, a trigger or a tuple such as ``(1, 'epoch')``; what the
                extension says if ``None``, else each iteration.
            priority (int): Extensions of higher priority are called earlier, those of one priority
                in the order of registration; what the extension says if ``None``.
            call_before_training (bool): Whether to call it once before the first iteration.

        Raises:
            TypeError: There is no name, or ``extension`` is no callable, or the class of an
                extension instead of an object.
            ValueError: The name is 'training'.
        """
        if 'invoke_before_training' in kwargs:
            raise ValueError(
                'invoke_before_training has been removed since Chainer v2.0.0. Use initializer= '
                'instead.')
        if kwargs:
            raise TypeError(f'extend() got unexpected arguments: {", ".join(kwargs)}')
        _check_extension(extension)
        name_in_7 = None
        if name is None and isinstance(extension, extension_module.Extension):
            name_in_7 = self._unused(extension.default_name_in_7)
        name = _name_of(extension, name)
        unique = self._unused(name)
        if trigger is None:
            trigger = getattr(extension, 'trigger', None) or extension_module.Extension.trigger
        if priority is None:
            priority = getattr(extension, 'priority', extension_module.Extension.priority)
        with contextlib.suppress(AttributeError):  # bound methods take no attributes
            extension.name = unique
        self._extensions[unique] = _Entry(
            extension, name_in_7, priority, trigger_module.get_trigger(trigger),
            call_before_training)

    def _unused(self, name):
        """The name, or if it is in use (or None) one with the next free number (or None)."""
        used = {*self._extensions, *(entry.name_in_7 for entry in self._extensions.values())}
        unique = name
        ordinal = 0
        while unique in used and name is not None:
            ordinal += 1
            unique = f'{name}_{ordinal}'
        return unique

    def get_extension(self, name):
        """The extension of a name; raises ``ValueError`` if there is none."""
        if name not in self._extensions:
            raise ValueError(
                f'extension {name} not found; there are: {", ".join(self._extensions) or "none"}')
        return self._extensions[name].extension

    def run(self, show_loop_exception_msg=True):
        """Trains until the stop trigger fires. It can be done once for a trainer.

        However the loop ends, the extensions and the updater are finalized. What goes wrong there,
        such as a snapshot that a writer could not write, is raised where the loop itself did not
        fail. Files that an earlier run, killed, left unfinished in ``out`` are removed.

        Args:
            show_loop_exception_msg (bool): Whether an exception that ends the loop is shown on
                standard error before that, which may take long.
        """
        if self._done:
            raise RuntimeError('cannot run training loop multiple times')
        os.makedirs(self.out, exist_ok=True)
        _files.remove_unfinished(self.out)
        entries = sorted(self._extensions.values(), key=lambda entry: -entry.priority)
        self._start_at = time.perf_counter()
        for entry in entries:
            entry.call('initialize', self)
        self._settle_triggers(entries)
        try:
            self._loop_and_tell(entries, show_loop_exception_msg)
        except BaseException as error:
            _add_notes(error, self._finalize(entries))
            raise
        problems = self._finalize(entries)
        if problems:
            _add_notes(problems[0], problems[1:])
            raise problems[0]

    def _loop_and_tell(self, entries, show_loop_exception_msg):
        try:
            self._loop(entries)
        except Exception as error:
            if show_loop_exception_msg:
                _show(error)
            problems = []
            for entry in entries:
                try:
                    entry.call('on_error', self, error, error.__traceback__)
                except Exception as problem:
                    problems.append(problem)
            _add_notes(error, problems)
            raise

    def _finalize(self, entries):
        """Finalizes extensions and updater, all of them whatever happens; returns the errors."""
        problems = []
        for finalize in (*[functools.partial(entry.finalize, self) for entry in entries],
                         self.updater.finalize):
            try:
                finalize()
            except Exception as problem:
                problems.append(problem)
        self._final_elapsed_time = self.elapsed_time
        self._done = True
        return problems

    def _loop(self, entries):
        update = self.updater.update
        reporter = self.reporter
        stop_trigger = self.stop_trigger
        for entry in entries:
            if entry.call_before_training:
                entry.extension(self)
        if self._was_long_enough():
            return
        outer, _tracing.state.loop = _tracing.state.loop, _Loop(self)
        try:
            while not stop_trigger(self):
                self.observation = {}
                with reporter.scope(self.observation):
                    update()
                    for entry in entries:
                        if entry.trigger(self):
                            entry.extension(self)
        finally:
            _tracing.state.loop = outer

    def _was_long_enough(self):
        # Whether a resumed training has nothing left to do. The trigger does not tell if it fired
        # before the training was saved.
        stop_trigger = self.stop_trigger
        if not isinstance(stop_trigger, IntervalTrigger) or self.is_before_training:
            return False
        length, unit = stop_trigger.get_training_length()
        done = self.updater.iteration if unit == 'iteration' else self.updater.epoch_detail
        return done >= length

    def _settle_triggers(self, entries):
        # A snapshot is taken in the middle of an iteration, before the triggers of the extensions
        # behind it were called. Resumed, they must not fire for that iteration in the next one.
        for entry in entries:
            if isinstance(entry.trigger, _progress.ProgressTrigger):
                entry.trigger.synchronize(self.updater)

    def serialize(self, serializer):
        """Saves or restores updater, triggers, extensions and elapsed time."""
        self.updater.serialize(serializer['updater'])
        trigger_module.serialize_trigger(self.stop_trigger, serializer['stop_trigger'])
        extensions = serializer['extensions']
        triggers = serializer['extension_triggers']
        for name, entry in self._extensions.items():
            entry.call('serialize', extensions[name])
            trigger_module.serialize_trigger(
                entry.trigger, _under_either_name(triggers, name, entry.name_in_7))
        if isinstance(serializer, serializer_module.Deserializer):
            self._snapshot_elapsed_time = serializer(
                '_snapshot_elapsed_time', self._snapshot_elapsed_time)
        else:
            started = self._done or self._start_at is not None
            serializer('_snapshot_elapsed_time', self.elapsed_time if started else 0.)


class _BothNames(serializer_module.Serializer):
    """Saves values under two names."""

    def __init__(self, *serializers):
        self._serializers = serializers

    def __getitem__(self, key):
        return _BothNames(*[serializer[key] for serializer in self._serializers])

    def __call__(self, key, value):
        for serializer in self._serializers:
            serializer(key, value)
        return value


class _EitherName(serializer_module.Deserializer):
    """Loads values that may have another name in files of Chainer 7."""

    def __init__(self, parent, *names):
        self._parent = parent
        self._names = names

    def __getitem__(self, key):
        return _EitherName(self._parent, *[f'{name}/{key}' for name in self._names])

    def __call__(self, key, value):
        for name in self._names[:-1]:
            try:
                return self._parent[name](key, value)
            except (KeyError, ValueError):  # no such value, or no such group
                continue
        return self._parent[self._names[-1]](key, value)


def _under_either_name(serializer, name, name_in_7):
    if name_in_7 is None or name_in_7 == name:
        return serializer[name]
    if isinstance(serializer, serializer_module.Deserializer):
        return _EitherName(serializer, name_in_7, name)
    return _BothNames(serializer[name], serializer[name_in_7])


def _add_notes(error, problems):
    for problem in problems:
        error.add_note(f'Finalizing failed, too: {problem!r}')


def _needs_an_argument(function):
    try:
        inspect.signature(function).bind()
    except TypeError:
        return True
    except ValueError:  # a builtin that does not tell
        return False
    return False


def _check_extension(extension):
    if isinstance(extension, type) and issubclass(extension, extension_module.Extension):
        raise TypeError(
            f'{extension.__name__} is a class of extensions; give an object of it: '
            f'trainer.extend({extension.__name__}(...))')
    if not callable(extension):
        raise TypeError(
            f'an extension is called with the trainer, which {extension!r} cannot be: give an '
            'object of chainer.training.extensions, or a function')


def _name_of(extension, name):
    for attribute in 'name', 'default_name', '__name__':
        if name is not None:
            break
        name = getattr(extension, attribute, None)
    if name is None:
        raise TypeError('name is not given for the extension')
    if name == 'training':
        raise ValueError('the name "training" is prohibited as an extension name')
    return name


def _show(error):
    out = sys.stderr
    out.write(f'Exception in main training loop: {error}\nTraceback (most recent call last):\n')
    out.writelines(traceback.format_tb(error.__traceback__))
    out.write('Will finalize trainer extensions and updater before reraising the exception.\n')
    out.flush()
