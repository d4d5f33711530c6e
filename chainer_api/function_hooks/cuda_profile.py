"""Hook that marks functions for NVIDIA's profilers."""
from chainer import function_hook
from chainer.backends import cuda


class CUDAProfileHook(function_hook.FunctionHook):
    """Hook that marks the time ranges of functions for NVIDIA's profilers (NVTX).

    Ranges are named after a function's label, with ``.forward`` or ``.backward`` behind.

    Methods compiled by :func:`chainer.static_graph` go define-by-run in the block of the hook, so
    that each function has its range. With ``compiled=True`` their programs run, with a range for
    each of their parts inside of that of the program: a kernel that computes several functions has
    the names of all of them, joined by ``+``. The device is waited for after each part.

    Args:
        compiled (bool): Whether compiled methods are marked as they are compiled.

    Raises:
        RuntimeError: If CUDA is not available.
    """

    name = 'CUDAProfileHook'

    def __init__(self, compiled=False):
        self.sees_programs = compiled
        cuda.check_cuda_available()
        self._nvtx = cuda.cupy.cuda.nvtx

    def forward_preprocess(self, function, in_data):
        self._nvtx.RangePush(function.label + '.forward')

    def forward_postprocess(self, function, in_data):
        self._nvtx.RangePop()

    def backward_preprocess(self, function, in_data, out_grad):
        self._nvtx.RangePush(function.label + '.backward')

    def backward_postprocess(self, function, in_data, out_grad):
        self._nvtx.RangePop()
