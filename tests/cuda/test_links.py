"""The table of all links with CuPy arrays: outputs, gradients and predictions are NumPy's."""
import copy

import link_case
import link_cases
import numpy as np
import pytest
from device_rows import assert_close, marked

import chainer
from chainer.backends import cuda

cupy = cuda.cupy
SIMULATED = 'simulated' in cupy.__file__  # its random numbers are those of NumPy
RANDOM = {'simplified_dropconnect', 'simplified_dropconnect_lazy', 'negative_sampling',
          'negative_sampling_no', 'black_out', 'zoneout', 'zoneout_lazy', 'n_step_lstm_dropout'}
ROWS = [row for rows in link_cases.FAMILIES.values() for row in rows]


def on(device, row, link, char):
    """One training step and a prediction, on the host."""
    link.to_device(device)
    arrays = [device.send(a) for a in row.arrays(char)]
    cupy.random.seed(1)
    outputs, gradients, input_gradients = train(row, link, arrays, device)
    with chainer.using_config('train', False), chainer.using_config('enable_backprop', False):
        xs = [device.send(a) for a in row.arrays(char, 1)]
        cupy.random.seed(1)
        predictions = link_case.call(chainer, row, link, xs)
    found = [*outputs, *gradients, *input_gradients, *predictions]
    found = [x.array if isinstance(x, chainer.Variable) else x for x in found]
    for x in found:
        assert x is None or isinstance(x, device.xp.ndarray), f'a result is {type(x)}'
    return [None if x is None else cuda.to_cpu(x) for x in found]


def train(row, link, arrays, device):
    link.cleargrads()
    xs = [chainer.Variable(a) if a.dtype.kind == 'f' else a for a in arrays]
    ys = link_case.call(chainer, row, link, xs)
    variables = [y for y in ys if isinstance(y, chainer.Variable) and y.dtype.kind == 'f']
    rng = np.random.RandomState(1000)
    gys = [device.send(np.asarray(rng.uniform(-1, 1, y.shape)).astype(y.dtype)) for y in variables]
    sum(chainer.functions.sum(y * gy) for y, gy in zip(variables, gys, strict=True)).backward()
    return (ys, [param.grad for _, param in sorted(link.namedparams())],
            [x.grad for x in xs if isinstance(x, chainer.Variable)])


@pytest.mark.parametrize('row', marked(ROWS))
def test_as_numpy(row):
    if row.name in RANDOM and not SIMULATED:
        pytest.skip('draws random numbers, which are others on the device')
    char = 'f' if 'f' in row.dtypes else row.dtypes[0]
    with link_case.using_config(chainer, dict(row.config, dtype=np.dtype(char))):
        np.random.seed(0)
        link = row.make(chainer.links)
        link_case.call(chainer, row, link, row.arrays(char))
        link_case.disturb(link)
        expected = on(chainer.get_device('@numpy'), row, copy.deepcopy(link), char)
        found = on(chainer.get_device('@cupy:0'), row, link, char)
    assert_close(found, expected, *row.tolerances(char))
