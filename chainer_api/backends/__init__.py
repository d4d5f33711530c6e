"""Array backends."""
from chainer.backends import _chainerx, _cpu, cuda, intel64  # noqa: F401
