"""Programs for CUDA: fused kernels as CUDA C, and calls of CuPy between them."""

from .ops import NotOnDevice
from .program import CudaProgram, KernelError, options
from .target import CudaTarget

__all__ = ["CudaProgram", "CudaTarget", "KernelError", "NotOnDevice", "options"]
