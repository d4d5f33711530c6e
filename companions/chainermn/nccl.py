"""NCCL, through CuPy; ``_available`` says whether it is there."""
import warnings

import numpy

try:
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # that the library is missing: _available says so
        from cupy.cuda.nccl import *  # noqa: F403
        from cupy.cuda.nccl import NcclCommunicator, get_unique_id  # noqa: F401

    _available = True
except Exception:  # CuPy raises all kinds of errors on a broken CUDA installation
    _available = False

# Numbers of NCCL itself, so that the code above it can be tested without a GPU.
_TYPES = {numpy.dtype(name): number for name, number in {
    'int8': 0, 'uint8': 1, 'int32': 2, 'uint32': 3, 'int64': 4, 'uint64': 5, 'float16': 6,
    'float32': 7, 'float64': 8}.items()}
_SUM = 0


def _type(dtype):
    """NCCL's number of a dtype.

    Raises:
        ValueError: NCCL cannot add up such elements.
    """
    try:
        return _TYPES[numpy.dtype(dtype)]
    except KeyError:
        raise ValueError(f'NCCL does not support dtype {dtype}') from None
