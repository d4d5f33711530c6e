"""Ways to write snapshots: at once, or behind the back of the training.

A writer is called with the name of a file, a folder, and a dictionary of arrays; pass it to
:func:`chainer.training.extensions.snapshot`. Whatever the way, a file gets its name when it is
whole and on the disk.
"""
import os
import queue
import threading
import warnings

import numpy

from chainer import _processes
from chainer.serializers import npz
from chainer.training import _files


class Writer:
    """Base of snapshot writers."""

    _cleanup_hook = None

    def __call__(self, filename, outdir, target):
        """Writes a snapshot, now or later.

        Args:
            filename (str): Name of the file.
            outdir (str): Its folder.
            target (dict): Arrays by key.
        """
        raise NotImplementedError(
            f'{type(self).__name__} must define __call__(filename, outdir, target)')

    def save(self, filename, outdir, target, savefun, **kwds):
        """Writes a snapshot now: ``savefun(path, target, **kwds)`` writes a temporary file, which
        then gets its name."""
        target = _Serializable(target)
        _files.write_whole(
            os.path.join(outdir, filename), lambda path: savefun(path, target, **kwds),
            durable=True)
        self._post_save()

    def finalize(self):
        """Called at the end of training: waits for what is being written."""

    def _add_cleanup_hook(self, hook_fun):
        self._cleanup_hook = hook_fun

    def _post_save(self):
        if self._cleanup_hook is not None:
            self._cleanup_hook()


class SimpleWriter(Writer):
    """Writes at once, in this thread.

    Args:
        savefun: Saves; called with a path and a dictionary of arrays.
        kwds: More arguments for it.
    """

    def __init__(self, savefun=npz.save_npz, **kwds):
        self._savefun = savefun
        self._kwds = kwds

    def __call__(self, filename, outdir, target):
        """Writes a snapshot."""
        self.save(filename, outdir, target, self._savefun, **self._kwds)


class StandardWriter(Writer):
    """Base of writers that have a worker for each snapshot, and one at a time.

    Subclasses define :meth:`create_worker`.

    Args:
        savefun: Saves; called with a path and a dictionary of arrays.
        kwds: More arguments for it.
    """

    def __init__(self, savefun=npz.save_npz, **kwds):
        self._savefun = savefun
        self._kwds = kwds
        self._worker = None

    def __call__(self, filename, outdir, target):
        """Waits for the snapshot before, and begins to write one.

        Raises ``RuntimeError`` if the one before could not be written.
        """
        problem = self._wait()
        if problem is not None:
            raise RuntimeError(problem)
        self._worker = self.create_worker(filename, outdir, _copied(target), **self._kwds)
        self._worker.start()

    def create_worker(self, filename, outdir, target, **kwds):
        """Makes a thread or process (or the like, with ``start`` and ``join``) that saves."""
        raise NotImplementedError(f'{type(self).__name__} must define create_worker')

    def finalize(self):
        """Waits for the snapshot being written.

        Raises ``RuntimeError`` if it could not be: a training is not to end as if all was well
        without its last snapshot.
        """
        problem = self._wait()
        if problem is not None:
            raise RuntimeError(problem)

    def _wait(self):
        worker, self._worker = self._worker, None
        if worker is None:
            return None
        worker.join()
        return _problem(worker)


class _SavingThread(threading.Thread):
    error = None

    def run(self):
        try:
            super().run()
        except Exception as error:
            self.error = error


def _problem(worker):
    """A message if a worker that has ended did not succeed, or ``None``."""
    error = getattr(worker, 'error', None)
    if error is not None:
        return f'a snapshot could not be written by a thread: {error!r}'
    code = getattr(worker, 'exitcode', None)
    if code:
        return f'a snapshot could not be written: process {worker.pid} ended with code {code}'
    return None


class ThreadWriter(StandardWriter):
    """Writes in a thread."""

    def create_worker(self, filename, outdir, target, **kwds):
        """A thread that saves."""
        return _SavingThread(
            target=self.save, args=(filename, outdir, target, self._savefun), kwargs=kwds)


class ProcessWriter(StandardWriter):
    """Writes in a process."""

    def create_worker(self, filename, outdir, target, **kwds):
        """A process that saves."""
        return _processes.context().Process(
            target=self.save, args=(filename, outdir, target, self._savefun), kwargs=kwds)


class QueueWriter(Writer):
    """Base of writers that have a queue of snapshots, and one worker for all of them.

    Subclasses define :meth:`create_queue` and :meth:`create_consumer`.

    Args:
        savefun: Saves; called with a path and a dictionary of arrays.
        task: Writer that the worker calls; a :class:`SimpleWriter` if ``None``.
    """

    def __init__(self, savefun=npz.save_npz, task=None):
        self._task = self.create_task(savefun) if task is None else task
        self._queue = self.create_queue()
        self._consumer = self.create_consumer(self._queue)
        self._running = False

    def __call__(self, filename, outdir, target):
        """Puts a snapshot into the queue."""
        if not self._running:
            if self._consumer is None:  # used again after its end
                self._queue = self.create_queue()
                self._consumer = self.create_consumer(self._queue)
            if self._cleanup_hook is not None:
                self._task._add_cleanup_hook(self._cleanup_hook)
            self._consumer.start()
            self._running = True
        self._queue.put((self._task, filename, outdir, _copied(target)))

    def create_task(self, savefun):
        """The writer that the worker calls."""
        return SimpleWriter(savefun=savefun)

    def create_queue(self):
        """The queue, with ``put``, ``get``, ``task_done`` and ``join``."""
        raise NotImplementedError(f'{type(self).__name__} must define create_queue()')

    def create_consumer(self, q):
        """A thread or process that calls :meth:`consume`."""
        raise NotImplementedError(f'{type(self).__name__} must define create_consumer(q)')

    @staticmethod
    def consume(q):
        """Writes what comes out of a queue, until a ``None`` comes.

        A snapshot that cannot be written gives a warning, if a later one can, and else an error.
        """
        problem = None
        while (snapshot := q.get()) is not None:
            task, *args = snapshot
            try:
                task(*args)
                problem = None
            except Exception as error:
                problem = error
                warnings.warn(f'the snapshot {args[0]} could not be written: {error!r}')
            q.task_done()
        q.task_done()
        if problem is not None:
            raise problem

    def finalize(self):
        """Waits until the queue is written.

        Raises ``RuntimeError`` if its last snapshot could not be: a training is not to end as if
        all was well without it.
        """
        if not self._running:
            return
        consumer, self._consumer = self._consumer, None
        queue, self._queue = self._queue, None
        self._running = False
        queue.put(None)
        consumer.join()
        problem = _problem(consumer)
        if problem is not None:
            raise RuntimeError(problem)
        queue.join()  # a consumer of the user's may leave work to others


class ThreadQueueWriter(QueueWriter):
    """Writes in one thread, from a queue."""

    def create_queue(self):
        """A queue for threads."""
        return queue.Queue()

    def create_consumer(self, q):
        """A thread."""
        return _SavingThread(target=self.consume, args=(q,))


class ProcessQueueWriter(QueueWriter):
    """Writes in one process, from a queue."""

    def create_queue(self):
        """A queue for processes."""
        return _processes.context().JoinableQueue()

    def create_consumer(self, q):
        """A process."""
        return _processes.context().Process(target=self.consume, args=(q,))


class _Serializable(dict):
    """A dictionary of arrays that can also be saved like the object that it was made of."""

    def serialize(self, serializer):
        for key, value in self.items():
            serializer(key, value)


def _copied(target):
    # The training goes on and writes into the arrays while they are saved.
    return {key: numpy.array(value) for key, value in target.items()}
