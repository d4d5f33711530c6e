"""Type checks: conditions on dtypes and shapes, with errors that show the condition."""
# ruff: noqa: B905, F401, I001
# The imports that all chapters of Chainer's guide share.
import math
import numpy as np
import chainer
from chainer import backend
from chainer import backends
from chainer.backends import cuda
from chainer import Function, FunctionNode, gradient_check, report, training, utils, Variable
from chainer import datasets, initializers, iterators, optimizers, serializers
from chainer import Link, Chain, ChainList
import chainer.functions as F
import chainer.links as L
from chainer.training import extensions


class Checked(FunctionNode):
    """A function that passes its first argument on, with the checks that it is given."""

    in_size = 4

    def __init__(self, check):
        self.check = check

    def check_type_forward(self, in_types):
        self.check(self, in_types)

    def forward(self, inputs):
        return inputs[0],


def passes(check, *arrays):
    Checked(check).apply(arrays)


def fails(check, *arrays):
    try:
        Checked(check).apply(arrays)
    except utils.type_check.InvalidType as e:
        print(f'{str(e).strip()}\n')
        return str(e)
    raise AssertionError('the check passed')


def zeros(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


def is_a_matrix(self, in_types):
    x_type, y_type = in_types
    utils.type_check.expect(x_type.ndim == 2)


passes(is_a_matrix, zeros(2, 3), zeros(1))
message = fails(is_a_matrix, zeros(2, 3, 4), zeros(1))
assert 'in_types[0].ndim == 2' in message
assert '3 != 2' in message


def is_not_empty(self, in_types):
    x_type, = in_types
    utils.type_check.expect(x_type.shape[0] > 0)


passes(is_not_empty, zeros(2))
fails(is_not_empty, zeros(0))


def is_double(self, in_types):
    x_type, = in_types
    utils.type_check.expect(x_type.dtype == np.float64)


passes(is_double, zeros(2, dtype=np.float64))
fails(is_double, zeros(2))


def is_floating(self, in_types):
    x_type, = in_types
    utils.type_check.expect(x_type.dtype.kind == 'f')


passes(is_floating, zeros(2))
fails(is_floating, zeros(2, dtype=np.int32))


def are_equally_wide(self, in_types):
    x_type, y_type = in_types
    utils.type_check.expect(x_type.shape[1] == y_type.shape[1])


passes(are_equally_wide, zeros(2, 3), zeros(4, 3))
fails(are_equally_wide, zeros(2, 3), zeros(2, 4))


# The types are expressions; eval tells their values.
def looks_at_values(self, in_types):
    x_type, = in_types
    actual_type = x_type.eval()
    assert actual_type.shape == (2, 3)
    assert x_type.shape[0].eval() == 2


passes(looks_at_values, zeros(2, 3))


# They can be computed with.
def is_four_times_as_long(self, in_types):
    x_type, y_type = in_types
    utils.type_check.expect(x_type.shape[0] == y_type.shape[0] * 4)


passes(is_four_times_as_long, zeros(4), zeros(1))
message = fails(is_four_times_as_long, zeros(3), zeros(1))
assert 'in_types[0].shape[0] == in_types[1].shape[0] * 4' in message


# A name for a number makes the message readable.
def has_in_size(self, in_types):
    x_type, = in_types
    utils.type_check.expect(
        x_type.shape[0] == utils.type_check.Variable(self.in_size, "in_size"))


passes(has_in_size, zeros(4))
assert 'in_types[0].shape[0] == in_size' in fails(has_in_size, zeros(3))


# Functions can be called, too, once they are wrapped.
def sums_up_to_ten(self, in_types):
    x_type, = in_types
    sum = utils.type_check.Variable(np.sum, 'sum')
    utils.type_check.expect(sum(x_type.shape) == 10)


passes(sums_up_to_ten, zeros(3, 7))
assert 'sum(in_types[0].shape) == 10' in fails(sums_up_to_ten, zeros(3, 4))


# Anything else: look at the values, and raise the error.
def more_complicated_condition(shape):
    return all(a <= b for a, b in zip(shape, shape[1:]))


def is_sorted(self, in_types):
    x_type, = in_types
    x_shape = x_type.shape.eval()  # get actual shape (int tuple)
    if not more_complicated_condition(x_shape):
        expect_msg = 'Shape is expected to be ...'
        actual_msg = 'Shape is ...'
        raise utils.type_check.InvalidType(expect_msg, actual_msg)


passes(is_sorted, zeros(2, 3))
assert 'Shape is expected to be ...' in fails(is_sorted, zeros(3, 2))


# A typical check: the number of arguments first, then each of them.
def typical(self, in_types):
    utils.type_check.expect(in_types.size() == 2)

    x_type, y_type = in_types

    utils.type_check.expect(
        x_type.dtype == np.float32,
        x_type.ndim == 3,
        x_type.shape[1] == 2,
    )


passes(typical, zeros(1, 2, 3), zeros(1))
fails(typical, zeros(1, 2, 3))
fails(typical, np.zeros((), np.float32), zeros(1))
fails(typical, zeros(1, 3, 3), zeros(1))
