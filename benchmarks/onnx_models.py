"""Whole models of the library, exported and run in onnxruntime: python benchmarks/onnx_models.py"""
import time

import numpy as np
import onnx
import onnxruntime

import chainer
import chainer.links as L
import onnx_chainer

MODELS = [
    ('VGG16Layers', 224, 'prob'), ('GoogLeNet', 224, 'prob'), ('ResNet50Layers', 224, 'prob'),
    ('ResNet50Layers', 64, 'res5')]


class Model(chainer.Chain):
    """One layer of a model of the library."""

    def __init__(self, name, layer):
        super().__init__()
        with self.init_scope():
            self.net = getattr(L, name)(pretrained_model=None)
        self.layer = layer

    def forward(self, x):
        return self.net(x, layers=[self.layer])[self.layer]


def main():
    """Print a line for each model; the error is that of the largest value."""
    np.random.seed(0)
    for name, size, layer in MODELS:
        model = Model(name, layer)
        x = np.random.uniform(-1, 1, (1, 3, size, size)).astype(np.float32)
        started = time.perf_counter()
        proto, _, outputs = onnx_chainer.export(model, x, return_named_inout=True)
        seconds = time.perf_counter() - started
        if proto.ByteSize() < 2 ** 31:
            onnx.checker.check_model(proto, full_check=True)
        session = onnxruntime.InferenceSession(proto.SerializeToString())
        result, = session.run(None, {'Input_0': x})
        y, = outputs.values()
        error = np.abs(result - y.array).max() / np.abs(y.array).max()
        assert error < 1e-5, error
        print(f'{name:15} {layer:5} {size:4}: {len(proto.graph.node):4} nodes, exported in '
              f'{seconds:5.2f} s, largest difference {error:.1e}')


if __name__ == '__main__':
    main()
