"""Programs for CUDA: what graphs become, and that each op in a kernel has CuPy's own bits."""
import re

import numpy as np
import pytest
from device_graphs import Building

from chainer.backends import cuda
from chainwright.codegen.cuda_target import CudaTarget, KernelError, NotOnDevice
from chainwright.codegen.cuda_target.ops import FORMS
from chainwright.ir import Graph, build, make, placeholder
from chainwright.ir.op import OPS
from chainwright.ir.passes import PASSES_ANYWHERE

cupy = cuda.cupy
TARGET = CudaTarget(cupy)
SPECIAL = [0., -0., np.inf, -np.inf, np.nan, 1., -1., 1e-30, 3e4]


def loaded(inputs, nodes, outputs):
    graph = Graph(tuple(inputs), tuple(nodes), tuple(outputs), 'f')
    built = build(graph, {}, TARGET.passes, PASSES_ANYWHERE).forward
    program = TARGET.program(built, 'f')
    return program, program.load()


def run(made, *arrays):
    with np.errstate(all='ignore'):
        return made.function(*arrays, made.new_scratch(), made.new_kept())


def same_bits(found, expected):
    a, b = found.get(), expected.get()
    both_nan = (a != a) & (b != b)
    return a.dtype == b.dtype and a.shape == b.shape and (
        (a == b) & (np.signbit(a) == np.signbit(b)) | both_nan).all()


def values(n, char, seed):
    rng = np.random.RandomState(seed)
    x = np.concatenate([np.repeat(SPECIAL, len(SPECIAL)) if seed % 2 else np.tile(
        SPECIAL, len(SPECIAL)), rng.standard_normal(n)])
    with np.errstate(all='ignore'):
        return cupy.asarray(x[:n].astype(char))


@pytest.mark.parametrize('char', 'efd')
def test_each_op_has_the_bits_of_cupy(char):
    """All ops on the same arrays, with special values in all pairs."""
    shape, g = (7, 29), Building()
    a, b = placeholder('a', shape, char), placeholder('b', shape, char)
    flag = g.greater(a, b)
    dtype = {'e': 'f16', 'f': 'f32', 'd': 'f64'}[char]
    names = [op for op, form in FORMS.items() if dtype in form.loops and op != 'where']
    outs = [getattr(g, op)(*(a, b)[:OPS[op].arity]) for op in names]
    outs.append(g.where(flag, a, b))
    program, made = loaded((a, b), g.nodes, outs)
    lines = set(re.findall(r'// net.py:(\d+) F', program.cuda))
    # One comparison is there twice.
    assert len(lines) == len(g.nodes) - 1, "an op is in no kernel"
    x, y = (values(203, char, k).reshape(shape) for k in (0, 1))
    found = run(made, x, y)
    wrong = [op for op, result in zip(names, found, strict=False)
             if not same_bits(result, getattr(cupy, op)(*(x, y)[:OPS[op].arity]))]
    assert not wrong
    assert same_bits(found[-1], cupy.where(x > y, x, y))


@pytest.mark.parametrize('char', 'bBhHiIlL')
def test_integers(char):
    shape, g = (4, 10), Building()
    a, b = placeholder('a', shape, char), placeholder('b', shape, char)
    ops = ['add', 'subtract', 'multiply', 'bitwise_and', 'bitwise_or', 'bitwise_xor', 'less',
           'equal', 'logical_and']
    outs = [getattr(g, op)(a, b) for op in ops] + [g.cast(a, dtype=np.dtype('f8'))]
    program, made = loaded((a, b), g.nodes, outs)
    assert program.cuda.count('// net.py:') >= len(ops)
    rng = np.random.RandomState(0)
    limits = np.iinfo(char)
    x, y = (cupy.asarray(rng.randint(limits.min, limits.max, shape, dtype=char)) for _ in 'ab')
    found = run(made, x, y)
    expected = [getattr(cupy, op)(x, y) for op in ops] + [x.astype('f8')]
    for op, a, e in zip([*ops, 'cast'], found, expected, strict=True):
        assert a.dtype == e.dtype and (a == e).all(), op


@pytest.mark.parametrize('shapes', [
    ((8, 256), (256,)), ((8, 256), (8, 1)), ((8, 30), (1, 30)), ((5, 1, 7), (1, 6, 1)),
    ((4, 4, 64), (4, 1, 64)), ((3, 5), ())])
def test_broadcast(shapes):
    g = Building()
    a, b = (placeholder(name, s, 'f') for name, s in zip('ab', shapes, strict=True))
    y = g.exp(g.add(g.multiply(a, b), 0.5))
    z = g.subtract(y, g.multiply(b, 2.0))
    program, made = loaded((a, b), g.nodes, (z,))
    rng = np.random.RandomState(0)
    x, w = (cupy.asarray(np.asarray(rng.standard_normal(s), 'f')) for s in shapes)
    assert same_bits(run(made, x, w)[0], cupy.exp(x * w + 0.5) - w * 2.0)
    assert ('_by_four(' in program.source) == (y.shape[-1] % 4 == 0 and y.size >= 1024)


def test_layouts_and_vectors():
    """Transposed and cut arrays; where they do not lie at multiples of 16 bytes, item by item."""
    g = Building()
    memory = cupy.arange(4097, dtype='f') * .001
    for x in (memory[:4096], memory[1:], memory[:4096].reshape(64, 64).T,
              memory[:4096].reshape(64, 64)[::2, 1:5], memory[:4096].reshape(64, 64)[::-1]):
        g = Building()
        a = placeholder('a', x.shape, 'f', x.strides)
        y = g.tanh(g.multiply(g.add(a, 1.0), a))
        _, made = loaded((a,), g.nodes, (y,))
        assert same_bits(run(made, x)[0], cupy.tanh((x + 1.0) * x))


def test_views_of_what_kernels_only_read():
    """A view at the head of a group is written before the kernel that reads it."""
    g = Building()
    a = placeholder('a', (4, 8), 'f')
    y = g.tanh(g.exp(g.reshape(a, shape=(4, 2, 4))))
    program, made = loaded((a,), g.nodes, (y,))
    x = cupy.asarray(np.random.RandomState(0).standard_normal((4, 8)).astype('f'))
    assert same_bits(run(made, x)[0], cupy.tanh(cupy.exp(x.reshape(4, 2, 4))))
    assert 'kernel0((' in program.source


def test_one_text_for_kernels_of_one_form():
    g = Building()
    a, b = placeholder('a', (6, 8), 'f'), placeholder('b', (12, 4), 'f')
    outs = [g.tanh(g.exp(x)) for x in (a, b)]
    program, _ = loaded((a, b), g.nodes, outs)
    assert program.cuda.count('extern "C"') == 1 and program.source.count('kernel0((') == 2


def test_values_of_the_kernel_alone_take_no_memory():
    g = Building()
    a = placeholder('a', (1024,), 'f')
    y = a
    for _ in range(6):
        y = g.multiply(g.exp(y), 0.1)
    program, _ = loaded((a,), g.nodes, (y,))
    assert program.scratch_bytes <= 1024 and program.intermediate_bytes == 12 * 4096


def test_calls_between_kernels_are_those_of_cupy():
    g = Building()
    a, w = placeholder('a', (8, 4), 'f'), placeholder('w', (4, 4), 'f')
    h = g.maximum(g.add(g.dot(a, w), 1.0), 0.0)
    s = g.divide(h, g.sum(h, axis=(1,), keepdims=True))
    m = g.mean(g.pow(s, 2), axis=0)
    program, made = loaded((a, w), g.nodes, (m, g.argmax(s, axis=1)))
    x, v = (cupy.asarray(np.random.RandomState(k).rand(*n).astype('f'))
            for k, n in enumerate(((8, 4), (4, 4))))
    found = run(made, x, v)
    hh = cupy.maximum(x.dot(v) + 1.0, 0.0)
    ss = hh / hh.sum(axis=1, keepdims=True)
    assert same_bits(found[0], (ss ** 2).mean(axis=0)) and (found[1] == ss.argmax(axis=1)).all()
    for text in ('dot(a, w, out=', '.mean(axis=0)', '** 2', '.argmax(axis=1)'):
        assert text in program.source


def test_what_cupy_has_not():
    g = Building()
    x = placeholder('x', (3,), 'f')
    y = make('call', x, fn=np.histogram_bin_edges, shape=(11,), dtype=np.dtype('f8'))
    with pytest.raises(NotOnDevice, match='CuPy has no histogram_bin_edges'):
        loaded((x,), [*g.nodes, y], (y,))


def test_text_that_does_not_compile(monkeypatch):
    monkeypatch.setitem(FORMS, 'exp', FORMS['exp']._replace(text='expp({0})'))
    g = Building()
    x = placeholder('x', (3,), 'f')
    y = g.tanh(g.exp(x))
    with pytest.raises(KernelError, match='kernels of f do not compile(.|\n)*expp'):
        loaded((x,), g.nodes, (y,))


@pytest.mark.parametrize('op, plain', [('few_rows', 'dot'), ('few_rows_matmul', 'matmul')])
def test_products_are_those_of_the_device(op, plain):
    """Where the host has code of its own, the device has its library, as in define-by-run."""
    x, w = placeholder('x', (20, 512), 'f'), placeholder('w', (512, 512), 'f')
    y = make(op, x, w)
    program, made = loaded([x, w], [y], [y])
    assert 'few_rows' not in program.source and f'{plain}(' in program.source
    rng = np.random.RandomState(0)
    a, b = (cupy.asarray(rng.standard_normal(node.dims).astype('f')) for node in (x, w))
    found, = run(made, a, b)
    assert same_bits(found, a.dot(b))
