"""Reports and statistics; the rules of names are compared in test_as_original.py."""
import threading

import numpy as np
import pytest

import chainer
from chainer import serializers


def test_current_reporter():
    with pytest.raises(IndexError, match='no reporter is current'):
        chainer.get_current_reporter()
    with pytest.raises(RuntimeError, match='no reporter is current'):
        chainer.report_scope({})
    with chainer.Reporter() as outer:
        assert chainer.get_current_reporter() is outer
        with chainer.Reporter() as inner:
            assert chainer.get_current_reporter() is inner
        assert chainer.get_current_reporter() is outer


def test_reporters_belong_to_their_thread():
    with chainer.Reporter() as reporter:
        thread = threading.Thread(target=lambda: chainer.report({'x': 1}))
        thread.start()
        thread.join()
    assert reporter.observation == {}


def test_scopes_end_with_exceptions():
    reporter = chainer.Reporter()
    with pytest.raises(KeyError), reporter.scope({}):
        raise KeyError
    assert reporter.observation == {}
    with pytest.raises(RuntimeError):
        chainer.get_current_reporter()


def test_unknown_observer():
    with pytest.raises(KeyError, match='add_observer'), chainer.Reporter():
        chainer.report({'x': 1}, object())


def test_reported_variables_keep_their_names():
    reporter = chainer.Reporter()
    x = chainer.Variable(np.zeros(1), name='x', requires_grad=False)
    reporter.report({'x': x})
    copied = reporter.observation['x']
    assert copied is not x and copied.array is x.array
    assert copied.name == 'x' and not copied.requires_grad


@pytest.mark.parametrize('dtype', ['f', 'e', 'd'])
@pytest.mark.parametrize('as_array', [False, True])
def test_summary_is_exact(dtype, as_array):
    rng = np.random.RandomState(0)
    values = rng.uniform(100, 101, 50).astype(dtype)
    summary = chainer.Summary()
    for value in values:
        summary.add(np.array(value) if as_array else value)
    mean, std = summary.make_statistics()
    exact = values.astype('d')
    np.testing.assert_allclose(mean, exact.mean(), rtol=1e-14)
    # The variance is the difference of two numbers of about 10 ** 4.
    np.testing.assert_allclose(std, exact.std(), rtol=1e-10)


def test_summary_takes_no_part_in_later_changes():
    value = np.array(1.0)
    summary = chainer.Summary()
    summary.add(value)
    value += 5
    summary.add(np.array(3.0))
    assert summary.compute_mean() == 2


def test_summary_of_equal_values_has_no_deviation():
    summary = chainer.Summary()
    for _ in range(10):
        summary.add(0.1)
    assert summary.make_statistics()[1] < 1e-8


def test_summaries_of_arrays_keep_the_dtype():
    summary = chainer.Summary()
    for value in np.float32([.5, 1]), np.float32([1, 2]):
        summary.add(value)
    mean, deviation = summary.make_statistics()
    assert mean.dtype == deviation.dtype == np.float32  # those of single numbers are doubles
    assert (mean.tolist(), deviation.tolist()) == ([.75, 1.5], [.25, .5])


def test_empty_summary():
    for method in (chainer.Summary().compute_mean, chainer.Summary().make_statistics):
        with pytest.raises(ZeroDivisionError):
            method()
    assert chainer.DictSummary().compute_mean() == {}


def test_strings_are_left_out():
    summary = chainer.DictSummary()
    summary.add({'name': 'x', 'bytes': b'x', 'loss': 1.0})
    assert summary.compute_mean() == {'loss': 1.0}


@pytest.mark.parametrize('kind', ['npz', pytest.param('hdf5', marks=pytest.mark.hdf5)])
def test_saving_and_loading(tmp_path, kind):
    save, load = getattr(serializers, f'save_{kind}'), getattr(serializers, f'load_{kind}')
    summary, other = chainer.DictSummary(), chainer.DictSummary()
    summary.add({'loss': (2., 0.5), 'more/accuracy': np.array(0.25, 'f')})
    summary.add({'loss': (4., 1.5), 'x': 1})
    other.add({'old': 1.0})
    save(tmp_path / 'summary', summary)
    load(tmp_path / 'summary', other)
    assert other.compute_mean() == summary.compute_mean() == {
        'loss': 3.5, 'more/accuracy': 0.25, 'x': 1.0}
    assert other.make_statistics() == summary.make_statistics()
    other.add({'loss': (3.5, 10.)})
    assert other.compute_mean()['loss'] == 3.5


class Nothing(chainer.Deserializer):
    def __getitem__(self, key):
        return self

    def __call__(self, key, value):
        raise KeyError(key)


def test_loading_from_old_files():
    with pytest.warns(UserWarning, match='not saved'):
        chainer.Summary().serialize(Nothing())
    with pytest.warns(UserWarning, match='not saved'):
        chainer.DictSummary().serialize(Nothing())
