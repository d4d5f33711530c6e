"""How each function is written in ONNX."""
from onnx_chainer.functions import (  # noqa: F401
    activation,
    array,
    connection,
    loss,
    math,
    noise,
    normalization,
    pooling,
    rnn,
)
from onnx_chainer.functions.converter import (  # noqa: F401
    CONVERTERS,
    FunctionConverter,
    FunctionConverterParams,
)
