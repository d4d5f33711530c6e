"""Where Chainer 7 keeps :mod:`chainer.functions.connection.n_step_rnn`."""
from chainer.functions.connection.n_step_rnn import (
    BaseNStepRNN,  # noqa: F401
    NStepBiRNNReLU,  # noqa: F401
    NStepBiRNNTanh,  # noqa: F401
    NStepRNNReLU,  # noqa: F401
    NStepRNNTanh,  # noqa: F401
    n_step_birnn,  # noqa: F401
    n_step_rnn,  # noqa: F401
    n_step_rnn_base,  # noqa: F401
)
