"""``cupy.cuda``."""
import contextlib
import types

from . import _capture, _memory, nccl  # noqa: F401
from ._capture import Graph  # noqa: F401
from ._kernel import CompileException, Function  # noqa: F401
from ._memory import (  # noqa: F401
    Device,
    Event,
    Memory,
    MemoryHook,
    MemoryPointer,
    MemoryPool,
    PinnedMemoryPointer,
    PinnedMemoryPool,
    Stream,
    UnownedMemory,
    alloc,
    alloc_pinned_memory,
    get_allocator,
    get_current_stream,
    get_elapsed_time,
    set_allocator,
    set_pinned_memory_allocator,
    using_allocator,
)


def is_available():
    return True


def get_device_id():
    return _memory._current.device


def _set_device(device):
    Device(device).use()


runtime = types.SimpleNamespace(
    getDeviceCount=lambda: _memory.DEVICES, CUDARuntimeError=_memory.CUDARuntimeError,
    getDevice=get_device_id, setDevice=_set_device, memcpyDeviceToDevice=3,
    deviceSynchronize=lambda: Device().synchronize(),
    streamCaptureModeGlobal=_capture.GLOBAL, streamCaptureModeRelaxed=_capture.RELAXED,
    streamCaptureModeThreadLocal=_capture.THREAD_LOCAL,
    driverGetVersion=lambda: 13000, runtimeGetVersion=lambda: 13000)
stream = types.SimpleNamespace(get_current_stream=get_current_stream)
compiler = types.SimpleNamespace(CompileException=CompileException)
memory = types.SimpleNamespace(
    OutOfMemoryError=_memory.OutOfMemoryError, MemoryPointer=MemoryPointer, Memory=Memory,
    UnownedMemory=UnownedMemory, MemoryPool=MemoryPool)
memory_hook = types.SimpleNamespace(MemoryHook=MemoryHook)
function = types.SimpleNamespace(Function=Function)
ranges = []
nvtx = types.SimpleNamespace(
    RangePush=lambda name, color=-1: ranges.append(('push', name)),
    RangePop=lambda: ranges.append(('pop',)), Mark=lambda name, color=-1: ranges.append(name))


@contextlib.contextmanager
def profile():
    yield


# As with CuPy, `from cupy.cuda.memory_hook import MemoryHook` finds these.
import sys  # noqa: E402

for _name in ('runtime', 'stream', 'compiler', 'memory', 'memory_hook', 'function', 'nvtx'):
    _module = types.ModuleType(f'cupy.cuda.{_name}')
    vars(_module).update(vars(globals()[_name]))
    sys.modules[f'cupy.cuda.{_name}'] = globals()[_name] = _module
sys.modules['cupy.cuda.nccl'] = nccl
