"""Models that are written for Caffe, by this package and by the original."""
import numpy as np


def inception(chainer):
    F = chainer.functions

    def forward(model, x):
        a = F.relu(model.a(x))
        b = F.relu(model.b(F.relu(model.c(x))))
        return F.concat([a, b, F.relu(model.d(F.max_pooling_2d(x, 3, 1, 1)))])
    L = chainer.links
    return forward, {'a': L.Convolution2D(3, 2, 1), 'b': L.Convolution2D(2, 3, 3, 1, 1),
                     'c': L.Convolution2D(3, 2, 1), 'd': L.Convolution2D(3, 2, 1)}


def residual(chainer):
    F, L = chainer.functions, chainer.links

    def forward(model, x):
        h = model.a(x)
        return F.relu(model.m(h) + model.n(model.b(F.relu(h))))
    return forward, {'a': L.Convolution2D(3, 4, 1), 'b': L.Convolution2D(4, 4, 1),
                     'm': L.BatchNormalization(4), 'n': L.BatchNormalization(4)}


def single(link=None, function=None):
    def make(chainer):
        def forward(model, x):
            h = model.l(x) if link else x
            return function(chainer.functions, h) if function else h
        return forward, {'l': link(chainer.links)} if link else {}
    return make


CASES = {
    'linear': (single(lambda L: L.Linear(3, 2), lambda F, h: F.relu(h)), (2, 3)),
    'linear_no_bias': (single(lambda L: L.Linear(3, 2, nobias=True)), (2, 3)),
    'convolution': (single(
        lambda L: L.Convolution2D(4, 4, 3, (2, 1), (0, 1), groups=2),
        lambda F, h: F.leaky_relu(h, 0.25)), (1, 4, 6, 6)),
    # As many channels out as in: the original gives the bias of others a wrong shape.
    'deconvolution': (single(lambda L: L.Deconvolution2D(3, 3, 3, 2, 1)), (1, 3, 4, 4)),
    'max_pooling': (single(None, lambda F, h: F.max_pooling_2d(h, 3, 2)), (1, 2, 5, 5)),
    'average_pooling': (single(
        None, lambda F, h: F.average_pooling_2d(h, (2, 3), (2, 3))), (1, 2, 6, 6)),
    'batch_normalization': (single(lambda L: L.BatchNormalization(3)), (2, 3, 2, 2)),
    'lrn': (single(
        None, lambda F, h: F.local_response_normalization(h, 5, 2, 0.01, 0.75)), (1, 6, 2, 2)),
    'softmax': (single(None, lambda F, h: F.softmax(F.sigmoid(h))), (2, 3)),
    'reshape': (single(None, lambda F, h: F.reshape(h, (2, -1))), (2, 3, 2)),
    'dropout': (single(None, lambda F, h: F.dropout(F.relu(h))), (2, 3)),
    'inception': (inception, (1, 3, 5, 5)),
    'residual': (residual, (2, 3, 4, 4)),
}


def build(chainer, name):
    """The model with parameters and statistics that depend on nothing but their order."""
    make, shape = CASES[name]
    forward, links = make(chainer)

    class Model(chainer.Chain):
        def forward(self, x):
            return forward(self, x)

    model = Model()
    with model.init_scope():
        for key, link in links.items():
            setattr(model, key, link)
    rng = np.random.RandomState(1)
    for _, param in sorted(model.namedparams()):
        param.array[...] = rng.uniform(-1, 1, param.shape)
    for _, link in sorted(model.namedlinks()):
        if hasattr(link, 'avg_var'):
            link.avg_mean[...] = rng.uniform(-1, 1, link.avg_mean.shape)
            link.avg_var[...] = rng.uniform(0.5, 1, link.avg_var.shape)
    return model, rng.uniform(-1, 1, shape).astype('f')
