"""Devices, streams, and memory: blocks of NumPy memory with guards around them."""
import contextlib
import ctypes
import threading
import weakref

import numpy as np

from . import _capture

GUARD = 1024  # bytes of 0xFF, which are NaNs, before and after each block
DEVICES = 2
MOST_FREE = 1 << 26  # bytes that a pool keeps

#: What happened: ('launch', name, stream), ('to host', bytes), ('to device', bytes),
#: ('synchronize', stream). Tests read and clear it.
events = []


class CUDARuntimeError(RuntimeError):
    def __init__(self, name, text):
        super().__init__(f'{name}: {text}')


class OutOfMemoryError(MemoryError):
    def __init__(self, size, total, limit=0):
        text = f'Out of memory allocating {size:,} bytes (allocated so far: {total:,} bytes'
        super().__init__(text + (f', limit set to: {limit:,} bytes).' if limit else ').'))


class _Current(threading.local):
    device = 0

    def __init__(self):
        self.streams = {}


_current = _Current()


class Device:
    """A device; ``with device:`` makes it the current one."""

    def __init__(self, device=None):
        if isinstance(device, Device):
            device = device.id
        self.id = _current.device if device is None else int(device)
        self._before = []

    def _check(self):
        if not 0 <= self.id < DEVICES:
            raise CUDARuntimeError('cudaErrorInvalidDevice', 'invalid device ordinal')

    def __int__(self):
        return self.id

    def __repr__(self):
        return f'<CUDA Device {self.id}>'

    def __eq__(self, other):
        return isinstance(other, Device) and self.id == other.id

    def __hash__(self):
        return self.id

    def __enter__(self):
        self._check()
        self._before.append(_current.device)
        _current.device = self.id
        return self

    def __exit__(self, *error):
        _current.device = self._before.pop()

    def use(self):
        self._check()
        _current.device = self.id

    def synchronize(self):
        _capture.refuse_unsafe()
        events.append(('synchronize', None))

    compute_capability = '90'
    attributes = {'MultiProcessorCount': 132, 'MaxThreadsPerBlock': 1024}

    @property
    def mem_info(self):
        return 1 << 37, 1 << 37


class Event:
    def __init__(self, block=True, disable_timing=False, interprocess=False):
        self.done = True

    def record(self, stream=None):
        self.stream = stream
        if (get_current_stream() if stream is None else stream).capture is not None:
            raise NotImplementedError('the simulated device captures no events')

    def synchronize(self):
        _capture.refuse_unsafe(relaxed=True)
        events.append(('synchronize', 'event'))


def get_elapsed_time(start, stop):
    return 0.01


class Stream:
    """Work is done as soon as it is put in, which a stream may do; who used it is written down."""

    null = None
    _count = 0

    def __init__(self, null=False, non_blocking=False, ptds=False, priority=None):
        Stream._count += 0 if null else 1
        self.ptr = 0 if null else 0x1000 + Stream._count
        self.device_id = -1 if null else _current.device
        self.non_blocking = non_blocking
        self.capture = None
        self._before = []

    def __repr__(self):
        return f'<Stream {self.ptr} (device {self.device_id})>'

    def __eq__(self, other):
        return isinstance(other, Stream) and self.ptr == other.ptr

    def __hash__(self):
        return hash(self.ptr)

    def __enter__(self):
        self._before.append(get_current_stream())
        self.use()
        return self

    def __exit__(self, *error):
        self._before.pop().use()

    def use(self):
        _current.streams[_current.device] = self
        return self

    done = True

    def synchronize(self):
        _capture.refuse_in_stream(self)
        events.append(('synchronize', self.ptr))

    def record(self, event=None):
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event):
        if self.capture is not None:
            raise NotImplementedError('the simulated device captures no events')
        events.append(('wait', self.ptr))

    def is_capturing(self):
        return self.capture is not None

    def begin_capture(self, mode=None):
        if self.ptr == 0 or self.capture is not None:
            raise CUDARuntimeError('cudaErrorStreamCaptureUnsupported',
                                   'operation not permitted when stream is capturing')
        self.capture = _capture.Capture(self, _capture.RELAXED if mode is None else mode)

    def end_capture(self):
        if self.capture is None:
            raise CUDARuntimeError('cudaErrorIllegalState', 'the operation cannot be performed in '
                                   'the present state')
        capture, self.capture = self.capture, None
        capture.end()
        if capture.mode != _capture.RELAXED and capture.thread != threading.get_ident():
            raise CUDARuntimeError('cudaErrorStreamCaptureWrongThread', 'attempt to terminate a '
                                   'thread-local capture sequence from another thread')
        if not capture.valid:
            raise CUDARuntimeError('cudaErrorStreamCaptureInvalidated', 'operation failed due to a '
                                   'previous error during capture')
        return _capture.Graph._of(capture)


Stream.null = Stream(null=True)


def get_current_stream(device_id=-1):
    return _current.streams.get(_current.device, Stream.null)


class MemoryHook:
    """``with hook:`` calls its methods around what the pools do."""

    name = 'MemoryHook'
    _hooks = []

    def __enter__(self):
        MemoryHook._hooks.append(self)
        return self

    def __exit__(self, *error):
        MemoryHook._hooks.remove(self)

    def alloc_preprocess(self, **kwargs):
        pass

    def alloc_postprocess(self, **kwargs):
        pass

    def malloc_preprocess(self, **kwargs):
        pass

    def malloc_postprocess(self, **kwargs):
        pass

    def free_preprocess(self, **kwargs):
        pass

    def free_postprocess(self, **kwargs):
        pass


class Chunk:
    """Memory of the driver: somebody has it, or a pool keeps it."""

    mapped = weakref.WeakSet()

    def __init__(self, size):
        _capture.refuse_unsafe(relaxed=True)
        self.raw = np.empty(-(-size // 512) * 512 + 2 * GUARD + 256, np.uint8)
        self.first = self.raw.ctypes.data
        Chunk.mapped.add(self)

    @classmethod
    def at(cls, ptr, size):
        """The chunk in which so many bytes are.

        Raises:
            CUDARuntimeError: There is none.
        """
        for chunk in list(cls.mapped):
            if chunk.first <= ptr and ptr + size <= chunk.first + len(chunk.raw):
                return chunk
        raise CUDARuntimeError(
            'cudaErrorIllegalAddress', 'an illegal memory access was encountered')


class Memory:
    """A block; ``buffer`` are its bytes, without the guards."""

    live = weakref.WeakSet()

    def __init__(self, size, pool=None, chunk=None):
        self.size, self.device_id = size, _current.device
        self.chunk = Chunk(size) if chunk is None else chunk
        raw = self.chunk.raw
        raw[...] = 0xFF
        start = GUARD + -(raw.ctypes.data + GUARD) % 256
        self.raw, self.start = raw, start
        self.buffer = raw[start:start + size]
        self.ptr = self.buffer.ctypes.data if size else 0
        self.pool = pool
        Memory.live.add(self)

    device = property(lambda self: Device(self.device_id))

    def is_whole(self):
        """Whether nothing was written around the block."""
        after = self.raw[self.start + self.size:]
        return bool((self.raw[:self.start] == 0xFF).all() and (after == 0xFF).all())

    def __del__(self):
        if getattr(self, 'pool', None) is not None:
            self.pool._freed(self)


class UnownedMemory(Memory):
    """Memory of somebody else's, by its address."""

    def __init__(self, ptr, size, owner, device_id=-1):
        self.ptr, self.size, self.owner, self.pool = ptr, size, owner, None
        self.device_id = _current.device if device_id < 0 else device_id
        self.buffer = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(ptr))

    def is_whole(self):
        return True


class MemoryPointer:
    """A place in a block."""

    def __init__(self, mem, offset):
        self.mem, self._offset = mem, offset
        self.device_id = mem.device_id

    ptr = property(lambda self: self.mem.ptr + self._offset)
    device = property(lambda self: self.mem.device)

    def __int__(self):
        return self.ptr

    def __add__(self, offset):
        return MemoryPointer(self.mem, self._offset + offset)

    def copy_from_device(self, source, size):
        ctypes.memmove(self.ptr, source.ptr, size)

    def copy_from_device_async(self, source, size, stream=None):
        events.append(('copy', getattr(stream, 'ptr', 0)))
        self.copy_from_device(source, size)

    def copy_from_host(self, address, size):
        _capture.refuse_in_stream()
        events.append(('to device', size))
        ctypes.memmove(self.ptr, getattr(address, 'value', address), size)

    def copy_from_host_async(self, address, size, stream=None):
        self.copy_from_host(address, size)

    def copy_to_host(self, address, size):
        _capture.refuse_in_stream()
        events.append(('to host', size))
        ctypes.memmove(getattr(address, 'value', address), self.ptr, size)

    def memset(self, value, size):
        ctypes.memset(self.ptr, value, size)

    def memset_async(self, value, size, stream=None):
        self.memset(value, size)


class MemoryPool:
    """Counts what is used, and refuses to give more than its limit.

    What comes back is given again to the stream in which it was taken, the latest first.
    """

    def __init__(self, allocator=None):
        self._used = {}
        self._limit = {}
        self._free = {}

    def malloc(self, size):
        device = _current.device
        rounded = -(-size // 512) * 512
        limit = self._limit.get(device, 0)
        used = self._used.get(device, 0)
        facts = {'device_id': device, 'size': size, 'mem_size': rounded}
        for hook in MemoryHook._hooks:
            hook.malloc_preprocess(**facts)
        if limit and used + rounded > limit:
            raise OutOfMemoryError(rounded, used, limit)
        self._used[device] = used + rounded
        place = device, get_current_stream().ptr, rounded
        free = self._free.get(place)
        memory = Memory(size, self, free.pop() if free else None)
        memory.rounded, memory.place = rounded, place
        for hook in MemoryHook._hooks:
            hook.malloc_postprocess(**facts, mem_ptr=memory.ptr, pmem_id=id(memory))
        return MemoryPointer(memory, 0)

    def _freed(self, memory):
        self._used[memory.device_id] -= memory.rounded
        if self.free_bytes() < MOST_FREE:
            self._free.setdefault(memory.place, []).append(memory.chunk)
            Chunk.mapped.add(memory.chunk)  # weak references are gone where cycles are collected

    def used_bytes(self):
        return self._used.get(_current.device, 0)

    def total_bytes(self):
        return self.used_bytes() + self.free_bytes()

    def free_bytes(self):
        return sum(len(chunks) * size for (device, _, size), chunks in self._free.items()
                   if device == _current.device)

    def n_free_blocks(self):
        return sum(map(len, self._free.values()))

    def free_all_blocks(self, stream=None):
        self._free.clear()

    def set_limit(self, size=None, fraction=None):
        self._limit[_current.device] = int(size if fraction is None else fraction * (1 << 37))

    def get_limit(self):
        return self._limit.get(_current.device, 0)


class PinnedMemoryPool:
    def malloc(self, size):
        return PinnedMemoryPointer(size)

    def free_all_blocks(self):
        pass

    def n_free_blocks(self):
        return 0


class PinnedMemoryPointer:
    """Memory of the host; NumPy arrays can be made in it."""

    def __init__(self, size):
        self._buffer = (ctypes.c_uint8 * size)()
        self.ptr = ctypes.addressof(self._buffer)

    def size(self):
        return len(self._buffer)

    def __buffer__(self, flags):
        return memoryview(self._buffer)


def alloc_pinned_memory(size):
    return memoryview((ctypes.c_uint8 * size)())


default_pool, default_pinned_pool = MemoryPool(), PinnedMemoryPool()
_allocator = [default_pool.malloc]  # of all threads


class _OfThread(threading.local):
    """The allocators of this thread alone, innermost last."""

    def __init__(self):
        self.allocators = []


_of_thread = _OfThread()


def alloc(size):
    return get_allocator()(size)


def get_allocator():
    return (_of_thread.allocators or _allocator)[-1]


def _plain(size):
    return MemoryPointer(Memory(size), 0)


def set_allocator(allocator=None):
    if _of_thread.allocators:
        raise ValueError("Can't change the allocator inside of a `with using_allocator(...)`")
    _allocator[-1] = allocator or _plain


def set_pinned_memory_allocator(allocator=None):
    pass


@contextlib.contextmanager
def using_allocator(allocator=None):
    _of_thread.allocators.append(allocator or _plain)
    try:
        yield
    finally:
        _of_thread.allocators.pop()
