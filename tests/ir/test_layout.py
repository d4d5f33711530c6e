"""Layouts: the rules give what NumPy gives."""

import itertools

import numpy as np
import pytest

from chainwright.ir import layout

SHAPES = [(), (3,), (1,), (2, 3), (3, 1), (2, 3, 4), (1, 3, 1), (2, 0, 3), (2, 1, 3, 4)]


def arrays():
    for shape in SHAPES:
        for axes in itertools.permutations(range(len(shape))):
            yield np.zeros([shape[axis] for axis in axes], "f").transpose(np.argsort(axes))
    yield np.zeros((4, 6), "f")[::2, ::-1]
    yield np.zeros((4, 6), "f")[:, 1:3]
    yield np.broadcast_to(np.float32(0), (3, 2))


ARRAYS = list(arrays())


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.shape}{a.strides}")
def test_contiguity_and_density(array):
    size, start = layout.extent(array.shape, array.strides, 4)
    low, high = np.lib.array_utils.byte_bounds(array)
    assert layout.is_contiguous(array.shape, array.strides, 4) == array.flags.c_contiguous
    assert size == (high - low if array.size else 0)
    assert start == (array.__array_interface__["data"][0] - low if array.size else 0)
    if array.flags.c_contiguous or array.flags.f_contiguous:
        assert size == array.nbytes


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.shape}{a.strides}")
@pytest.mark.parametrize("shape", [(-1,), (2, -1), (3, -1), (1, -1, 2), (2, 3, 4), (4, -1, 1)])
def test_reshape_is_a_view_just_where_numpy_gives_one(array, shape):
    try:
        reshaped = array.reshape(shape)
    except ValueError:
        pytest.skip("NumPy cannot")
    if not array.size or reshaped.shape == array.shape:
        return
    found = layout.reshaped_strides(array.shape, array.strides, reshaped.shape, 4)
    if np.shares_memory(reshaped, array):
        assert found == reshaped.strides
    else:
        assert found is None


@pytest.mark.parametrize("one", ARRAYS, ids=lambda a: f"{a.shape}{a.strides}")
def test_what_a_ufunc_allocates(one):
    for other in ARRAYS:
        try:
            result = np.asarray(np.add(one, other))
        except ValueError:
            continue
        operands = [(x.shape, x.strides, x.dtype) for x in (one, other)]
        found = layout.allocated_strides(result.shape, 4, operands)
        assert found == result.strides or not result.size


@pytest.mark.parametrize("array", ARRAYS[:-3], ids=lambda a: f"{a.shape}{a.strides}")
@pytest.mark.parametrize("keep", [True, False])
def test_what_a_reduction_allocates(array, keep):
    for count in range(array.ndim + 1 if array.size else 0):
        for axes in itertools.combinations(range(array.ndim), count):
            result = np.asarray(np.sum(array, axis=axes, keepdims=keep))
            found = layout.reduced_strides(array.shape, array.strides, axes, keep, 4)
            lengths = zip(result.shape, found, result.strides, strict=True)
            assert all(ours == theirs for n, ours, theirs in lengths if n > 1)


def test_order_is_from_outermost_to_innermost():
    assert layout.order_of((4, 24, 8)) == (1, 2, 0)
    assert layout.dense_strides((3, 2, 4), 4, (1, 2, 0)) == (4, 48, 12)
