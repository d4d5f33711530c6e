"""Record the files of Caffe that the original writes.

    tests/golden/original tests/golden/record_exporters.py
"""
import os
import sys
import tempfile

import numpy as np

import chainer
from chainer.exporters import caffe

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import exporter_cases  # noqa: E402

results = {}
for name in sorted(exporter_cases.CASES):
    model, x = exporter_cases.build(chainer, name)
    with tempfile.TemporaryDirectory() as folder:
        caffe.export(model, [chainer.Variable(x)], folder, True, name)
        for extension in ('prototxt', 'caffemodel'):
            with open(os.path.join(folder, 'chainer_model.' + extension), 'rb') as f:
                results[name + ' ' + extension] = np.frombuffer(f.read(), np.uint8)
    with chainer.using_config('train', False):
        results[name + ' y'] = model(chainer.Variable(x)).array
np.savez_compressed(os.path.join(HERE, 'exporters.npz'), **results)
