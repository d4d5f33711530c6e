"""Function hooks."""
from chainer.function_hooks.cuda_profile import CUDAProfileHook as CUDAProfileHook
from chainer.function_hooks.cupy_memory_profile import (
    CupyMemoryProfileHook as CupyMemoryProfileHook,
)
from chainer.function_hooks.debug_print import PrintHook as PrintHook
from chainer.function_hooks.timer import TimerHook as TimerHook
