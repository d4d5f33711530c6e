"""Hook that marks functions for NVIDIA's profilers."""
from chainer import function_hook
from chainer.backends import cuda


class CUDAProfileHook(function_hook.FunctionHook):
    """Hook that marks the time ranges of functions for NVIDIA's profilers (NVTX).

    Ranges are named after a function's label, with ``.forward`` or ``.backward`` behind.

    Raises:
        RuntimeError: If CUDA is not available.
    """

    name = 'CUDAProfileHook'

    def __init__(self):
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
