"""Where Chainer 7 keeps :mod:`chainer.functions.activation.lstm`."""
from chainer.functions.activation.lstm import LSTM, _extract_gates, lstm  # noqa: F401
