"""Where Chainer 7 keeps :mod:`chainer.functions.activation.slstm`."""
from chainer.functions.activation.slstm import SLSTM, slstm  # noqa: F401
