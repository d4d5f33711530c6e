"""Parts of native code by themselves: updates of all parameters, and convolutions.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/bench_native_parts.py

CPU time, minima: the loop over parameters or the NumPy kernel / native code. The results of both
are compared bit for bit.
"""

import time

import numpy as np

import chainer
from chainer import optimizers
from chainwright.runtime import kernels
from chainwright.runtime.kernels import convolution as convolutions

PARAMETERS = {
    'small MLP': ([(64, 32), (64,), (64, 64), (64,), (1, 64), (1,)], 40),
    'mlp': ([(1000, 784), (1000,), (1000, 1000), (1000,), (10, 1000), (10,)], 2),
    '160 small ones': ([(16, 16), (16,)] * 80, 5),
}
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


def main():
    chainer.global_config.static_target = 'native'
    kinds = [optimizers.SGD, optimizers.MomentumSGD, optimizers.Adam, optimizers.RMSprop]
    print('| parameters, µs |', ' | '.join(kind.__name__ for kind in kinds), '|')
    print('|---' * 5 + '|')
    for name, (shapes, number) in PARAMETERS.items():
        print(f'| {name} |', ' | '.join(updates(kind, shapes, number) for kind in kinds), '|')
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


if __name__ == '__main__':
    main()
