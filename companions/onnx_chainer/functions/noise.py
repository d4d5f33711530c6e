"""Noise: what onnxruntime and others leave out when they infer."""
from onnx_chainer.functions.converter import converts


@converts('Dropout')
def dropout(b):
    ratio = float(b.func.dropout_ratio)
    if b.opset < 12:
        return b.op('Dropout', *b.inputs, ratio=ratio)
    return b.op('Dropout', *b.inputs, b.scalar(ratio))
