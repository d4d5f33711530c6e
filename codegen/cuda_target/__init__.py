"""Programs for CUDA: fused kernels as CUDA C, and calls of CuPy between them."""

from .program import CudaProgram, KernelError, options
from .target import CudaTarget
from .writer import NotOnDevice

__all__ = ["CudaProgram", "CudaTarget", "KernelError", "NotOnDevice", "options"]
