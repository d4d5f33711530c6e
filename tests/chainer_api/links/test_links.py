"""All links of ``link_cases.py`` against the original, and against themselves."""
import copy
import io
import json
import os
import pathlib
import pickle
import tarfile
import warnings

import compare
import function_case
import link_case
import link_cases
import numpy as np
import pytest

import chainer
from chainer import links as L

GOLDEN = pathlib.Path(__file__).parents[2] / 'golden'
ROWS = {row.name: row for rows in link_cases.FAMILIES.values() for row in rows}
KEYS = [
    pytest.param(family, row, key, char, id=key)
    for family, rows in link_cases.FAMILIES.items()
    for row in rows
    for key, char in link_case.keys(row)]
FIRST_KEYS = [
    pytest.param(row, char, id=key) for rows in link_cases.FAMILIES.values() for row in rows
    for key, char in link_case.keys(row) if char == 'f']
_golden = {}


def golden(family, key):
    """The recorded dicts of arrays of one case."""
    if family not in _golden:
        with np.load(GOLDEN / f'links_{family}.npz') as file:
            data = dict(file)
        _golden[family] = json.loads(data.pop('index').tobytes()), data
    index, data = _golden[family]

    def array(entry):
        if entry is None:
            return None
        char, shape, offset = entry
        size = int(np.prod(shape))
        return data['data_' + char][offset:offset + size].reshape(shape)

    parts = function_case.recorded_entry(index, key, f'record_links.py {family}')
    return {part: {name: array(entry) for name, entry in entries.items()}
            for part, entries in parts.items()}


def check_dicts(part, actual, expected, rtol, atol):
    assert sorted(actual) == sorted(expected), part
    for name, array in actual.items():
        what = f'{part} {name}'
        if array is None or expected[name] is None:
            assert array is expected[name], what
            continue
        assert (array.dtype, array.shape) == (expected[name].dtype, expected[name].shape), what
        np.testing.assert_allclose(array, expected[name], rtol, atol, err_msg=what)


def make(row, char):
    """A link that has been called, so that all its parameters have arrays."""
    with link_case.using_config(chainer, dict(row.config, dtype=np.dtype(char))):
        np.random.seed(0)
        link = row.make(L)
        link_case.call(chainer, row, link, row.arrays(char))
    return link


def fresh(row, char):
    with link_case.using_config(chainer, dict(row.config, dtype=np.dtype(char))):
        return row.make(L)


def predictions(row, char, link):
    with link_case.using_config(chainer, dict(row.config, dtype=np.dtype(char))):
        return link_case.predict(chainer, row, link, row.arrays(char, 1))


@pytest.mark.parametrize(('family', 'row', 'key', 'char'), KEYS)
def test_link_does_what_the_original_does(family, row, key, char):
    expected = golden(family, key)
    actual = link_case.run(chainer, row, char)
    # Initial values come from the same draws; sums of squares in them may end otherwise.
    check_dicts('initial', actual['initial'], expected['initial'], *row.tolerances(char))
    for part in ('outputs', 'gradients', 'input_gradients', 'state', 'predictions'):
        check_dicts(part, actual[part], expected[part], *row.tolerances(char))


@pytest.mark.parametrize(('family', 'row', 'key', 'char'), KEYS)
def test_what_the_original_saved_loads(family, row, key, char):
    expected = golden(family, key)
    file = io.BytesIO()
    np.savez(file, **expected['state'])
    file.seek(0)
    with chainer.using_config('dtype', np.dtype(char)):
        link = row.make(L)
        chainer.serializers.load_npz(file, link)
    check_dicts('state', link_case.saved(chainer, link), expected['state'], 0, 0)
    check_dicts(
        'predictions', predictions(row, char, link), expected['predictions'],
        *row.tolerances(char))


SAVE = {'npz': chainer.serializers.save_npz, 'h5': chainer.serializers.save_hdf5}
LOAD = {'npz': chainer.serializers.load_npz, 'h5': chainer.serializers.load_hdf5}


@pytest.fixture(scope='module')
def saved_files():
    """The files that the original has made, by version and name."""
    found = {}
    for version in (5, 7):
        with tarfile.open(GOLDEN / f'links_saved_{version}.tar.xz') as tar:
            for member in tar:
                found[version, member.name] = tar.extractfile(member).read()
    return found


@pytest.mark.parametrize('kind', ['npz', pytest.param('h5', marks=pytest.mark.hdf5), 'pickle'])
@pytest.mark.parametrize(('version', 'row', 'char'), [
    pytest.param(version, *key.values, id=f'{version}-{key.id}')
    for key in FIRST_KEYS for row in [key.values[0]]
    for version in (5, 7) if version >= (row.saved_since or row.since)])
def test_files_of_the_original_load(version, row, char, kind, saved_files, tmp_path):
    stem = f'{row.name}.{char}'
    path = tmp_path / f'{stem}.{kind}'
    path.write_bytes(saved_files[version, path.name])
    with np.load(io.BytesIO(saved_files[version, f'{stem}.predictions.npz'])) as file:
        expected = dict(file)
    if kind == 'pickle':
        link = pickle.loads(path.read_bytes())
        assert str(link)
    else:
        link = fresh(row, char)
        LOAD[kind](path, link)
    check_dicts('predictions', predictions(row, char, link), expected, *row.tolerances(char))


@pytest.mark.parametrize('kind', ['npz', pytest.param('h5', marks=pytest.mark.hdf5)])
@pytest.mark.parametrize(('row', 'char'), FIRST_KEYS)
def test_what_is_saved_loads(row, char, kind, tmp_path):
    link = make(row, char)
    link_case.disturb(link)
    expected = predictions(row, char, link)
    # `record_links.py --load` lets the original load these files.
    folder = os.environ.get('CHAINWRIGHT_SAVED_LINKS', tmp_path)
    stem = os.path.join(folder, f'{row.name}.{char}')
    SAVE[kind](f'{stem}.{kind}', link)
    np.savez(f'{stem}.predictions.npz', **expected)

    other = fresh(row, char)
    LOAD[kind](f'{stem}.{kind}', other)
    check_dicts('predictions', predictions(row, char, other), expected, 0, 0)


@pytest.mark.parametrize(('row', 'char'), FIRST_KEYS)
@pytest.mark.parametrize('how', [
    copy.deepcopy,
    lambda link: pickle.loads(pickle.dumps(link)),
    lambda link: link.copy('copy'),
    lambda link: link.copy('share'),
], ids=['deepcopy', 'pickle', 'copy', 'share'])
def test_copies_compute_the_same(row, char, how):
    link = make(row, char)
    link_case.disturb(link)
    other = how(link)
    assert type(other) is type(link)
    assert [path for path, _ in other.namedparams()] == [path for path, _ in link.namedparams()]
    check_dicts('predictions', predictions(row, char, other), predictions(row, char, link), 0, 0)


@pytest.mark.parametrize(('row', 'char'), FIRST_KEYS)
def test_copy_with_mode_init_has_parameters_of_its_own(row, char):
    link = make(row, char)
    with chainer.using_config('dtype', np.dtype(char)):
        other = link.copy('init')
    for (path, a), (other_path, b) in zip(link.namedparams(), other.namedparams(), strict=True):
        assert (path, a.shape, a.dtype) == (other_path, b.shape, b.dtype)
        assert a.array is not b.array
    predictions(row, char, other)


@pytest.mark.parametrize(('row', 'char'), FIRST_KEYS)
def test_uninitialized_link_is_copied_and_pickled(row, char):
    link = fresh(row, char)
    for other in (copy.deepcopy(link), pickle.loads(pickle.dumps(link))):
        assert [(path, p.is_initialized) for path, p in other.namedparams()] == [
            (path, p.is_initialized) for path, p in link.namedparams()]
        predictions(row, char, other)


@pytest.mark.parametrize(('row', 'char'), FIRST_KEYS)
def test_devices_that_are_there(row, char):
    link = make(row, char)
    link_case.disturb(link)
    expected = predictions(row, char, link)
    assert link.to_cpu() is link
    assert link.to_device('@numpy') is link
    assert link.from_chx() is link
    assert all(isinstance(p.array, np.ndarray) for p in link.params())
    check_dicts('predictions', predictions(row, char, link), expected, 0, 0)


class Net(chainer.Chain):
    """A link, called by a method that can be compiled."""

    def __init__(self, row):
        super().__init__()
        self.row = row
        with self.init_scope():
            self.link = row.make(L)

    def forward(self, *xs):
        if hasattr(self.link, 'reset_state'):
            self.link.reset_state()
        return self.row.call(self.link, *xs)


class StaticNet(Net):
    forward = chainer.static_graph(Net.forward)


def training_steps(net, row, char):
    """Everything that three steps of a training give or change, as a list of dicts of arrays."""
    steps = []
    with link_case.using_config(chainer, dict(row.config, dtype=np.dtype(char))):
        optimizer = chainer.optimizers.SGD(.1)
        for step in range(3):
            if step == 1:  # its parameters are there now
                link_case.disturb(net)
                optimizer.setup(net)
            outputs, gradients, input_gradients = link_case.train(
                chainer, link_case.case(row.name, row.make, row.inputs),
                net, row.arrays(char, step), seed=step)
            steps += [outputs, gradients, input_gradients, link_case.saved(chainer, net)]
            if step:
                optimizer.update()
    return steps


@pytest.mark.parametrize(('row', 'char'), [
    pytest.param(row, char, id=key) for rows in link_cases.FAMILIES.values() for row in rows
    if row.static for key, char in link_case.keys(row)])
def test_static_graph_is_define_by_run(row, char):
    with chainer.using_config('dtype', np.dtype(char)):
        np.random.seed(0)
        plain = Net(row)
        np.random.seed(0)
        static = StaticNet(row)
    expected = training_steps(plain, row, char)
    state = np.random.get_state()
    actual = training_steps(static, row, char)
    parts = ('outputs', 'gradients', 'input gradients', 'state')
    for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
        assert sorted(a) == sorted(e)
        for name, array in a.items():
            what = f'{parts[i % 4]} {name}, step {i // 4}'
            if array is None or e[name] is None:
                assert array is e[name], what
                continue
            assert (array.dtype, array.shape) == (e[name].dtype, e[name].shape), what
            assert array.tobytes() == e[name].tobytes(), what
    assert all(np.array_equal(a, b) for a, b in zip(np.random.get_state(), state, strict=True))
    assert bool(compare.hits(static)) == row.replays, static.schedule_manager.report()


@pytest.mark.parametrize('ready', [False, True], ids=['uninitialized', 'ready'])
@pytest.mark.parametrize(('row', 'char'), FIRST_KEYS)
def test_lists_are_no_arrays(row, char, ready):
    """Whichever input is a list, the error says that an array is wanted."""
    arrays = row.arrays(char)
    for i, array in enumerate(arrays):
        link = make(row, char) if ready else fresh(row, char)
        with link_case.using_config(chainer, dict(row.config, dtype=np.dtype(char))):
            values = array.tolist() if array.ndim else [array.tolist()]
            with pytest.raises(TypeError, match='array'):
                row.call(link, *arrays[:i], values, *arrays[i + 1:])


def test_names_of_rows_are_unique():
    assert len(ROWS) == sum(map(len, link_cases.FAMILIES.values()))


def test_parameter_links_give_a_new_variable():
    link = L.Parameter(np.ones(3, 'f'))
    y = link()
    y.array = np.zeros(3, 'f')
    assert y is not link.W and y.creator is not None and (link.W.array == 1).all()


def test_renormalization_says_nothing_of_its_own_functions():
    link = L.BatchRenormalization(3)
    with warnings.catch_warnings(), chainer.using_config('train', False):
        warnings.simplefilter('error')
        link(np.ones((2, 3), 'f'))
