"""What must hold for every function, driven by the tables ``cases_<family>.py``.

Adding a function is adding a row (see ``function_case.py``); then record its golden values:
``tests/golden/original tests/golden/record_functions.py FAMILY``.
"""
import functools
import itertools
import json
import pathlib

import function_case
import numpy as np
import pytest

import chainer
import chainer.functions as F

GOLDEN = pathlib.Path(__file__).parents[2] / 'golden'
TABLES = {family: function_case.table(family) for family in function_case.families()}
EPS = 1e-5


def all_variants(row):
    return range(len(row.variants))


def first_and_last(row):
    return sorted({0, len(row.variants) - 1})


def for_rows(wanted=lambda row: True, dtypes=lambda row: row.dtypes[-1], variants=all_variants):
    """Make a test of each wanted row out of a check of ``(family, row, variant, char)``.

    The test runs the check for the variants and dtypes (characters) that the arguments name.
    """
    def decorate(check):
        @pytest.mark.parametrize(('family', 'row'), [
            pytest.param(family, row, id=f'{family}-{row.name}')
            for family, table in TABLES.items() for row in table.CASES if wanted(row)])
        def test(family, row):
            for variant, char in itertools.product(variants(row), dtypes(row)):
                try:
                    check(family, row, variant, char)
                except BaseException as e:
                    e.add_note(f'{family}: {row.name}, variant {variant}, dtype {char}')
                    raise

        test.__name__ = check.__name__
        test.__doc__ = check.__doc__
        return test

    return decorate


@functools.lru_cache(None)
def golden(family):
    with np.load(GOLDEN / f'functions_{family}.npz') as file:
        data = dict(file)
    return json.loads(bytes(data.pop('index'))), data


def recorded(family, kind, key):
    index, data = golden(family)
    entries = function_case.recorded_entry(index[kind], key, f'record_functions.py {family}')
    return [None if entry is None else data['data_' + entry[0]][
        entry[2]:entry[2] + int(np.prod(entry[1]))].reshape(entry[1])
        for entry in entries]


class Run:
    """One call of a row, and its gradients with fixed output gradients."""

    def __init__(self, row, arrays, seed=0, call=None, enable_double_backprop=False):
        self.row = row
        self.indices = row.grad_indices(arrays)
        self.xs = [chainer.Variable(a) if i in self.indices else a for i, a in enumerate(arrays)]
        np.random.seed(seed)
        with using_config(row.config):
            result = call(*self.xs) if call else row.call(F, *self.xs)
            ys = function_case.flatten(result)
            self.outputs = [y.array if isinstance(y, chainer.Variable) else y for y in ys]
            self.ys = [y for y in ys if isinstance(y, chainer.Variable)]
            gys = function_case.output_grads([y.array for y in self.ys], seed)
            self.gys = [None if gy is None else chainer.Variable(gy) for gy in gys]
            self.gxs = self.grad(self.gys, enable_double_backprop) if self.indices else []
        self.gradients = [None if gx is None else gx.array for gx in self.gxs]

    def grad(self, gys, enable_double_backprop=False):
        pairs = [(y, gy) for y, gy in zip(self.ys, gys, strict=True) if gy is not None]
        return chainer.grad(
            [y for y, _ in pairs], [self.xs[i] for i in self.indices], [gy for _, gy in pairs],
            enable_double_backprop=enable_double_backprop)


class using_config:
    def __init__(self, settings):
        self.contexts = [chainer.using_config(k, v) for k, v in settings.items()]

    def __enter__(self):
        for context in self.contexts:
            context.__enter__()

    def __exit__(self, *error):
        for context in reversed(self.contexts):
            context.__exit__(*error)


def check_close(what, actual, expected, tolerances):
    if expected is None or actual is None:
        assert actual is expected, f'{what} is {actual}, expected {expected}'
        return
    assert actual.dtype == expected.dtype, what
    assert actual.shape == expected.shape, what
    if expected.dtype.kind in 'fc':
        rtol, atol = tolerances
        np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol, err_msg=what)
    else:
        np.testing.assert_array_equal(actual, expected, err_msg=what)


@for_rows(lambda row: row.record, dtypes=lambda row: row.dtypes)
def test_as_the_original(family, row, variant, char):
    arrays = row.inputs(variant, char)
    kept = [a.copy() for a in arrays]
    run = Run(row, arrays)
    for a, b in zip(arrays, kept, strict=True):
        np.testing.assert_array_equal(a, b, err_msg='an input was written to')
    for kind, values in (('outputs', run.outputs), ('gradients', run.gradients)):
        expected = recorded(family, kind, f'{row.name}/{variant}/{char}')
        assert len(values) == len(expected)
        for i, (a, e) in enumerate(zip(values, expected, strict=True)):
            check_close(f'{kind}[{i}]', a, e, row.tolerances(char))


TAKE_LISTS = {  # as in the original
    ('scatter_add_input', 1): 'an index',
    ('dropout_mask', 1): 'asarray', ('gaussian_eps', 2): 'asarray', ('zoneout_test', 0): 'unused',
    ('einsum_lists', 0): 'subscripts', ('einsum_lists_ellipsis', 0): 'subscripts',
    ('decorrelated_batch_normalization_running', 0): 'the row itself looks at the dtype',
}


@for_rows(variants=lambda row: (0,))
def test_lists_are_no_arrays(family, row, variant, char):
    """Whichever input is a list, the error says that an array is wanted."""
    arrays = row.inputs(variant, char)
    for i, array in enumerate(arrays):
        if (row.name, i) not in TAKE_LISTS:
            values = array.tolist() if array.ndim else [array.tolist()]
            inputs = [*arrays[:i], values, *arrays[i + 1:]]
            with using_config(row.config), pytest.raises(TypeError, match='array'):
                row.call(F, *inputs)


def dot(arrays, others):
    return sum(np.vdot(a, b) for a, b in zip(arrays, others, strict=True)
               if a is not None and b is not None)


def moved(arrays, directions, step):
    moved = list(arrays)
    for i, direction in directions.items():
        moved[i] = np.asarray(arrays[i] + step * direction)
    return moved


def directions_for(arrays, indices, seed):
    rng = np.random.RandomState(seed)
    return {i: np.asarray(rng.uniform(-1, 1, arrays[i].shape)) for i in indices}


def check_slope(slope, numeric):
    # Central differences of step 1e-5: about 1e-10 each of truncation and of rounding.
    np.testing.assert_allclose(slope, numeric, rtol=1e-5, atol=1e-6)


@for_rows(lambda row: row.numeric and row.grads != () and 'd' in row.dtypes, lambda row: 'd')
def test_gradients_are_derivatives(family, row, variant, char):
    arrays = row.inputs(variant, char, seed=1)
    run = Run(row, arrays)
    gys = [None if gy is None else gy.array for gy in run.gys]
    for seed in range(2):
        directions = directions_for(arrays, run.indices, seed)
        values = []
        for step in (EPS, -EPS):
            with chainer.no_backprop_mode():
                np.random.seed(0)
                with using_config(row.config):
                    ys = function_case.flatten(
                        row.call(F, *moved(arrays, directions, step)))
            values.append(dot([y.array for y in ys if isinstance(y, chainer.Variable)], gys))
        check_slope(dot(run.gradients, directions.values()), (values[0] - values[1]) / (2 * EPS))


@pytest.mark.slow
@for_rows(lambda row: row.numeric and row.twice and row.grads != () and 'd' in row.dtypes,
          lambda row: 'd')
def test_second_order_gradients_are_derivatives(family, row, variant, char):
    arrays = row.inputs(variant, char, seed=2)
    run = Run(row, arrays, enable_double_backprop=True)
    rng = np.random.RandomState(3)
    weights = [None if gx is None else np.asarray(rng.uniform(-1, 1, gx.shape)) for gx in run.gxs]
    kept = [i for i, w in enumerate(weights) if w is not None]
    gys = [gy for gy in run.gys if gy is not None]
    inputs = [run.xs[i] for i in run.indices]
    # Two gradients may be one variable, as those of a sum are, and that would count once.
    second = chainer.grad(
        [F.identity(run.gxs[i]) for i in kept], inputs + gys,
        [chainer.Variable(weights[i]) for i in kept])
    second = [None if g is None else g.array for g in second]

    directions = directions_for(arrays, run.indices, 4)
    gy_directions = [np.asarray(rng.uniform(-1, 1, gy.shape)) for gy in gys]
    values = []
    for step in (EPS, -EPS):
        other = Run(row, moved(arrays, directions, step))
        other_gys = iter(
            np.asarray(gy.array + step * d) for gy, d in zip(gys, gy_directions, strict=True))
        gxs = other.grad([None if gy is None else chainer.Variable(next(other_gys))
                          for gy in run.gys])
        values.append(dot([None if gx is None else gx.array for gx in gxs], weights))
    check_slope(dot(second, [*directions.values(), *gy_directions]),
                (values[0] - values[1]) / (2 * EPS))


@for_rows(lambda row: not row.twice)
def test_not_differentiable_twice_is_an_error(family, row, variant, char):
    with pytest.raises((RuntimeError, TypeError), match='different|double'):
        run = Run(row, row.inputs(variant, char), enable_double_backprop=True)
        gxs = [gx for gx in run.gxs if gx is not None]
        chainer.grad(gxs, [run.xs[i] for i in run.indices] + run.gys,
                     [chainer.Variable(np.ones_like(gx.array)) for gx in gxs])


@for_rows(lambda row: row.grads != ())
def test_some_output_gradients_are_none(family, row, variant, char):
    run = Run(row, row.inputs(variant, char))
    given = [i for i, gy in enumerate(run.gys) if gy is not None]
    if len(given) < 2:
        return
    only = [gy if i == given[-1] else None for i, gy in enumerate(run.gys)]
    zeros = [gy if i == given[-1] or gy is None else chainer.Variable(np.zeros_like(gy.array))
             for i, gy in enumerate(run.gys)]
    # A second run for the second backward: old-style functions release what they kept.
    expected = Run(row, row.inputs(variant, char)).grad(zeros)
    for a, e in zip(run.grad(only), expected, strict=True):
        if a is None or e is None:
            assert a is None or not a.array.any()
            assert e is None or not e.array.any()
        else:
            np.testing.assert_allclose(a.array, e.array, rtol=1e-6, atol=1e-7)


def strided(array):
    """The same values, with holes between the elements and a negative stride."""
    if array.ndim == 0:
        return array
    storage = np.full([2 * n for n in array.shape], 99).astype(array.dtype)
    view = storage[tuple(slice(1, None, 2) for _ in array.shape)].T[::-1].T
    view[...] = array
    return view


@for_rows()
def test_input_need_not_be_contiguous(family, row, variant, char):
    arrays = row.inputs(variant, char)
    expected = Run(row, arrays)
    run = Run(row, [strided(a) for a in arrays])
    for kind in ('outputs', 'gradients'):
        for a, e in zip(getattr(run, kind), getattr(expected, kind), strict=True):
            check_close(kind, a, e, row.tolerances(char))


def static_chain(call):
    """A chain whose method, compiled, is one call of a row."""
    class Chain(chainer.Chain):
        @chainer.static_graph
        def forward(self, *xs):
            return call(F, *xs)

    return Chain()


NOT_COMPILED = {
    **dict.fromkeys(
        ['copy', 'pos', 'broadcast_one', 'broadcast_to_same', 'reshape_same', 'dropout_test',
         'zoneout_test'], 'no function is applied'),
    **dict.fromkeys(
        ['batch_det', 'batch_inv', 'cholesky', 'inv'], 'applied between programs: it may raise'),
    **dict.fromkeys(
        ['rrelu_return_r', 'dropout_return_mask', 'gaussian_return_eps',
         'max_pooling_2d_return_indices', 'max_pooling_2d_ties', 'max_pooling_2d_nan',
         'max_pooling_nd'], 'the function is asked for more than its outputs'),
    **dict.fromkeys(['forget', 'forget_two', 'forget_first'], 'calls a function of the user'),
    **dict.fromkeys(
        ['batch_normalization_running', 'batch_renormalization_update',
         'decorrelated_batch_normalization_running'],
        'the method itself makes the arrays that the function writes to, and reads them'),
}


@for_rows(lambda row: row.static, lambda row: 'f' if 'f' in row.dtypes else row.dtypes[-1],
          first_and_last)
def test_static_graph_is_define_by_run(family, row, variant, char):
    """Four calls (two that teach, two programs) on other inputs and seeds, bit for bit."""
    chain = static_chain(row.call)
    for seed in range(4):
        arrays = row.inputs(variant, char, seed)
        expected = Run(row, arrays, seed)
        state = np.random.get_state()
        run = Run(row, arrays, seed, call=chain.forward)
        for kind in ('outputs', 'gradients'):
            for a, e in zip(getattr(run, kind), getattr(expected, kind), strict=True):
                check_same_bits(f'{kind} of call {seed}', a, e)
        for a, e in zip(np.random.get_state(), state, strict=True):
            np.testing.assert_array_equal(a, e, err_msg=f'random state after call {seed}')
    report, = chain.schedule_manager.report()
    compiled = not row.opaque and row.name not in NOT_COMPILED
    assert report.hits == (2 if compiled else 0), report


def check_same_bits(what, actual, expected):
    if actual is None or expected is None:
        assert actual is expected, what
        return
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape), what
    assert actual.tobytes() == expected.tobytes(), f'{what}: {actual} is not {expected}'


@pytest.mark.parametrize(('family', 'row'), [
    pytest.param(family, row, id=f'{family}-{row.name}')
    for family, table in TABLES.items() for row in table.ERRORS])
def test_documented_errors(family, row):
    with using_config(row.config), pytest.raises(Exception) as caught:
        row.call(F, *row.arrays())
    names = [cls.__name__ for cls in type(caught.value).__mro__]
    assert row.exception in names
    text = str(caught.value)
    assert row.text in text
    if row.exception == 'InvalidType' and row.record:
        # Which function, what was expected, what came: the words of the original.
        expected = function_case.recorded_entry(
            golden(family)[0]['errors'], row.name, f'record_functions.py {family}')
        assert words(text) == words(expected)


def words(text):
    """The words of a message. Ours quotes strings: ``x.dtype.kind == 'f'``."""
    return text.replace("'", '').split()


@pytest.mark.parametrize('family', TABLES)
def test_names_of_rows_are_unique(family):
    for rows in (TABLES[family].CASES, TABLES[family].ERRORS):
        names = [row.name for row in rows]
        assert len(names) == len(set(names))
