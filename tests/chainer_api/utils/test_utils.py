"""Utilities beside type checks; numbers are compared in test_as_original.py."""
import os
import warnings

import numpy as np
import pytest

import chainer
from chainer import utils
from chainer.utils import argument, cache, imgproc


def test_force_array():
    x = np.zeros(2)
    assert utils.force_array(x) is x and utils.force_array(x, np.float64) is x
    assert utils.force_array(x, 'f').dtype == np.float32
    for value in (1.5, np.float32(1.5), np.array(1.5)):
        y = utils.force_array(value)
        assert type(y) is np.ndarray and y.shape == () and y == 1.5
    assert utils.force_array(np.float32(1)).dtype == np.float32
    assert utils.force_array(2, 'e').dtype == np.float16


def test_force_type():
    f = np.dtype('f')
    assert type(utils.force_type(f, 1.5)) is np.float32
    x = np.zeros(2, 'f')
    assert utils.force_type(f, x) is x and utils.force_type(f, np.zeros(2)).dtype == f


def test_shapes():
    x = np.arange(24.).reshape(2, 3, 4)
    assert utils.size_of_shape(()) == 1 and utils.size_of_shape((2, 0)) == 0
    assert utils.sum_to(x, x.shape) is x
    np.testing.assert_array_equal(utils.sum_to(x, (3, 1)), x.sum((0, 2))[:, None])
    np.testing.assert_array_equal(utils.sum_to(x, ()), x.sum())
    assert utils.array.as_vec(x).shape == (24,) and utils.array.as_mat(x).shape == (2, 12)
    assert utils.array.as_mat(x[0, 0]).shape == (4, 1)
    assert utils.array.empty_like(x).shape == x.shape


def test_tempdir():
    with utils.tempdir(prefix='abc') as path:
        assert os.path.basename(path).startswith('abc')
        with open(os.path.join(path, 'file'), 'w') as file:
            file.write('x')
    assert not os.path.exists(path)
    with pytest.raises(KeyError), utils.tempdir() as path:
        raise KeyError
    assert not os.path.exists(path)
    with utils.tempdir(ignore_errors=True) as path:
        os.rmdir(path)


def test_arguments():
    assert argument.parse_kwargs({'b': 3}, ('a', 1), ('b', 2)) == (1, 3)
    assert argument.parse_kwargs({}) == ()
    with pytest.raises(TypeError, match=(
            r"^test_arguments\(\) got unexpected keyword argument\(s\) 'c', 'd'$")):
        argument.parse_kwargs({'d': 1, 'c': 1}, ('a', 1))
    with pytest.raises(TypeError, match=(
            r"^test_arguments\(\) got unexpected keyword argument\(s\) 'c'$")):
        argument.assert_kwargs_empty({'c': 1})
    with pytest.raises(ValueError, match='c is gone'):
        argument.parse_kwargs({'c': 1}, ('a', 1), c='c is gone')
    kwargs = {'a': 1}
    argument.parse_kwargs(kwargs, ('a', 2))
    assert kwargs == {'a': 1}


def test_experimental(monkeypatch):
    with pytest.warns(FutureWarning, match='my.feature is experimental. The interface can change'):
        utils.experimental('my.feature')
    monkeypatch.setattr(chainer, 'disable_experimental_feature_warning', True)
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        utils.experimental('my.feature')


def test_nondeterministic():
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        utils.nondeterministic('f')
    with chainer.using_config('warn_nondeterministic', True):
        with pytest.warns(UserWarning, match='Source: f'):
            utils.nondeterministic('f')


def test_cached_property():
    class Distribution:
        calls = 0

        @cache.cached_property
        def log_scale(self):
            """Its text."""
            self.calls += 1
            return chainer.Variable(np.ones(1)) * 2

    d = Distribution()
    assert d.log_scale is d.log_scale and d.calls == 1
    with chainer.no_backprop_mode():
        assert d.log_scale.creator is None and d.calls == 2
    assert d.log_scale.creator is not None and d.calls == 2
    assert Distribution.log_scale.__doc__ == 'Its text.'
    with pytest.raises(AttributeError, match='log_scale'):
        d.log_scale = 1


def test_walker_alias_draws_by_weight():
    sampler = utils.WalkerAlias([1, 0, 3, 6])
    np.random.seed(0)
    counts = np.bincount(sampler.sample(100000), minlength=4) / 100000
    np.testing.assert_allclose(counts, [0.1, 0, 0.3, 0.6], atol=0.01)
    assert sampler.sample_cpu(3).shape == (3,) and sampler.sample_xp(np, (2, 2)).shape == (2, 2)
    assert not sampler.use_gpu and sampler.to_cpu() is sampler
    with pytest.raises(ValueError, match='non-empty'):
        utils.WalkerAlias([])


def test_coo_matrix_adds_up_repeated_places():
    m = utils.CooMatrix(np.array([1., 2.]), np.array([0, 0]), np.array([1, 1]), (1, 2))
    assert m.to_dense().tolist() == [[0, 3]]
    with pytest.raises(ValueError, match='that of a matrix'):
        utils.CooMatrix(np.zeros(1), np.zeros(1), np.zeros(1), (1, 2, 3))


def test_windows_that_do_not_fit():
    with pytest.raises(ValueError, match='no window of size .3, 3. fits'):
        utils.conv.im2col_cpu(np.zeros((1, 1, 2, 2)), 3, 3, 1, 1, 0, 0)
    with pytest.raises(ValueError, match='one value or 3 of them expected'):
        utils.conv_nd.as_tuple((1, 2), 3)


def test_windows_are_transposed_by_their_inverse():
    rng = np.random.RandomState(0)
    x, settings = rng.uniform(-1, 1, (2, 3, 6, 5)), (3, 2, 2, 1, 1, 1)
    col = utils.conv.im2col(x, *settings, dy=2)
    other = rng.uniform(-1, 1, col.shape)
    back = utils.conv.col2im(other, 2, 1, 1, 1, 6, 5, dy=2)
    np.testing.assert_allclose(np.vdot(col, other), np.vdot(x, back))


def test_oversample():
    image = np.arange(48.).reshape(4, 4, 3)
    crops = imgproc.oversample([image], (2, 2))
    assert crops.shape == (10, 2, 2, 3) and crops.dtype == np.float32
    np.testing.assert_array_equal(crops[4], image[1:3, 1:3])
    np.testing.assert_array_equal(crops[5], image[:2, :2][:, ::-1])
