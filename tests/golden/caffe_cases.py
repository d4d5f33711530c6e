"""Networks of Caffe that cover all layers, and what they are fed with.

record_caffe.py writes them by the protocol buffers of the original and records what its
CaffeFunction computes; test_caffe_function.py reads the same files.
"""
import numpy as np

X = (2, 4, 8, 7)


def inputs(seed=0):
    rng = np.random.RandomState(seed)
    return {
        'data': rng.randn(*X).astype(np.float32),
        'other': rng.randn(*X).astype(np.float32),
        'label': np.array([1, 3], np.int32),
    }


class Net:
    """Builds a NetParameter of either version, with random blobs."""

    def __init__(self, pb, v1=False):
        self.pb = pb
        self.v1 = v1
        self.net = pb.NetParameter()
        self.net.name = 'net'
        self.rng = np.random.RandomState(1)

    def add(self, name, kind, bottom, top, shapes=(), **params):
        layer = (self.net.layers if self.v1 else self.net.layer).add()
        layer.name = name
        layer.type = kind
        layer.bottom.extend(bottom)
        layer.top.extend(top)
        for shape in shapes:
            values = self.rng.uniform(.5, 1.5, shape) * self.rng.choice([-1, 1], shape)
            self.blob(layer, shape, values)
        for param, settings in params.items():
            message = getattr(layer, param)
            for key, value in settings.items():
                if isinstance(value, list):
                    getattr(message, key).extend(value)
                elif isinstance(value, dict):
                    for k, v in value.items():
                        getattr(getattr(message, key), k).extend(v)
                else:
                    setattr(message, key, value)
        return layer

    def blob(self, layer, shape, values):
        blob = layer.blobs.add()
        if self.v1:
            dims = (1,) * (4 - len(shape)) + tuple(shape)
            blob.num, blob.channels, blob.height, blob.width = dims
        else:
            blob.shape.dim.extend(shape)
        blob.data.extend(np.asarray(values, np.float32).ravel().tolist())


def convolutions(pb):
    net = Net(pb)
    net.add('data', 'Data', [], ['data'])
    net.add('conv', 'Convolution', ['data'], ['conv'], [(3, 4, 3, 3), (3,)], convolution_param={
        'num_output': 3, 'kernel_size': [3], 'pad': [1], 'stride': [2]})
    net.add('sizes', 'Convolution', ['data'], ['sizes'], [(3, 4, 3, 2)], convolution_param={
        'num_output': 3, 'kernel_h': 3, 'kernel_w': 2, 'pad_h': 1, 'pad_w': 2, 'stride_h': 2,
        'stride_w': 1, 'bias_term': False})
    net.add('group', 'Convolution', ['data'], ['group'], [(6, 2, 3, 3), (6,)], convolution_param={
        'num_output': 6, 'kernel_size': [3], 'group': 2})
    net.add('deconv', 'Deconvolution', ['data'], ['deconv'], [(4, 3, 2, 2), (3,)],
            convolution_param={'num_output': 3, 'kernel_size': [2], 'stride': [2]})
    return net.net, ['conv', 'sizes', 'group', 'deconv']


def dense(pb):
    net = Net(pb)
    net.add('fc/1', 'InnerProduct', ['data'], ['fc1'], [(5, 4 * 8 * 7), (5,)],
            inner_product_param={'num_output': 5})
    net.add('fc2', 'InnerProduct', ['fc1'], ['fc2'], [(4, 5)],
            inner_product_param={'num_output': 4, 'bias_term': False})
    net.add('relu', 'ReLU', ['fc1'], ['relu'])
    net.add('leaky', 'ReLU', ['fc1'], ['leaky'], relu_param={'negative_slope': .25})
    net.add('sigmoid', 'Sigmoid', ['fc1'], ['sigmoid'])
    net.add('softmax', 'Softmax', ['fc2'], ['softmax'])
    net.add('drop', 'Dropout', ['fc1'], ['drop'], dropout_param={'dropout_ratio': .25})
    net.add('loss', 'SoftmaxWithLoss', ['fc2', 'label'], ['loss'])
    net.add('silence', 'Silence', ['fc2'], [])
    net.add('accuracy', 'Accuracy', ['fc2', 'label'], ['accuracy'])
    return net.net, ['fc1', 'fc2', 'relu', 'leaky', 'sigmoid', 'softmax', 'drop', 'loss']


def pooling(pb):
    net = Net(pb)
    net.add('max', 'Pooling', ['data'], ['max'], pooling_param={
        'pool': 0, 'kernel_size': 3, 'stride': 2})
    net.add('max_pad', 'Pooling', ['data'], ['max_pad'], pooling_param={
        'pool': 0, 'kernel_h': 3, 'kernel_w': 2, 'stride_h': 2, 'stride_w': 1, 'pad': 1})
    net.add('average', 'Pooling', ['data'], ['average'], pooling_param={
        'pool': 1, 'kernel_size': 3, 'stride': 2, 'pad_h': 1, 'pad_w': 0})
    net.add('global_max', 'Pooling', ['data'], ['global_max'], pooling_param={
        'pool': 0, 'global_pooling': True})
    net.add('global_average', 'Pooling', ['data'], ['global_average'], pooling_param={
        'pool': 1, 'global_pooling': True})
    net.add('lrn', 'LRN', ['data'], ['lrn'], lrn_param={
        'local_size': 3, 'alpha': .5, 'beta': .6, 'k': 2.})
    return net.net, ['max', 'max_pad', 'average', 'global_max', 'global_average', 'lrn']


def combining(pb):
    net = Net(pb)
    net.add('split', 'Split', ['data'], ['a', 'b'])
    net.add('concat', 'Concat', ['a', 'other'], ['concat'])
    net.add('concat2', 'Concat', ['b', 'other'], ['concat2'], concat_param={'axis': 2})
    net.add('sum', 'Eltwise', ['a', 'other'], ['sum'], eltwise_param={'operation': 1})
    net.add('coeff', 'Eltwise', ['a', 'other'], ['coeff'], eltwise_param={
        'operation': 1, 'coeff': [.5, -2.]})
    net.add('prod', 'Eltwise', ['a', 'other'], ['prod'], eltwise_param={'operation': 0})
    net.add('maximum', 'Eltwise', ['a', 'other'], ['maximum'], eltwise_param={'operation': 2})
    net.add('slice', 'Slice', ['data'], ['s1', 's2', 's3'], slice_param={
        'axis': 1, 'slice_point': [1, 3]})
    net.add('slice2', 'Slice', ['data'], ['t1', 't2'], slice_param={'axis': 2})
    net.add('reshape', 'Reshape', ['data'], ['reshape'], reshape_param={
        'shape': {'dim': [2, 2, -1, 7]}})
    return net.net, ['concat', 'concat2', 'sum', 'coeff', 'prod', 'maximum', 's1', 's2',
                     's3', 't1', 't2', 'reshape']


def norms(pb):
    net = Net(pb)
    layer = net.add('bn', 'BatchNorm', ['data'], ['bn'], batch_norm_param={
        'eps': 1e-3, 'moving_average_fraction': .75, 'use_global_stats': True})
    net.blob(layer, (4,), net.rng.uniform(-1, 1, 4))
    net.blob(layer, (4,), net.rng.uniform(.5, 1, 4))
    net.blob(layer, (1,), [2.])
    layer = net.add('bn_train', 'BatchNorm', ['data'], ['bn_train'])
    net.blob(layer, (4,), net.rng.uniform(-1, 1, 4))
    net.blob(layer, (4,), net.rng.uniform(.5, 1, 4))
    net.blob(layer, (1,), [1.])
    net.add('scale', 'Scale', ['bn'], ['scale'], [(4,), (4,)], scale_param={
        'axis': 1, 'bias_term': True})
    net.add('scale_only', 'Scale', ['bn'], ['scale_only'], [(4,)])
    return net.net, ['bn', 'bn_train', 'scale', 'scale_only']


def version_1(pb):
    kind = pb.V1LayerParameter.LayerType.Value
    net = Net(pb, v1=True)
    net.add('data', kind('DATA'), [], ['data'])
    net.add('conv', kind('CONVOLUTION'), ['data'], ['conv'], [(3, 4, 3, 3), (3,)],
            convolution_param={'num_output': 3, 'kernel_size': [3]})
    net.add('relu', kind('RELU'), ['conv'], ['conv'])
    net.add('pool', kind('POOLING'), ['conv'], ['pool'],
            pooling_param={'kernel_size': 2, 'stride': 2})
    net.add('norm', kind('LRN'), ['pool'], ['norm'], lrn_param={'local_size': 3, 'alpha': .5})
    net.add('fc', kind('INNER_PRODUCT'), ['norm'], ['fc'], [(4, 27), (4,)],
            inner_product_param={'num_output': 4})
    net.add('drop', kind('DROPOUT'), ['fc'], ['fc'], dropout_param={'dropout_ratio': .25})
    net.add('cat', kind('CONCAT'), ['pool', 'norm'], ['cat'], concat_param={'concat_dim': 1})
    net.add('sum', kind('ELTWISE'), ['pool', 'norm'], ['sum'])
    net.add('split', kind('SPLIT'), ['fc'], ['fc_a', 'fc_b'])
    net.add('prob', kind('SOFTMAX'), ['fc_a'], ['prob'])
    net.add('sig', kind('SIGMOID'), ['fc_b'], ['sig'])
    net.add('loss', kind('SOFTMAX_LOSS'), ['fc', 'label'], ['loss'])
    net.add('slice', kind('SLICE'), ['data'], ['s1', 's2'], slice_param={'slice_dim': 1})
    return net.net, ['conv', 'pool', 'norm', 'fc', 'cat', 'sum', 'prob', 'sig', 'loss', 's1', 's2']


NETS = [convolutions, dense, pooling, combining, norms, version_1]
