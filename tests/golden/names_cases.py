"""Names that Chainer 7 has, or that others import from it, and what hangs on them.

Read by record_names.py (under Chainer 7.8.1, Python 3.8) and by
tests/chainer_api/test_names_as_original.py (ours). See core_cases.py.
"""
import os
import shutil
import tempfile
import warnings

import numpy as np
from core_cases import attempt, plain

import chainer
import chainer.functions as F
import chainer.links as L
import chainer.types
from chainer import initializers, link_hooks, optimizer, serializers
from chainer.backends import _cpu
from chainer.datasets import image_dataset
from chainer.functions.array import flip
from chainer.serializers import hdf5
from chainer.training.extensions import _snapshot, plot_report, variable_statistics_plot
from chainer.utils import conv_nd

CASES = []


def case(function):
    CASES.append(function)
    return function


def warned(call):
    """What a call returns, and the categories of the warnings that it gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        result = attempt(call)
    return [result, sorted({w.category.__name__ for w in caught})]


X = np.arange(6, dtype='f').reshape(2, 3)


@case
def modules_and_classes():
    return [
        chainer.utils.collections_abc.__name__,
        issubclass(dict, chainer.utils.collections_abc.Mapping),
        chainer.variable.initializers is chainer.initializers,
        [c.__name__ for c in chainer.warnings.PerformanceWarning.__mro__],
        type(flip).__name__, type(F.flip(X, 0).creator) is flip.Flip,
        image_dataset.available, hdf5._available]


@case
def helpers_of_products():
    """Private ones, which packages import all the same."""
    from chainer.functions.math import matmul
    from chainer.utils import type_check

    def ndims(lower, upper):
        found = []
        for n in range(5):
            x = type_check.Variable(type_check.TypeInfo((2,) * n, np.dtype('f')), 'x')
            found.append(attempt(lambda x=x: matmul._check_ndim(x, lower, upper)))
        return found

    flags = [(a, b) for a in (False, True) for b in (False, True)]
    batch, row = np.arange(24.0).reshape(2, 3, 4), np.arange(3.0)
    return [
        [matmul._get_check_index(*both) for both in flags],
        [matmul._get_check_index(*both, row_idx=1, col_idx=2) for both in flags],
        ndims(1, 2), ndims(2, 3),
        plain(matmul._matmul(X, X, transb=True)),
        plain(matmul._matmul(X, X, transa=True, transout=True)),
        plain(matmul._matmul(batch, batch, transb=True, transout=True)),
        plain(matmul._matmul(row, X, transb=True)), plain(matmul._matmul(row, row, True, True))]


@case
def names_for_annotations():
    names = ('AbstractInitializer', 'CudaDeviceSpec', 'DTypeSpec', 'DeviceSpec', 'InitializerSpec',
             'NdArray', 'ScalarValue', 'Shape', 'ShapeSpec', 'Xp')
    with chainer.using_config('compute_mode', 'cudnn_fast'):
        mode = chainer.get_compute_mode()
    return [[name for name in names if hasattr(chainer.types, name)],
            chainer.get_compute_mode(), mode]


@case
def attributes_that_version_7_has():
    link = L.Convolution2D(1, 1, 1)
    with chainer.using_config('compute_mode', 'cudnn_fast'):
        fast = L.Convolution2D(None, 1, 1)
    iterators = [
        chainer.iterators.MultiprocessIterator([0, 1], 1, **arguments)
        for arguments in ({}, {'shuffle': False})]
    for iterator in iterators:
        iterator.finalize()
    updater = chainer.training.StandardUpdater(
        chainer.iterators.SerialIterator([0], 1), chainer.optimizers.SGD().setup(link),
        device='@numpy', input_device='@numpy')
    normal = chainer.distributions.MultivariateNormal(
        np.zeros((2, 3), 'f'), scale_tril=np.stack([np.eye(3, dtype='f')] * 2))
    hook = link_hooks.SpectralNormalization()
    return [
        link.cudnn_fast, link.x_layout, fast.cudnn_fast, fast.x_layout is not None,
        [iterator.shuffle for iterator in iterators],
        type(updater.device).__name__, type(updater.input_device).__name__, normal.d,
        plain(hook.reshape_W(X[None])), plain(hook.reshape_W(X)),
        chainer.function_hooks.TimerHook.table, link_hooks.TimerHook().table,
        chainer.function.FunctionHook is chainer.FunctionHook]


@case
def plotting_is_available():
    # The original finds out when it is asked first.
    chainer.training.extensions.PlotReport.available()
    chainer.training.extensions.VariableStatisticsPlot.available()
    return [plot_report._available, variable_statistics_plot._available]


@case
def hdf5_can_be_taken_away():
    hdf5._available = False
    try:
        return [attempt(lambda: serializers.save_hdf5('no such file', L.Linear(1, 1))),
                attempt(lambda: serializers.load_hdf5('no such file', L.Linear(1, 1))),
                attempt(lambda: serializers.HDF5Serializer(None)),
                attempt(lambda: serializers.HDF5Deserializer(None))]
    finally:
        hdf5._available = True


@case
def sizes_of_convolutions():
    return [
        conv_nd.get_conv_outsize(size, 3, 2, 1, cover, d)
        for size in (5, 6) for cover in (False, True) for d in (1, 2)]


@case
def to_cpu():
    return [plain(_cpu._to_cpu(x)) for x in (
        X, None, [X, None], (X,), 3, 2.5, [])] + [attempt(lambda: _cpu._to_cpu(iter([X])))]


@case
def snapshot_files():
    folder = tempfile.mkdtemp()
    try:
        for time, name in enumerate(
                ('snapshot_iter_1', 'snapshot_iter_10', 'snapshot_iter_2', 'other', 'snap')):
            path = os.path.join(folder, name)
            open(path, 'w').close()
            os.utime(path, (1000 + time, 1000 + time))
        formats = ('snapshot_iter_{.updater.iteration}', 'snapshot_iter_1', 'none_{}')
        return [
            [[list(found) for found in _snapshot._find_snapshot_files(fmt, folder)],
             _snapshot._find_latest_snapshot(fmt, folder),
             [list(_snapshot._find_stale_snapshots(fmt, folder, n)) for n in (1, 2, 9)]]
            for fmt in formats]
    finally:
        shutil.rmtree(folder)


@case
def simplified_dropconnect_without_training():
    seen = []
    for batchwise in (True, False):
        shape = (2, 4, 3) if batchwise else (4, 3)
        mask = np.arange(np.prod(shape)).reshape(shape) % 3 > 0
        for given in (None, mask):
            y = F.simplified_dropconnect(
                X, np.ones((4, 3), 'f'), np.ones(4, 'f'), 0.5, train=False, mask=given,
                use_batchwise_mask=batchwise)
            f = y.creator
            seen.append([type(f).__name__, f.ratio, list(f.mask.shape), bool(f.mask.all()),
                         plain(y)])
    return seen


@case
def simplified_dropconnect_link_without_training():
    link = L.SimplifiedDropconnect(3, 4)
    with chainer.using_config('train', False):
        y = link(X)
    return [type(y.creator).__name__, bool(y.creator.mask.all())]


class Node(chainer.FunctionNode):

    def forward(self, inputs):
        return inputs

    def backward(self, indexes, gys):
        return gys


class OldFunction(chainer.Function):

    def forward(self, inputs):
        return inputs

    def backward(self, inputs, gys):
        return gys


@case
def check_type_forward_of_an_instance():
    calls = []
    seen = []
    for on in (True, False):
        with chainer.using_config('type_check', on):
            for function in (Node(), OldFunction()):
                function.check_type_forward = lambda types: calls.append(len(types))
                call = getattr(function, 'apply', None) if isinstance(function, Node) else (
                    lambda xs, f=function: f(*xs))
                call((chainer.Variable(X), chainer.Variable(X)))
        seen.append(list(calls))
    return seen


def backward_of(shape, grad=False):
    x = chainer.Variable(np.ones(shape, 'f'))
    y = x * 2
    if grad:
        y.grad = np.ones(shape, 'f')
    y.backward()
    return x.grad.shape


@case
def deprecations():
    one = np.ones(3, 'f')
    return [
        warned(lambda: F.fixed_batch_renormalization(X, one, one, one, one).shape),
        warned(lambda: F.fixed_batch_normalization(X, one, one, one, one).shape),
        warned(lambda: chainer.Variable(X).zerograd()),
        warned(lambda: chainer.Parameter(1., (2,)).zerograd()),
        warned(lambda: L.Linear(2, 2).zerograds()),
        warned(lambda: chainer.Sequential(L.Linear(2, 2)).zerograds()),
        warned(lambda: chainer.Variable(X).cleargrad()),
        warned(lambda: backward_of((1,))), warned(lambda: backward_of((1, 1))),
        warned(lambda: backward_of(())), warned(lambda: backward_of((1,), True)),
        warned(lambda: chainer.Variable(X).to_cpu()),
        warned(lambda: type(L.Linear(2, 2).to_cpu()).__name__),
        warned(lambda: type(chainer.Sequential(L.Linear(2, 2)).to_cpu()).__name__),
        warned(lambda: type(L.Linear(2, 2).to_device('@numpy')).__name__)]


@case
def sampling_filters():
    seen = []
    for make in (initializers.UpsamplingDeconvFilter, initializers.DownsamplingConvFilter):
        for shape in ((5, 1, 4, 4), (5, 5, 4, 4), (1, 5, 4, 4), (5, 2, 4, 4), (2, 1, 3),
                      (3, 3, 2, 2, 2), (5, 1, 4, 3)):
            w = np.zeros(shape, 'd')
            seen.append([attempt(lambda w=w, make=make: make(dtype='d')(w)), plain(w)])
    return seen


@case
def spectral_normalization():
    np.random.seed(0)
    link = L.Linear(3, 4, initialW=np.arange(12, dtype='f').reshape(4, 3) / 10)
    hook = link_hooks.SpectralNormalization(n_power_iteration=50)
    link.add_hook(hook)
    before = hasattr(hook, 'v')
    link(X)
    return [before, list(hook.v.shape), np.abs(hook.v).round(4).tolist()]


@case
def spectral_normalization_without_elements():
    def normalize(n_in):
        link = L.Linear(n_in, 0)
        link.add_hook(link_hooks.SpectralNormalization())
        link(X)

    return [attempt(lambda: normalize(3)), attempt(lambda: normalize(None))]


@case
def save_dictionaries():
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, 'file')
    values = {'a': np.arange(3.), 'b/c': np.float32(2), 'd': 3}
    try:
        serializers.save_npz(path, values)
        with np.load(path) as file:
            found = {key: plain(file[key]) for key in file}
        serializers.save_hdf5(path, values)
        with hdf5.h5py.File(path, 'r') if hasattr(hdf5, 'h5py') else (
                hdf5._h5py().File(path, 'r')) as file:
            groups = [plain(file['a'][()]), plain(file['b/c'][()]), plain(file['d'][()])]
    finally:
        shutil.rmtree(folder)
    return [sorted(found.items()), groups]


class Counting(optimizer.UpdateRule):

    def __init__(self, calls):
        super(Counting, self).__init__()  # noqa: UP008
        self.calls = calls

    def update_core(self, param):
        self.calls.append(param.array is None)


@case
def update_of_parameters_without_an_array():
    calls = []
    param = chainer.Parameter()
    param.update_rule = Counting(calls)
    param.update()
    param.initialize((2,))
    param.update()
    model = L.Linear(None, 2)
    rule = chainer.optimizers.MomentumSGD().setup(model)
    model.cleargrads()
    rule.update()
    return [calls, param.update_rule.t, model.W.update_rule.t, model.W.array is None]


def gradients_after_unchaining(cut, run):
    x = chainer.Variable(np.arange(6, dtype='f'))
    h = x * 2
    ys = F.split_axis(h, 3, 0)
    total = F.sum(ys[0] * 2) + F.sum(ys[1] * 3) + F.sum(ys[2] * 5)
    cut(ys)
    variables = (x, h) + tuple(ys)
    found = run(total, variables)
    return plain(found), plain([v.grad for v in variables])


@case
def unchaining_some_outputs():
    """An output that was unchained is a leaf: the function that made it gets no gradient of it."""
    runs = (lambda y, xs: y.backward(), lambda y, xs: y.backward(retain_grad=True),
            lambda y, xs: y.backward(enable_double_backprop=True),
            lambda y, xs: chainer.grad([y], xs[:2]), lambda y, xs: chainer.grad([y], xs[:1]))
    cuts = (lambda ys: ys[0].unchain(), lambda ys: ys[2].unchain(),
            lambda ys: [y.unchain() for y in ys[:2]], lambda ys: [y.unchain() for y in ys],
            lambda ys: [ys[1].unchain(), setattr(ys[1], 'grad', np.ones(2, 'f'))])
    return [gradients_after_unchaining(cut, run) for cut in cuts for run in runs]


@case
def unchaining_an_output_with_a_gradient():
    x = chainer.Variable(np.arange(4, dtype='f'))
    a, b = F.split_axis(x, 2, 0)
    b.grad = np.ones(2, 'f')
    b.unchain()
    F.sum(a * 3).backward()
    return plain([x.grad, a.grad, b.grad])


@case
def states_of_more_sequences_than_there_are():
    seen = []
    for lengths in ((1, 3), (3, 1)):
        for make, n in ((L.NStepLSTM, 2), (L.NStepBiGRU, 1)):
            link = make(1, 2, 2, 0.)
            for param in link.params():
                param.array[...] = np.arange(param.size).reshape(param.shape) / 10. - .3
            state = np.arange(2 * 4 * 2, dtype='f').reshape(2, 4, 2)[:1 if n == 2 else 2] / 10
            xs = [np.full((length, 2), length, 'f') for length in lengths]
            result = link(*([state] * n), xs)
            seen.append([[list(h.shape), np.round(h.array, 5).tolist()] for h in result[:n]])
    return seen


@case
def group_normalization_needs_channels():
    return [attempt(lambda shape=shape: L.GroupNormalization(1)(np.ones(shape, 'f')).shape)
            for shape in ((3,), (), (2, 3))]


def run(function):
    return function()
