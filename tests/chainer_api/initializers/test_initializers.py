"""Initializers: numbers against Chainer's, checks, and the helper functions."""
import pathlib
import sys

import numpy as np
import pytest

import chainer
import chainer.links as L
from chainer import initializer, initializers

GOLDEN = pathlib.Path(__file__).parents[2] / 'golden'
sys.path.insert(0, str(GOLDEN))

import initializer_cases as cases  # noqa: E402

recorded = np.load(GOLDEN / 'initializers.npz')


@pytest.mark.parametrize(
    'case', list(cases.all_cases()), ids=lambda case: cases.key(*case).replace('"', ''))
def test_numbers_are_those_of_chainer(case):
    array, following = cases.run(chainer, *case)
    expected = recorded[cases.key(*case)]
    assert following == expected[-1], 'other random numbers were drawn'
    # The decomposition of the orthogonal system may differ in the last bit with LAPACK.
    rtol = {'e': 1e-3, 'f': 1e-6, 'd': 1e-14}[case[3]] if case[0] == 'Orthogonal' else 0
    np.testing.assert_allclose(array.ravel(), expected[:-1], rtol=rtol, atol=0)


def test_own_generator():
    np.random.seed(0)
    drawn = []
    for make in (initializers.Normal, initializers.HeNormal, initializers.Uniform,
                 initializers.GlorotUniform, initializers.Orthogonal):
        first, second = np.empty((2, 2, 3), np.float32)
        make(rng=np.random.RandomState(1))(first)
        make(rng=np.random.RandomState(1))(second)
        np.testing.assert_array_equal(first, second)
        drawn.append(first)
    assert np.random.random_sample() == np.random.RandomState(0).random_sample()


@pytest.mark.parametrize('make', [
    initializers.Normal, initializers.LeCunNormal, initializers.HeNormal, initializers.Uniform,
    initializers.GlorotUniform, initializers.Orthogonal, initializers.Identity, initializers.Zero,
    lambda dtype: initializers.Constant(3, dtype=dtype),
    lambda dtype: initializers.UpsamplingDeconvFilter(dtype=dtype)])
def test_array_of_another_dtype_is_refused(make):
    with pytest.raises(AssertionError, match='float64.*float32'):
        make(dtype=np.float64)(np.empty((3, 3), np.float32))


def test_fans():
    assert initializer.get_fans((3, 4)) == (4, 3)
    assert initializer.get_fans((2, 3, 4, 5)) == (60, 40)
    for shape in [(), (3,)]:
        with pytest.raises(ValueError, match='length >= 2'):
            initializer.get_fans(shape)
        with pytest.raises(ValueError, match='length >= 2'):
            initializers.LeCunNormal()(np.empty(shape, np.float32))


def test_fan_option():
    with pytest.raises(ValueError, match="'fan_in' or 'fan_out'"):
        initializers.HeNormal(fan_option='fan')(np.empty((2, 3), np.float32))


def test_identity_needs_a_square_matrix():
    for shape in [(2, 3), (2, 2, 2), (2,)]:
        with pytest.raises(ValueError, match='2D squared'):
            initializers.Identity()(np.empty(shape, np.float32))


def test_constant_broadcasts_an_array():
    array = np.empty((2, 3), np.float32)
    initializers.Constant(np.arange(3))(array)
    np.testing.assert_array_equal(array, [[0, 1, 2], [0, 1, 2]])
    with pytest.raises(ValueError, match='broadcast'):
        initializers.Constant(np.arange(4))(array)
    with pytest.raises(ValueError, match='fill_value'):
        initializers.Constant([1, 2, 3])


@pytest.mark.parametrize('mode, shape', [
    ('projection', (3, 2)), ('embedding', (2, 3)), ('basis', (2, 3)), ('basis', (3, 2)),
    ('projection', (4, 1, 2))])
def test_orthogonal_refuses_shapes(mode, shape):
    with pytest.raises(ValueError, match=f'Cannot make orthogonal {mode}'):
        initializers.Orthogonal(mode=mode)(np.empty(shape, np.float32))


def test_orthogonal_is_orthonormal():
    wide, tall = np.empty((3, 2, 5)), np.empty((7, 4))
    initializers.Orthogonal(scale=2.0)(wide)
    initializers.Orthogonal(scale=2.0)(tall)
    wide = wide.reshape(3, 10)
    np.testing.assert_allclose(wide @ wide.T, 4 * np.eye(3), atol=1e-12)
    np.testing.assert_allclose(tall.T @ tall, 4 * np.eye(4), atol=1e-12)


def test_orthogonal_errors():
    with pytest.raises(ValueError, match="Invalid mode: 'x'"):
        initializers.Orthogonal(mode='x')
    with pytest.raises(ValueError, match='non-empty'):
        initializers.Orthogonal()(np.empty((0, 2)))


def test_sampling_filter_errors():
    with pytest.raises(ValueError, match='Unsupported interpolation method: nearest'):
        initializers.UpsamplingDeconvFilter(interpolation='nearest')
    up = initializers.UpsamplingDeconvFilter()
    with pytest.raises(ValueError, match='ksize must be all same: 3 != 4'):
        up(np.empty((1, 1, 3, 4)))
    with pytest.raises(AssertionError, match='as many as there are output channels: 3 != 2'):
        up(np.empty((2, 3, 4, 4)))
    with pytest.raises(ValueError, match='ksize'):
        up(np.empty((2, 2)))


class TestGenerateArray:

    def test_dtype(self):
        def dtype_of(*args):
            return initializers.generate_array(*args).dtype

        normal = initializers.Normal()
        wide = initializers.Normal(dtype=np.float64)
        assert dtype_of(normal, (2,), np) == np.float32
        assert dtype_of(wide, (2,), np) == np.float64
        assert dtype_of(normal, (2,), np, np.float16) == np.float16
        assert dtype_of(lambda array: array.fill(1), (2,), np) == np.float32
        with chainer.using_config('dtype', np.float16):
            assert dtype_of(normal, (2,), np) == np.float16
        with chainer.using_config('dtype', chainer.mixed16):
            assert dtype_of(normal, (2,), np) == np.float16
        with pytest.raises(ValueError, match='dtype mismatch'):
            dtype_of(wide, (2,), np, np.float32)

    def test_shape(self):
        zero = initializers.Zero()
        assert initializers.generate_array(zero, 3, np).shape == (3,)
        assert initializers.generate_array(zero, (), np).shape == ()

    def test_device(self):
        array = initializers.generate_array(initializers.One(), (2,), np, device='@numpy')
        np.testing.assert_array_equal(array, [1, 1])
        with pytest.raises(ValueError, match='inconsistent'):
            initializers.generate_array(initializers.One(), (2,), None, device='@numpy')


def test_get_initializer():
    get = initializers._get_initializer
    default = get(None)
    assert type(default) is initializers.LeCunNormal and default.scale == 1.0
    for value in (3, 2.5, np.float32(2), np.arange(3)):
        constant = get(value)
        assert type(constant) is initializers.Constant
        assert constant.fill_value is value
    own = initializers.Zero()
    assert get(own) is own
    assert get(np.ndarray.sort) is np.ndarray.sort
    with pytest.raises(TypeError, match='invalid type of initializer'):
        get([1, 2])


def test_check_is_initializer_like():
    check = initializers._check_is_initializer_like
    for value in (None, 3, np.arange(3), initializers.Zero(), np.ndarray.sort):
        check(value)
    with pytest.raises(TypeError, match='Initializer is of wrong type'):
        check([1, 2])


def test_initializer_is_abstract():
    with pytest.raises(NotImplementedError, match='__call__'):
        chainer.Initializer()(np.empty(1))


def notes(error):
    return ' '.join(error.__notes__)


@pytest.mark.parametrize('text', ['he', 'HeNormal', 'zero', ''])
def test_words_are_no_initializers(text):
    for make in (lambda: L.Linear(2, 3, initialW=text), lambda: L.Linear(2, 3, initial_bias=text),
                 lambda: chainer.Parameter(text, (2,)), lambda: initializers.Constant(text)):
        with pytest.raises(ValueError, match=f"'{text}' is no initial value.*HeNormal\\(\\)"):
            make()


def test_classes_are_no_initializers():
    for make in (lambda: L.Linear(2, 3, initialW=initializers.HeNormal),
                 lambda: L.EmbedID(2, 3, initialW=initializers.HeNormal)):
        with pytest.raises(TypeError, match=r'HeNormal is a class of .*give an .*HeNormal\(\)'):
            make()


@pytest.mark.parametrize(('make', 'parameter', 'shape', 'link'), [
    (lambda a: L.Linear(2, 3, initialW=a), 'W', '(3, 2)', 'Linear'),
    (lambda a: L.Linear(3, initialW=a)(np.zeros((1, 2), np.float32)), 'W', '(3, 2)', None),
    (lambda a: L.Linear(2, 3, initial_bias=a), '(not named yet)', '(3,)', 'Linear'),
    (lambda a: L.Convolution2D(1, 2, 3, initialW=a), 'W', '(2, 1, 3, 3)', 'Convolution2D'),
    (lambda a: L.BatchNormalization(3, initial_gamma=a), '', '(3,)', None),
])
def test_arrays_of_a_wrong_shape_name_the_parameter(make, parameter, shape, link):
    with pytest.raises(ValueError, match='initial value of shape .5, 5. cannot be broadcast') as e:
        make(np.zeros((5, 5), np.float32))
    assert str(e.value).endswith(f'to shape {shape}')
    if parameter:
        assert f'making the parameter {parameter} of shape' in notes(e.value)
    if link is not None:
        assert f'in the init_scope of {link}.' in notes(e.value)
