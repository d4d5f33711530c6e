"""Converters: what concat_examples adds to Chainer's, and its errors."""
import numpy as np
import pytest

import chainer
from chainer import dataset
from chainer.dataset import convert


@pytest.mark.parametrize('batch, where', [
    ([np.ones(2), np.ones(3)], r'\(2,\), \(3,\)'),
    ([([1, 2], 0), ([1], 1)], r'entry 0 of the examples.*\(1,\), \(2,\)'),
    ([{'x': [1]}, {'x': [1, 2]}], "entry 'x'.*padding="),
])
def test_different_shapes(batch, where):
    with pytest.raises(ValueError, match=where):
        dataset.concat_examples(batch)


def test_different_dimensions_cannot_be_padded():
    with pytest.raises(ValueError, match='1, 2 dimensions'):
        dataset.concat_examples([np.ones(2), np.ones((2, 2))], padding=0)


def test_empty_batch():
    with pytest.raises(ValueError, match='batch is empty'):
        dataset.concat_examples([])


@pytest.mark.parametrize('value', [None, 'text', object()])
def test_no_arrays(value):
    with pytest.raises(TypeError, match=f'of type {type(value).__name__} cannot be made an array'):
        dataset.concat_examples([value, value])


def test_batch_of_an_array_and_nested_lists_with_padding():
    array = np.arange(6.).reshape(3, 2)
    np.testing.assert_array_equal(dataset.concat_examples(array), array)
    np.testing.assert_array_equal(
        dataset.concat_examples([[1, 2], [3]], padding=9), [[1, 2], [3, 9]])


def test_result_is_a_copy():
    example = np.zeros(2)
    dataset.concat_examples([example])[0, 0] = 1
    assert example[0] == 0


@pytest.mark.parametrize('device', [None, -1, '@numpy', 'cpu'])
def test_devices_without_a_gpu(device):
    x, t = dataset.concat_examples([(np.ones(2), 1)], device)
    assert isinstance(x, np.ndarray) and isinstance(t, np.ndarray)


def test_to_device():
    assert dataset.to_device(None, 3) == 3
    assert isinstance(dataset.to_device(-1, 3), np.ndarray)
    with pytest.raises(ValueError, match='no device is named'):
        dataset.to_device('@nowhere', np.ones(1))


def test_converter_gets_a_device_object():
    @dataset.converter()
    def convert_batch(batch, device):
        """Doc."""
        return batch, device

    cpu = chainer.get_device('@numpy')
    assert convert_batch.__doc__ == 'Doc.'
    assert convert_batch([1], -1) == ([1], cpu)
    assert convert_batch([1], None) == ([1], None)
    assert convert._call_converter(convert_batch, [1], -1) == ([1], cpu)
    # Plain functions get the old style.
    assert convert._call_converter(lambda batch, device: device, [1], cpu) == -1
    assert convert._call_converter(lambda batch, device: device, [1], None) is None


def test_converter_must_be_callable():
    with pytest.raises(NotImplementedError, match='Converter must define __call__'):
        dataset.Converter()([1], None)


def test_async_transfer_to_the_cpu_is_plain():
    converter = dataset.ConcatWithAsyncTransfer()
    x, t = converter([([1, 2], 0), ([3], 1)], -1, padding=5)
    np.testing.assert_array_equal(x, [[1, 2], [3, 5]])
    np.testing.assert_array_equal(t, [0, 1])
    with pytest.raises(ValueError, match='batch is empty'):
        converter([])
