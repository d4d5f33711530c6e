"""Snapshots of a whole trainer: those of Chainer 7.8.1 load here, and it could load ours."""
import pathlib
import sys
import warnings

import numpy as np
import pytest

import chainer
from chainer import serializers

GOLDEN = pathlib.Path(__file__).parents[2] / 'golden'
sys.path.insert(0, str(GOLDEN))

import record_trainer  # noqa: E402


def load(path):
    with np.load(path, allow_pickle=True) as file:  # None is saved as an object
        return dict(file)


@pytest.fixture(scope='module')
def ours(tmp_path_factory):
    out = tmp_path_factory.mktemp('out')
    record_trainer.make_trainer(str(out), record_trainer.EPOCHS[0]).run()
    return out / 'snapshot_iter_8'


def test_ours_holds_all_that_chainer_7_asks_for(ours):
    """It stops at a missing name, and at a value that is not of the type that it saves."""
    ours, theirs = load(ours), load(GOLDEN / 'trainer_7.npz')
    assert theirs.keys() - ours.keys() == set()
    for key, value in theirs.items():
        assert ours[key].shape == value.shape, key
        assert ours[key].dtype.kind == value.dtype.kind, key


@pytest.mark.parametrize('whose', ['ours', 'theirs'])
def test_training_goes_on_as_in_chainer_7(ours, tmp_path, whose):
    trainer = record_trainer.make_trainer(str(tmp_path), record_trainer.EPOCHS[1])
    path = ours if whose == 'ours' else GOLDEN / 'trainer_7.npz'
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        if whose == 'theirs':
            warnings.filterwarnings('ignore', '.*the state of EarlyStoppingTrigger')
        serializers.load_npz(path, trainer)
    trainer.run()
    with np.load(GOLDEN / 'trainer_7_resumed.npz') as file:
        np.testing.assert_allclose(record_trainer.weights(trainer), file['W'], 1e-5, 1e-6)
    assert (tmp_path / 'snapshot_iter_12').exists() and trainer.updater.iteration == 12


def test_files_without_the_other_name_load(ours, tmp_path):
    """As Chainer 5 writes them: the names are 'snapshot' and 'snapshot_object'."""
    arrays = {key: value for key, value in load(ours).items() if '_Snapshot' not in key}
    np.savez(tmp_path / 'five.npz', **arrays)
    trainer = record_trainer.make_trainer(str(tmp_path), record_trainer.EPOCHS[1])
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        serializers.load_npz(tmp_path / 'five.npz', trainer)


def test_hdf5(tmp_path):
    pytest.importorskip('h5py')
    trainer = record_trainer.make_trainer(str(tmp_path), 1)
    trainer.run()
    serializers.save_hdf5(tmp_path / 'file', trainer)
    other = record_trainer.make_trainer(str(tmp_path), 2)
    serializers.load_hdf5(tmp_path / 'file', other)
    assert other.updater.iteration == 4


def test_names(tmp_path):
    trainer = record_trainer.make_trainer(str(tmp_path), 1)
    trainer.extend(chainer.training.extensions.snapshot())
    names = {name: entry.name_in_7 for name, entry in trainer._extensions.items()}
    assert names['snapshot'] == '_Snapshot' and names['snapshot_object'] == '_Snapshot_1'
    assert names['snapshot_1'] == '_Snapshot_2'
    assert names['best'] is None and names['LogReport'] is None
