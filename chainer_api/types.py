"""Names for annotations: what functions and links take.

They are there for type checkers and for code of Chainer 7 that imports them; nothing tests them
while a program runs.

>>> chainer.types.Shape
tuple[int, ...]
"""
import collections.abc
import numbers
import typing

import numpy

from chainer import initializer

AbstractInitializer = initializer.Initializer
ScalarValue = numpy.generic | bytes | str | memoryview | numbers.Number
Shape = tuple[int, ...]
ShapeSpec = int | collections.abc.Sequence[int]
DTypeSpec = typing.Any
Xp = typing.Any
NdArray = typing.Union[numpy.ndarray, 'cupy.ndarray']  # noqa: F821, UP007  CuPy may be missing
CudaDeviceSpec = typing.Union['cupy.cuda.Device', int, numpy.integer]  # noqa: F821, UP007
DeviceSpec = typing.Union[  # noqa: UP007
    'chainer.backend.Device', 'cupy.cuda.Device', str, tuple[str, int], tuple[typing.Any, int]]  # noqa: F821
InitializerSpec = AbstractInitializer | ScalarValue | numpy.ndarray
