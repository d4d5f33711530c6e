"""Capture of a stream's work as a CUDA graph, and its replay: as strict as CUDA.

What is put into a stream that is captured is written down and not done: at the end of the capture
memory is as it was before (until then it is computed with, since shapes can depend on values here).
What CUDA or CuPy refuses then raises, and, where CUDA refuses it, the capture is lost: waiting,
copies to and from the host, memory from the driver (but in relaxed mode), cuBLAS, cuRAND. A graph
has addresses in it and holds no memory: launched when there is no memory any more, it fails; when
somebody else has it, it writes there.
"""
import contextlib
import functools
import threading
import weakref

import numpy as np

GLOBAL, THREAD_LOCAL, RELAXED = range(3)
_active = []  # captures that have begun and not ended, of all threads


class _Replaying(threading.local):
    depth = 0


_replaying = _Replaying()


def _live():
    from ._memory import Memory

    return list(Memory.live)


def _error(name, text):
    from ._memory import CUDARuntimeError

    return CUDARuntimeError(name, text)


class Capture:
    """What a stream is doing while it is captured."""

    def __init__(self, stream, mode):
        self.stream, self.mode = stream, mode
        self.thread = threading.get_ident()
        self.nodes, self.valid, self.inside = [], True, False
        self.before = weakref.WeakKeyDictionary((m, m.buffer.copy()) for m in _live())
        self.written = weakref.WeakSet()
        _active.append(self)

    def end(self):
        """Undo what the simulation has computed for this stream meanwhile."""
        _active.remove(self)
        for memory in list(self.written):
            memory.buffer[...] = self.before.get(memory, 0xFF)

    def record(self, work, args, kwargs):
        from ._memory import events

        if not self.valid:
            raise _error('cudaErrorStreamCaptureInvalidated',
                         'operation failed due to a previous error during capture')
        node = Node(work, args, kwargs)
        noted = len(events)
        theirs = {a.data.mem for a in arrays_in([args, kwargs])}
        were = {memory: memory.buffer.copy() for memory in theirs}
        self.inside = True
        try:
            result = work(*args, **kwargs)
        finally:
            self.inside = False
            del events[noted:]  # nothing has been done
        self.written.update(m for m in theirs if not np.array_equal(m.buffer, were[m]))
        self.written.update({a.data.mem for a in arrays_in(result)} - theirs)
        # What is made anew; the rest is arguments, written into, and views of them.
        node.results = [_Address(a) for a in arrays_in(result) if a.data.mem not in theirs]
        self.nodes.append(node)
        return result


def current():
    """The capture of the current stream of this thread, if it is captured."""
    from ._memory import get_current_stream

    stream = get_current_stream()
    if stream.capture is None and stream.ptr == 0:
        for capture in _active:
            if not capture.stream.non_blocking:
                capture.valid = False
                raise _error('cudaErrorStreamCaptureImplicit', 'operation would make the legacy '
                             'stream depend on a capturing blocking stream')
    return stream.capture


def refuse_in_stream(stream=None):
    """What waits for a stream, or copies between it and the host."""
    if _replaying.depth:
        return
    capture = current() if stream is None else stream.capture
    if capture is not None:
        capture.valid = False
        raise _error('cudaErrorStreamCaptureUnsupported',
                     'operation not permitted when stream is capturing')


def refuse_unsafe(relaxed=False):
    """What concerns the whole device: memory from the driver, waiting for everything."""
    for capture in _active if not _replaying.depth else ():
        mine = capture.thread == threading.get_ident()
        if capture.mode == GLOBAL or mine and (capture.mode == THREAD_LOCAL or not relaxed):
            capture.valid = False
            raise _error('cudaErrorStreamCaptureUnsupported',
                         'operation not permitted when stream is capturing')


def refuse_library(name):
    """CuPy's own check, before it asks cuBLAS or cuRAND: the capture stays as it is."""
    if not _replaying.depth and current() is not None and not current().inside:
        raise NotImplementedError(
            f'calling {name} API during stream capture is currently unsupported')


#: Work of several threads of Python is done one after the other, as in one stream: a kernel runs
#: several times over the same memory here, in which nobody else may write meanwhile.
_working = threading.RLock()


def device_work(function):
    """What is put into the current stream."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        with _working:
            if not _active or _replaying.depth:
                return function(*args, **kwargs)
            capture = current()
            if capture is None or capture.inside:
                return function(*args, **kwargs)
            return capture.record(function, args, kwargs)

    return call


# -- what a graph knows of arrays ----------------------------------------------------------------

def _mapped(value, change):
    from ._array import ndarray

    if isinstance(value, ndarray):
        return change(value)
    if isinstance(value, (list, tuple)):
        return type(value)([_mapped(v, change) for v in value])
    if isinstance(value, dict):
        return {k: _mapped(v, change) for k, v in value.items()}
    return value


def arrays_in(value):
    found = []
    _mapped(value, found.append)
    return found


class _Address:
    """An array by its address: the memory may be gone when it is asked for."""

    def __init__(self, array):
        self.ptr, self.layout = array.data.ptr, (array.shape, array.dtype, array.strides)

    def array(self):
        return array_at(self.ptr, *self.layout)


def array_at(ptr, shape, dtype, strides):
    """What lies there now, whoever it belongs to."""
    from ._array import ndarray
    from ._memory import Chunk, MemoryPointer, UnownedMemory

    if 0 in shape:
        return ndarray(shape, dtype)
    reach = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    first = ptr + sum(r for r in reach if r < 0)
    size = sum(map(abs, reach)) + dtype.itemsize
    memory = UnownedMemory(first, size, Chunk.at(first, size))
    return ndarray(shape, dtype, MemoryPointer(memory, ptr - first), strides)


class Node:
    """One piece of work, with addresses for arrays."""

    def __init__(self, work, args, kwargs):
        self.work, self.results = work, []
        self.args, self.kwargs = (_mapped(a, _Address) for a in (args, kwargs))

    def run(self):
        args, kwargs = (_there(a) for a in (self.args, self.kwargs))
        made = arrays_in(self.work(*args, **kwargs))
        for address in self.results:  # those that the work has made anew, in their order
            fitting = [a for a in made if (a.shape, a.dtype) == address.layout[:2]]
            address.array()._a[...] = fitting[0]._a
            made.remove(fitting[0]) if len(fitting) > 1 else None


def _there(value):
    if isinstance(value, _Address):
        return value.array()
    if isinstance(value, (list, tuple)):
        return type(value)([_there(v) for v in value])
    if isinstance(value, dict):
        return {k: _there(v) for k, v in value.items()}
    return value


@contextlib.contextmanager
def replaying():
    """Work of a graph: memory that the simulation itself needs is not the pool's."""
    from ._memory import using_allocator

    _replaying.depth += 1
    try:
        with using_allocator(None):
            yield
    finally:
        _replaying.depth -= 1


class Graph:
    """``cupy.cuda.Graph``: made by ``Stream.end_capture`` only."""

    def __init__(self, *args, **kwargs):
        raise RuntimeError('currently this class has to be initiated by calling '
                           'Stream.end_capture()')

    @classmethod
    def _of(cls, capture):
        graph = object.__new__(cls)
        graph._nodes, graph.graph, graph.graphExec = capture.nodes, 1, 1
        graph.device_id = capture.stream.device_id
        return graph

    def launch(self, stream=None):
        from ._memory import events, get_current_stream

        stream = get_current_stream() if stream is None else stream
        if stream.capture is not None:
            raise NotImplementedError('the simulated device has no graphs inside of graphs')
        events.append(('graph', len(self._nodes), stream.ptr))
        noted = len(events)
        with replaying():
            for node in self._nodes:
                node.run()
        del events[noted:]

    def upload(self, stream=None):
        pass

    def debug_dot_str(self, flags=None):
        lines = [f'  n{k} [label="{node.work.__name__}"];' for k, node in enumerate(self._nodes)]
        return '\n'.join(['digraph g {', *lines, '}'])


