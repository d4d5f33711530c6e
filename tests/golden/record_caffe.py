"""Write small files of Caffe and record what the original computes with them.

tests/golden/original tests/golden/record_caffe.py
"""
import json
import os
import shutil
import sys
import tempfile
import warnings

import numpy as np

import chainer
from chainer.exporters.caffe import export as caffe_export
from chainer.links.caffe import CaffeFunction
from chainer.links.caffe.protobuf3 import caffe_pb2

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import caffe_cases  # noqa: E402

results = {}
texts = {}
for make in caffe_cases.NETS:
    name = make.__name__
    net, outputs = make(caffe_pb2)
    path = os.path.join(HERE, 'caffe_%s.caffemodel' % name)  # noqa: UP031
    with open(path, 'wb') as file:
        file.write(net.SerializeToString())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        function = CaffeFunction(path)
    texts[name] = {
        'outputs': outputs, 'forwards': sorted(function.forwards),
        'warnings': [str(w.message) for w in caught],
        'params': {path: list(p.shape) for path, p in function.namedparams()}}
    for train in (False, True):
        inputs = caffe_cases.inputs()
        np.random.seed(0)
        with chainer.using_config('train', train):
            for output in outputs:
                try:
                    y, = function(inputs, [output])
                except Exception as e:
                    sys.stderr.write('%s %s: %r\n' % (name, output, e))  # noqa: UP031
                    continue
                results['%s %s %s' % (name, train, output)] = getattr(y, 'array', y)  # noqa: UP031

# A model that the original's exporter wrote.
np.random.seed(0)
L, F = chainer.links, chainer.functions
model = chainer.Sequential(
    L.Convolution2D(4, 3, 3, pad=1), L.BatchNormalization(3), F.relu,
    lambda x: F.max_pooling_2d(x, 2), L.Linear(3 * 4 * 4, 5), F.softmax)
x = caffe_cases.inputs()['data']
model(x)
with tempfile.TemporaryDirectory() as folder:
    caffe_export(model, [chainer.Variable(x)], folder, True, 'test')
    shutil.copy(os.path.join(folder, 'chainer_model.caffemodel'),
                os.path.join(HERE, 'caffe_exported.caffemodel'))
with chainer.using_config('train', False):
    results['exported'] = model(x).array

text = json.dumps(texts, sort_keys=True)
np.savez_compressed(
    os.path.join(HERE, 'caffe.npz'), texts=np.frombuffer(text.encode(), np.uint8), **results)
sys.stderr.write(text + '\n')
