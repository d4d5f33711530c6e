"""Parts of native code by themselves: updates, products with few rows, convolutions, functions.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/bench_native_parts.py

CPU time, minima: the loop over parameters, the NumPy kernel or the calls of NumPy / native code.
The results of both are compared bit for bit; those of products with few rows, which have an order
of summation of their own, nearly.
"""

import time

import numpy as np

import chainer
import chainer.functions as F
from chainer import optimizers
from chainwright.runtime import kernels
from chainwright.runtime.kernels import convolution as convolutions
from chainwright.runtime.kernels import products

PARAMETERS = {
    'small MLP': ([(64, 32), (64,), (64, 64), (64,), (1, 64), (1,)], 40),
    'mlp': ([(1000, 784), (1000,), (1000, 1000), (1000,), (10, 1000), (10,)], 2),
    '160 small ones': ([(16, 16), (16,)] * 80, 5),
}
#: Rows, columns, inner length of ``y = x W.T``.
PRODUCTS = [
    (2, 2600, 650), (8, 2600, 650), (20, 2600, 650), (64, 2600, 650), (100, 1000, 784),
    (32, 256, 256), (20, 10000, 650), (128, 1024, 1024),
]
#: Images, channels, results, size, filter, stride, pad.
IMAGES = [
    (32, 3, 64, 32, 3, 1, 1), (32, 64, 64, 32, 3, 1, 1), (32, 64, 128, 16, 3, 1, 1),
    (32, 128, 128, 16, 3, 1, 1), (4, 16, 16, 16, 3, 1, 1), (4, 16, 32, 8, 3, 2, 1),
    (32, 1, 6, 28, 5, 1, 2),
]


def least(run, number, rounds=20):
    """The least CPU time of a run, in seconds."""
    best = float('inf')
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(number):
            run()
        best = min(best, (time.process_time() - start) / number)
    return best


def updates(make, shapes, number):
    found, ends = [], []
    for step in (False, True):
        chainer.global_config.static_step = step
        rng = np.random.RandomState(0)
        model = chainer.Link(**{f'p{k}': shape for k, shape in enumerate(shapes)})
        optimizer = make().setup(model)
        for p in model.params():
            p.array, p.grad = (rng.randn(*p.shape).astype('f') for _ in range(2))
        found.append(least(optimizer.update, number) * 1e6)
        ends.append([p.array.tobytes() for p in model.params()])
    assert ends[0] == ends[1]
    return ' / '.join(f'{t:.0f}' for t in found)


def product(a, b, number):
    """Microseconds of NumPy's product and of our own, in turns."""
    assert products.is_few(a, b)
    ways = [np.dot, products.dot] * 12
    found = [least(lambda f=f: f(a, b), number, 3) for f in ways]
    np.testing.assert_allclose(products.dot(a, b), np.dot(a, b), rtol=1e-3, atol=1e-2)
    return ' / '.join(f'{min(found[k::2]) * 1e6:.0f}' for k in range(2))


def convolution(name, *arrays, **settings):
    function, door = getattr(convolutions, name), kernels.native
    found, ends = [], []
    for native in (None, door):
        kernels.native = native
        for _ in range(6):
            result = function(*arrays, **settings)
        ends.append(result.tobytes())
        found.append(least(lambda: function(*arrays, **settings), 1) * 1e3)
    assert ends[0] == ends[1]
    return ' / '.join(f'{t:.2f}' for t in found)


def normal(*shape):
    return np.random.RandomState(0).standard_normal(shape).astype('f')


def functions():
    """Name, function and arguments of what define-by-run has in native code."""
    for shape in ((4, 8, 6, 6), (32, 64, 32, 32)):
        n = shape[1]
        yield 'batch normalization', F.batch_normalization, [
            normal(*shape), np.ones(n, 'f'), np.zeros(n, 'f')]
        yield 'max pooling, 2 by 2', lambda x: F.max_pooling_2d(x, 2), [normal(*shape)]
        yield 'max pooling, 3 by 3, stride 2', lambda x: F.max_pooling_2d(x, 3, 2), [normal(*shape)]
        yield 'average pooling, 2 by 2', lambda x: F.average_pooling_2d(x, 2), [normal(*shape)]
    for shape in ((16, 32), (4096, 1024)):
        yield 'layer normalization', F.layer_normalization, [
            normal(*shape), np.ones(shape[1], 'f'), np.zeros(shape[1], 'f')]
        yield 'dropout', F.dropout, [normal(*shape)]
    for n, units in ((4, 16), (20, 650)):
        yield 'LSTM cell', lambda c, x: F.lstm(c, x)[1], [normal(n, units), normal(n, 4 * units)]


def timed(function, arrays):
    """Forward and backward, with Python and NumPy calls around them as they are."""
    found, ends = [], []
    for target in ('numpy', 'native'):
        chainer.global_config.static_target = target
        xs = [chainer.Variable(x) for x in arrays]

        def forward(xs=xs):
            return function(*xs)

        def both(xs=xs):
            for x in xs:
                x.cleargrad()
            y = function(*xs)
            y.grad = y.array
            y.backward()
            return y

        np.random.seed(0)
        for _ in range(6):
            y = both()
        ends.append([y.array.tobytes(), *(x.grad.tobytes() for x in xs)])
        number = max(1, int(2e-3 / least(forward, 1, 3)))
        found.append((least(forward, number) * 1e6, least(both, number) * 1e6))
    assert ends[0] == ends[1]
    return [f'{a:.0f} / {b:.0f}' for a, b in zip(*found, strict=True)]


def main():
    chainer.global_config.static_target = 'native'
    kinds = [optimizers.SGD, optimizers.MomentumSGD, optimizers.Adam, optimizers.RMSprop]
    print('| parameters, µs |', ' | '.join(kind.__name__ for kind in kinds), '|')
    print('|---' * 5 + '|')
    for name, (shapes, number) in PARAMETERS.items():
        print(f'| {name} |', ' | '.join(updates(kind, shapes, number) for kind in kinds), '|')
    print("\n| rows, columns, inner length of y = x W'; µs | x W' | gy W | gy' x |")
    print('|---' * 4 + '|')
    for case in PRODUCTS:
        m, n, k = case
        x, W, gy = normal(m, k), normal(n, k), normal(m, n)
        number = max(1, 20_000_000 // (m * n * k))
        row = [product(*pair, number) for pair in ((x, W.T), (gy, W), (gy.T, x))]
        print('|', ', '.join(map(str, case)), '|', ' | '.join(row), '|', flush=True)
    print('\n| n, c, co, size, filter, stride, pad; ms | forward | images | filters |')
    print('|---' * 4 + '|')
    for case in IMAGES:
        n, c, co, size, k, stride, pad = case
        out = (size + 2 * pad - k) // stride + 1
        rng = np.random.RandomState(0)
        x, W, gy = (rng.randn(*shape).astype('f') for shape in (
            (n, c, size, size), (co, c, k, k), (n, co, out, out)))
        pairs = {'stride': stride, 'pad': pad, 'dilate': 1}
        same = {name: (value, value) for name, value in pairs.items()} | {'groups': 1}
        row = [
            convolution('convolution', x, W, outsize=(out, out), **same),
            convolution('convolution_transpose', gy, W, outsize=(size, size), **same),
            convolution('convolution_weight', x, gy, ksize=(k, k), **same),
        ]
        print('|', ', '.join(map(str, case)), '|', ' | '.join(row), '|', flush=True)
    print('\n| function of define-by-run, µs | arrays | forward | forward and backward |')
    print('|---' * 4 + '|')
    for name, function, arrays in functions():
        shape = ', '.join(map(str, arrays[0].shape))
        print(f'| {name} | {shape} |', ' | '.join(timed(function, arrays)), '|', flush=True)


if __name__ == '__main__':
    main()
