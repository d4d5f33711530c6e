"""Where Chainer 7 keeps :mod:`chainer.functions.connection.n_step_gru`."""
from chainer.functions.connection.n_step_gru import (
    NStepBiGRU,  # noqa: F401
    NStepGRU,  # noqa: F401
    n_step_bigru,  # noqa: F401
    n_step_gru,  # noqa: F401
    n_step_gru_base,  # noqa: F401
)
