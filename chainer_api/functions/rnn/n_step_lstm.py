"""Where Chainer 7 keeps :mod:`chainer.functions.connection.n_step_lstm`."""
from chainer.functions.connection.n_step_lstm import (
    NStepBiLSTM,  # noqa: F401
    NStepLSTM,  # noqa: F401
    _lstm,  # noqa: F401
    n_step_bilstm,  # noqa: F401
    n_step_lstm,  # noqa: F401
    n_step_lstm_base,  # noqa: F401
)
