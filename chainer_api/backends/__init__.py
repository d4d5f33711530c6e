"""Array backends."""
from chainer.backends import _cpu, cuda, intel64  # noqa: F401
