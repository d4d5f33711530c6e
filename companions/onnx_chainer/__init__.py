"""Export of models to ONNX, as the package of this name in Chainer 7 does it, for today's opsets.

The model runs once, define-by-run; the functions that it applies become nodes of ONNX. Importing
works without the package ``onnx`` (``pip install chainwright[onnx]``); exporting needs it.
"""
from onnx_chainer import replace_func  # noqa: F401
from onnx_chainer._opset import MAXIMUM_OPSET_VERSION, MINIMUM_OPSET_VERSION  # noqa: F401
from onnx_chainer.export import export  # noqa: F401
from onnx_chainer.export_testcase import export_testcase  # noqa: F401
