"""Kernels with reductions within rows: in exact programs of integers only, else of all numbers."""
import copy

import numpy as np
import pytest
from device_graphs import Building
from device_models import MODELS, Model, pair, programs, train

import chainer
import chainer.functions as F
from chainer.backends import cuda
from chainwright.codegen.cuda_target import CudaTarget
from chainwright.ir import Graph, build, placeholder
from chainwright.ir.passes import PASSES_ANYWHERE

cupy = cuda.cupy
FAST, EXACT = CudaTarget(cupy, exact=False), CudaTarget(cupy)


def run(graph, *arrays, target=FAST):
    """The program and its results on arrays of NumPy."""
    built = build(graph, {}, target.passes, PASSES_ANYWHERE).forward
    program = target.program(built, 'f')
    made = program.load()
    with np.errstate(all='ignore'):
        found = made.function(
            *map(cupy.asarray, arrays), made.new_scratch(), made.new_kept())
    return program, [a.get() for a in found]


def compare(found, expected, dtype):
    tolerance = {'e': 4e-3, 'f': 2e-6, 'd': 1e-14}[np.dtype(dtype).char]
    for a, e in zip(found, expected, strict=True):
        assert a.shape == e.shape and a.dtype == dtype
        np.testing.assert_allclose(
            a.astype('d'), e, rtol=tolerance, atol=tolerance * max(np.abs(e).max(), 1e-3))


def softmax(g, x, axis):
    e = g.exp(g.subtract(x, g.max(x, axis=axis, keepdims=True)))
    return [g.divide(e, g.sum(e, axis=axis, keepdims=True))]


def softmax_of(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return [e / e.sum(axis, keepdims=True)]


def normalized(g, x, axis):
    """What normalizations do, with the statistics among the results."""
    mean = g.mean(x, axis=axis, keepdims=True)
    centered = g.subtract(x, mean)
    variance = g.mean(g.multiply(centered, centered), axis=axis, keepdims=True)
    scale = g.reciprocal(g.sqrt(g.add(variance, 1e-5)))
    return [g.multiply(centered, scale), g.multiply(mean, 0.5), scale]


def normalized_of(x, axis):
    mean, scale = x.mean(axis, keepdims=True), 1 / np.sqrt(x.var(axis, keepdims=True) + 1e-5)
    return [(x - mean) * scale, mean * .5, scale]


@pytest.mark.parametrize('shape, axis, char', [
    ((6, 40), (1,), 'f'),  # a warp for each row, four items at a time
    ((6, 40), (1,), 'e'),
    ((5, 33), (1,), 'f'),  # one item at a time
    ((5, 33), (1,), 'd'),
    ((3, 1500), (1,), 'f'),  # a block for each row
    ((2, 3, 4, 8), (3,), 'd'),
    ((4, 3, 6, 8), (0, 2, 3), 'f'),  # batch normalization
    ((4, 3, 6, 8), (0, 2, 3), 'e'),
    ((40, 3, 30), (2, 0), 'f'),
    ((7, 5), (0, 1), 'f'),  # one row
])
@pytest.mark.parametrize('body, expected', [
    (softmax, softmax_of), (normalized, normalized_of)])
def test_rows(body, expected, shape, axis, char):
    g = Building()
    x = placeholder('x', shape, char)
    outs = body(g, x, axis)
    a = np.random.RandomState(0).standard_normal(shape).astype(char)
    program, found = run(Graph((x,), tuple(g.nodes), tuple(outs), 'f'), a)
    compare(found, expected(a.astype('d'), axis), char)
    calls = [line for line in program.source.splitlines() if line.startswith('    kernel')
             or line.startswith('    aligned')]
    assert len(calls) == 1 and 'sum(' not in program.source
    assert ('over_warp<Sum>(r' in program.cuda) == (
        np.prod([shape[k] for k in axis]) <= 1024)
    assert ('kernel0_by_four(' in program.cuda) == (shape[-1] % 4 == 0)


def test_exact_programs_call_cupy_for_sums():
    g = Building()
    x = placeholder('x', (6, 40), 'f')
    outs = softmax(g, x, (1,))
    a = np.random.RandomState(0).standard_normal((6, 40)).astype('f')
    program, found = run(Graph((x,), tuple(g.nodes), tuple(outs), 'f'), a, target=EXACT)
    b = cupy.asarray(a)
    e = cupy.exp(b - b.max(axis=1, keepdims=True))
    assert (e / e.sum(axis=1, keepdims=True)).get().tobytes() == found[0].tobytes()
    assert 'sum_1(' in program.source and 'over_warp' not in program.cuda


@pytest.mark.parametrize('target', [EXACT, FAST])
def test_sums_of_integers_are_exact(target):
    """Any order gives the same: how many are right in each row, and the largest of all."""
    g = Building()
    x, t = placeholder('x', (9, 50), 'i4'), placeholder('t', (9, 50), 'i4')
    right = g.sum(g.equal(x, t), axis=(1,))
    y = g.multiply(x, t)
    most = [getattr(g, op)(y, axis=(1,)) for op in ('max', 'min', 'prod')]
    rng = np.random.RandomState(0)
    a, b = (rng.randint(-2, 2, (9, 50), 'i4') for _ in 'ab')
    outs = (right, g.multiply(right, 3), *most)
    program, found = run(Graph((x, t), tuple(g.nodes), outs, 'f'), a, b, target=target)
    expected = [(a == b).sum(1), (a == b).sum(1) * 3, (a * b).max(1), (a * b).min(1),
                (a * b).prod(1)]
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype and one.tobytes() == other.tobytes()
    assert program.cuda.count('extern "C"') == 1


def test_special_values():
    g = Building()
    x = placeholder('x', (4, 32), 'f')
    outs = (g.add(g.max(x, axis=1), 0.0), g.add(g.min(x, axis=1), 0.0), g.sum(x, axis=1))
    a = np.random.RandomState(0).standard_normal((4, 32)).astype('f')
    a[1, 3], a[2, 5], a[3, :] = np.nan, np.inf, -np.inf
    _, found = run(Graph((x,), tuple(g.nodes), outs, 'f'), a)
    np.testing.assert_array_equal(found[0], a.max(1))
    np.testing.assert_array_equal(found[1], a.min(1))
    np.testing.assert_allclose(found[2], a.sum(1), rtol=1e-5)


def test_operands_of_rows():
    """Other arrays by items, by rows and for all; in steps between passes as well."""
    g = Building()
    x, row = placeholder('x', (2, 5, 12), 'f'), placeholder('r', (2, 5, 1), 'f')
    column, short = placeholder('c', (12,), 'f'), placeholder('s', (5, 1), 'f')
    h = g.multiply(g.add(x, row), column)
    s = g.sum(h, axis=(2,), keepdims=True)
    flat = g.reshape(g.sum(g.multiply(h, h), axis=(2,)), shape=(10,))
    both = g.add(g.multiply(s, short), row)
    outs = (g.subtract(x, both), g.add(flat, 1.0), both)
    rng = np.random.RandomState(0)
    a, b, c, d = (rng.standard_normal(n.shape).astype('f') for n in (x, row, column, short))
    graph = Graph((x, row, column, short), tuple(g.nodes), outs, 'f')
    program, found = run(graph, a, b, c, d)
    hh = (a.astype('d') + b) * c
    bb = hh.sum(2, keepdims=True) * d + b
    compare(found, [a - bb, (hh * hh).sum(2).reshape(10) + 1, bb], 'f')
    assert program.cuda.count('extern "C"') == 2  # with four items at a time


@pytest.mark.parametrize('part', [
    lambda m: m[::2, :32], lambda m: m[::-1, 1:33],
    lambda m: m.reshape(8, 5, 64).transpose(1, 0, 2)])
def test_layouts_of_rows(part):
    memory = np.random.RandomState(0).standard_normal((40, 64)).astype('f')
    there, here = part(cupy.asarray(memory)), part(memory)
    g = Building()
    x = placeholder('x', here.shape, 'f', here.strides)
    axis = (here.ndim - 1,)
    outs = softmax(g, x, axis)
    built = build(Graph((x,), tuple(g.nodes), tuple(outs), 'f'), {}, FAST.passes,
                  PASSES_ANYWHERE).forward
    made = FAST.program(built, 'f').load()
    (found,) = made.function(there, made.new_scratch(), made.new_kept())
    compare([found.get()], softmax_of(here.astype('d'), axis), 'f')


def test_long_rows_that_are_few_stay_calls():
    g = Building()
    x = placeholder('x', (2, 1 << 14), 'f')
    graph = Graph((x,), (y := g.exp(x), s := g.sum(y, axis=(1,))), (s,), 'f')
    program, found = run(graph, np.zeros((2, 1 << 14), 'f'))
    assert 'sum_1(' in program.source and (found[0] == 1 << 14).all() and y is not None


@pytest.mark.parametrize('name', MODELS)
def test_models(name):
    """Close to define-by-run, and checked against it."""
    plain, compiled, shape = pair(name)
    with chainer.using_config('static_exact', False):
        expected, found = train(plain, shape), train(compiled, shape)
    for a, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-3, atol=1e-4 * max(1, np.abs(e).max()))
    report = compiled.schedule_manager.report()[0]
    assert report.hits >= 1 and 'distrusted' not in str(report)
    assert ('over_warp<' in ''.join(p.source for p in programs(compiled))) == (
        name in ('attention', 'convolutions', 'deviation'))
    assert '-fmad' not in programs(compiled)[0].source


def test_softmax_cross_entropy_by_rows():
    def body(self, x):
        return F.softmax(x * self.a) + F.log_softmax(x)

    plain = Model(body, {'a': chainer.Parameter(np.ones(9, 'f'))}, False)
    compiled = copy.deepcopy(plain)
    compiled._compiled = True
    with chainer.using_config('static_exact', False):
        expected, found = train(plain, (6, 9)), train(compiled, (6, 9))
    for a, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-3, atol=1e-4)
