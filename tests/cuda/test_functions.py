"""The tables of all functions with CuPy arrays: values and gradients are those of NumPy."""
import contextlib

import function_case
import numpy as np
import pytest
from device_rows import SIMULATED, assert_close, draws, has_same_bits, marked

import chainer
import chainer.functions as F
from chainer.backends import cuda

cupy = cuda.cupy
#: Rows that have arrays of NumPy of their own, or mean the CPU.
ON_THE_HOST = {
    'add_array', 'add_array_left', 'copy', 'crf1d', 'crf1d_equal', 'crf1d_equal_no', 'crf1d_no',
    'ctc_lengths', 'ctc_lengths_no', 'decorrelated_batch_normalization_running', 'div_from_array',
    'matmul_operator_left', 'mul_array', 'permutate', 'permutate_axis', 'permutate_inverse',
    'permutate_negative', 'pow_of_array', 'sparse_matmul_batch', 'sparse_matmul_batch_right',
    'sub_from_array', 'where', 'where_integers',
    'where_scalar'}
ROWS = [row for family in function_case.families()
        for row in function_case.table(family).CASES if row.name not in ON_THE_HOST]


#: What cannot go on without numbers from the device: shapes and places that depend on values.
WAITING = {'classification_summary', 'get_item_mask', 'get_item_masked_axis', 'get_item_masks',
           'scatter_add_mask'}


@contextlib.contextmanager
def nothing_waited_for(row, xp, function):
    """Define-by-run copies nothing to the host meanwhile; a real device does not tell."""
    waits = row.name in WAITING or row.name.startswith('roi_')
    if xp is np or function is not None or waits or not SIMULATED:
        yield
        return
    from cupy import _memory

    del _memory.events[:]
    yield
    assert not [event for event in _memory.events if event[0] == 'to host']


def call(row, arrays, xp, seed=0, function=None):
    """Outputs and gradients of a row, on the host; ``function`` is to do what the row does."""
    with nothing_waited_for(row, xp, function):
        arrays = applied(row, arrays, xp, seed, function)
    return [None if a is None else cuda.to_cpu(a) for a in arrays]


def applied(row, arrays, xp, seed, function):
    indices = row.grad_indices(arrays)
    xs = [xp.asarray(a) for a in arrays]
    xs = [chainer.Variable(a) if i in indices else a for i, a in enumerate(xs)]
    np.random.seed(seed)
    cupy.random.seed(seed)
    ys = function_case.flatten(row.call(F, *xs) if function is None else function(*xs))
    for y in ys:
        array = y.array if isinstance(y, chainer.Variable) else y
        assert isinstance(array, xp.ndarray), f'a result is {type(array)}'
    variables = [y for y in ys if isinstance(y, chainer.Variable)]
    gys = function_case.output_grads([y.array for y in variables])
    pairs = [(y, chainer.Variable(xp.asarray(g)))
             for y, g in zip(variables, gys, strict=True) if g is not None]
    gradients = chainer.grad(
        [y for y, _ in pairs], [xs[i] for i in indices], [g for _, g in pairs]) if indices else []
    return [chainer.as_array(y) for y in (*ys, *gradients)]


def check(row, variant, char):
    arrays = row.inputs(variant, char)
    with np.errstate(all='ignore'):
        np.random.seed(0)  # as the call does
        with draws() as drawn:
            expected = call(row, arrays, np)
        found = call(row, arrays, cupy)
    assert_close(found, expected, *row.tolerances(char), drawn)


@contextlib.contextmanager
def configured(row):
    with contextlib.ExitStack() as stack:
        for name, value in row.config.items():
            stack.enter_context(chainer.using_config(name, value))
        yield


def dtype_of(row):
    return 'f' if 'f' in row.dtypes else row.dtypes[-1]


@pytest.mark.parametrize('row', marked(ROWS))
def test_as_numpy(row):
    with configured(row):
        for variant in sorted({0, len(row.variants) - 1}):
            check(row, variant, dtype_of(row))


#: One of each kind for each commit: the others are variations, though of other functions.
COMPILED_QUICK = {
    'gelu', 'softmax', 'log_softmax', 'softmax_cross_entropy', 'batch_normalization', 'lstm',
    'layer_normalization', 'convolution_2d', 'max_pooling_2d', 'embed_id', 'linear', 'huber_loss',
    'dropout', 'logsumexp', 'concat',
    'contrastive_equal_half',  # numbers of NumPy in half precision
    # what they keep of lists and arrays of the host would be of another device
    'get_item_pairs', 'scatter_add_lists', 'pad_constant', 'split_axis_array'}


@pytest.mark.parametrize('row', [pytest.param(
    row, id=row.name, marks=[pytest.mark.slow] * (row.name not in COMPILED_QUICK))
    for row in ROWS if row.static])
def test_compiled_is_define_by_run(row):
    """Two calls that teach and two programs, on other inputs and seeds, bit for bit."""
    class Chain(chainer.Chain):
        @chainer.static_graph
        def forward(self, *xs):
            return row.call(F, *xs)

    chain, char, pairs = Chain(), dtype_of(row), []
    with configured(row), np.errstate(all='ignore'), chainer.using_config('static_check', 'never'):
        for seed in range(4):
            arrays = row.inputs(0, char, seed)
            expected = call(row, arrays, cupy, seed)
            found = call(row, arrays, cupy, seed, chain.forward)
            pairs += [(seed, a, e) for a, e in zip(found, expected, strict=True)]
    for seed, a, e in pairs:
        same = a is e if a is None or e is None else has_same_bits(a, e, chain)
        assert same, f'call {seed}: {a} is not {e}'
    report, = chain.schedule_manager.report()
    if row.name in COMPILED_QUICK:
        assert report.hits == (2 if row.name != 'dropout' else 0), report


F32, D = np.float32, chainer.Variable


def arrays(*shapes, dtype=F32, xp=np):
    rng = np.random.RandomState(0)
    return [xp.asarray(rng.standard_normal(shape).astype(dtype)) for shape in shapes]


def labels(xp, *values):
    return xp.asarray(np.array(values, np.int32))


@pytest.mark.parametrize('function', [
    lambda xp, x, y: D(x) + y, lambda xp, x, y: y - D(x), lambda xp, x, y: D(x) * y,
    lambda xp, x, y: y / D(x), lambda xp, x, y: abs(y) ** D(x),
    lambda xp, x, y: y.T @ D(x), lambda xp, x, y: F.where(x > 0, D(x), D(y)),
    lambda xp, x, y: F.permutate(D(x), labels(xp, 3, 1, 0, 2)),
    lambda xp, x, y: F.concat(F.split_axis(D(x), labels(xp, 1, 2), 0)[::-1], 0),
    lambda xp, x, y: F.get_item(D(x), (labels(xp, 3, 1), labels(xp, 0, 2))),
    lambda xp, x, y: F.scatter_add(D(x), labels(xp, 3, 1, 3), D(y[:3])),
    lambda xp, x, y: F.permutate(D(x), labels(xp, 3, 1, 0, 2), inv=True),
    lambda xp, x, y: F.crf1d(D(x[:3]), [D(x), D(y)], [labels(xp, 0, 2, 1, 1)] * 2),
    lambda xp, x, y: F.connectionist_temporal_classification(
        [D(x), D(y), D(x * y)], labels(xp, [1, 2], [1, 0], [2, 2], [1, 0]), 0,
        labels(xp, 3, 3, 2, 3), labels(xp, 2, 1, 1, 1))])
def test_with_arrays_of_their_own(function):
    """What the rows above do, with those arrays on the device."""
    host = function(np, *arrays((4, 3), (4, 3)))
    device = function(cupy, *arrays((4, 3), (4, 3), xp=cupy))
    np.testing.assert_allclose(cuda.to_cpu(device.array), host.array, rtol=2e-5, atol=2e-6)


def test_copy_to_the_host_and_back():
    (x,) = arrays((2, 3), xp=cupy)
    v = chainer.Variable(x)
    there = F.copy(v, -1)
    assert type(there.array) is np.ndarray
    back = F.copy(there * 2, '@cupy:0')
    assert isinstance(back.array, cupy.ndarray)
    F.sum(back).backward()
    assert isinstance(v.grad, cupy.ndarray)
    np.testing.assert_array_equal(v.grad.get(), np.full((2, 3), 2))
