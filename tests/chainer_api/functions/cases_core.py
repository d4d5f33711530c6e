"""Arithmetic, the operators of Variable, and the functions that its methods need."""
import dataclasses

import numpy as np
from function_case import (
    away,
    case,
    error,
    integers,
    normal,
    positive,
    uniform,
)

import chainer

X = normal(2, 3)
DOUBLE = normal(2, 3, dtype='d')
INTS = integers(0, 5, 2, 3)



def binary(name, call, right, left=None, **settings):
    """A binary operator, with and without broadcasting; ``right(*shape)`` makes an operand."""
    left = left or normal
    shapes = [((2, 3), (2, 3)), ((2, 3), (3,)), ((3,), (2, 3)), ((2, 1), (1, 3)), ((2, 3), ()),
              ((), ())]
    return case(name, call, *[(left(*a), right(*b)) for a, b in shapes], **settings)


# Results of half precision differ in the last digit: the original multiplies in other orders.
HALF = {'e': (8e-3, 8e-3)}

CASES = [
    case('abs', lambda F, x: abs(x), away(2, 3), away(), dtypes='efd'),
    case('absolute', lambda F, x: F.absolute(x), away(2, 3)),
    binary('add', lambda F, x, y: x + y, normal),
    binary('add_function', lambda F, x, y: F.add(x, y), normal),
    case('add_three', lambda F, x, y, z: F.add(x, y, z), (X, X, X),
         (normal(2, 3), normal(3), normal(2, 1))),
    case('add_same', lambda F, x: F.add(x, x, x, x), X),
    case('add_one', lambda F, x: F.add(x), X),
    case('add_scalar', lambda F, x: x + 1.5, X, normal()),
    case('add_integer', lambda F, x: 2 + x, X),
    case('add_numpy_scalar', lambda F, x: x + np.float64(1.5), X),
    case('add_integers', lambda F, x: x + 1, INTS, dtypes='f', grads=()),
    case('add_array', lambda F, x: x + np.arange(3), X),
    case('add_array_left', lambda F, x: np.arange(3.) + x, X),
    binary('sub', lambda F, x, y: x - y, normal),
    case('sub_scalar', lambda F, x: x - 1.5, X, normal()),
    case('sub_from_scalar', lambda F, x: 1.5 - x, X, normal()),
    case('sub_from_array', lambda F, x: np.ones((2, 3)) - x, X),
    case('sub_true', lambda F, x: x - True, X),
    case('neg', lambda F, x: -x, X, normal()),
    case('pos', lambda F, x: +x, X),
    binary('mul', lambda F, x, y: x * y, normal),
    case('mul_same', lambda F, x: x * x, X),
    case('mul_scalar', lambda F, x: x * 3, X, normal()),
    case('mul_scalar_left', lambda F, x: 0.3 * x, X),
    case('mul_array', lambda F, x: x * np.array([1, 2, 3]), X),
    binary('div', lambda F, x, y: x / y, positive),
    case('div_scalar', lambda F, x: x / 3, X, normal()),
    case('div_from_scalar', lambda F, x: 2.5 / x, positive(2, 3), positive()),
    case('div_from_array', lambda F, x: np.arange(3) / x, positive(2, 3)),
    case('floordiv', lambda F, x, y: x // y, (uniform(1, 9, 2, 3), positive(2, 3)),
         grads=(), numeric=False),
    case('floordiv_scalar', lambda F, x: x // 0.7, X, grads=(), numeric=False),
    case('floordiv_left', lambda F, x: 7 // x, positive(2, 3), grads=(), numeric=False),
    binary('pow', lambda F, x, y: x ** y, normal, positive, tolerance=HALF),
    case('pow_scalar', lambda F, x: x ** 3, X, normal()),
    case('pow_two', lambda F, x: x ** 2, X),
    case('pow_one', lambda F, x: x ** 1, away(2, 3)),
    case('pow_fraction', lambda F, x: x ** 0.5, positive(2, 3)),
    case('pow_negative', lambda F, x: x ** -1.5, positive(2, 3)),
    case('pow_of_scalar', lambda F, x: 2.5 ** x, X, normal()),
    case('pow_of_array', lambda F, x: np.array([1., 2., 3.]) ** x, X),
    case('matmul_operator', lambda F, x, y: x @ y, (normal(2, 3), normal(3, 4)),
         (normal(3), normal(3)), (normal(5, 2, 3), normal(3, 4))),
    case('matmul_operator_left', lambda F, y: np.ones((2, 3)) @ y, normal(3, 4)),

    case('cast_from_integers', lambda F, x: F.cast(x, 'f'), INTS, dtypes='f', grads=()),
    case('cast_same', lambda F, x: F.cast(x, x.dtype), X),
    case('broadcast_one', lambda F, x: F.broadcast(x), X),
    case('broadcast_three', lambda F, x, y, z: F.broadcast(x, y, z),
         (normal(2, 1), normal(3), normal())),
    case('broadcast_to_same', lambda F, x: F.broadcast_to(x, (2, 3)), X),
    case('broadcast_to_scalar', lambda F, x: F.broadcast_to(x, (2, 3)), normal()),
    case('expand_dims_each', lambda F, x: [F.expand_dims(x, a) for a in (0, 1, 2, -1, -2, -3)], X),
    *[case(f'get_item_{name}', lambda F, x, index=index: F.get_item(x, index),
           normal(2, 3, 4), opaque='mask' in name) for name, index in [
        ('integer', 1), ('last', -1), ('integers', (0, 1, 2)), ('slice', slice(0, 1)),
        ('steps', (slice(None), slice(None, None, 2), slice(None, None, -1))),
        ('empty', (slice(1, 0),)), ('new', (None, 0, None)), ('none', ()),
        ('list', [0, 0, 1]), ('list_of_slice', [slice(None), 1]),
        ('list_of_lists', [[0, 1], [1, 0]]), ('list_of_one_list', [[0, 1, 1]]),
        ('list_of_mixed', [slice(None), [0, 0]]), ('list_of_new', [None, 0]),
        ('list_of_integer', [np.int64(1)]), ('list_of_tuples', [(0, 1), (1, 0)]),
        ('empty_list', []), ('empty_matrix', ([[]],)), ('empty_matrices', ([[], []], 0)),
        ('tuple_in_tuple', ((0, 0, 1),)), ('pairs', ([0, 1, 1], [1, 2, 2])),
        ('apart', ([0, 1], slice(None), [2, 2])), ('matrix', np.array([[0, 1], [1, 1]])),
        ('negative', ([-1, 1], Ellipsis)), ('scalar_array', np.array(1)),
        ('masked_axis', (slice(None), np.array([True, False, True]))),
        ('masks', (np.array([True, False]), np.array([True, False, True])))]],
    case('get_item_operator', lambda F, x: x[1:, ::2, 0], normal(2, 3, 4)),
    case('identity', lambda F, x: F.identity(x), X),
    case('identity_two', lambda F, x, y: F.identity(x, y), (X, normal())),
    *[case(f'matmul_{a}{b}', lambda F, x, y, a=a, b=b: F.matmul(x, y, a, b),
           (normal(*((3, 2) if a else (2, 3))), normal(*((4, 3) if b else (3, 4)))),
           (normal(*((5, 3, 2) if a else (5, 2, 3))), normal(*((5, 4, 3) if b else (5, 3, 4)))))
      for a in (False, True) for b in (False, True)],
    case('matmul_shapes', lambda F, x, y: F.matmul(x, y),
         (normal(3), normal(3)), (normal(3), normal(3, 4)), (normal(2, 3), normal(3)),
         (normal(5, 2, 3), normal(3, 4)), (normal(2, 3), normal(5, 3, 4)),
         (normal(6, 1, 2, 3), normal(5, 3, 4)), (normal(3), normal(5, 3, 4)),
         (normal(5, 2, 3), normal(3))),
    case('matmul_vector_transposed', lambda F, x, y: F.matmul(x, y, True, True),
         (normal(3), normal(4, 3)), (normal(3, 2), normal(3)), (normal(3), normal(3))),
    case('matmul_same', lambda F, x: F.matmul(x, x, transb=True), X),
    case('batch_matmul', lambda F, x, y: F.batch_matmul(x, y),
         (normal(5, 2, 3), normal(5, 3, 4)), (normal(5, 2, 3), normal(5, 3)), dtypes='f'),
    case('batch_matmul_transposed', lambda F, x, y: F.batch_matmul(x, y, True, True),
         (normal(5, 3, 2), normal(5, 4, 3)), dtypes='f'),
    case('batch_matmul_vectors', lambda F, x, y: F.batch_matmul(x, y, transa=True),
         (normal(5, 3), normal(5, 3)), dtypes='f'),
    case('reshape', lambda F, x: F.reshape(x, (3, 2)), X, normal(6)),
    case('reshape_open', lambda F, x: F.reshape(x, (-1, 2)), X),
    case('reshape_same', lambda F, x: F.reshape(x, (2, 3)), X),
    case('reshape_scalar', lambda F, x: F.reshape(x, ()), normal(1, 1)),
    case('reshape_method', lambda F, x: [x.reshape(6), x.reshape((1, 6)), x.reshape([2, -1])], X),
    case('squeeze', lambda F, x: F.squeeze(x), normal(1, 2, 1), normal(2, 3)),
    case('squeeze_axis', lambda F, x: [F.squeeze(x, 0), F.squeeze(x, -1), F.squeeze(x, (0, -1))],
         normal(1, 2, 1)),
    case('sum', lambda F, x: F.sum(x), X, normal(), normal(0, 3)),
    case('sum_axis', lambda F, x: [F.sum(x, 0), F.sum(x, -1), F.sum(x, (0, 2)), F.sum(x, ())],
         normal(2, 3, 4)),
    case('sum_kept', lambda F, x: [F.sum(x, keepdims=True), F.sum(x, (0, -1), keepdims=True)],
         normal(2, 3, 4)),
    case('sum_to', lambda F, x: [F.sum_to(x, (3,)), F.sum_to(x, (2, 1)), F.sum_to(x, ()),
                                 F.sum_to(x, (1, 1)), F.sum_to(x, (2, 3))], X),
    case('transpose', lambda F, x: F.transpose(x), X, normal(2, 3, 4), normal()),
    case('transpose_axes', lambda F, x: [F.transpose(x, (2, 0, 1)), F.transpose(x, [0, -1, 1])],
         normal(2, 3, 4)),
    case('transpose_method',
         lambda F, x: [x.T, x.transpose(), x.transpose(1, 0, 2), x.transpose((2, 0, 1)),
                       x.transpose(None)], normal(2, 3, 4)),
]



def _of_variables(row):
    """The row with a call whose inputs are all variables, since operators of arrays are NumPy's."""
    def call(F, *xs):
        return row.call(F, *[chainer.as_variable(x) for x in xs])
    return dataclasses.replace(row, call=call)


CASES = [_of_variables(row) for row in CASES]

ERRORS = [
    error('absolute_dtype', lambda F, x: F.absolute(x), INTS),
    error('add_dtype', lambda F, x, y: chainer.Variable(x) + chainer.Variable(y), (X, DOUBLE)),
    error('add_shape', lambda F, x, y: chainer.Variable(x) + y, (X, normal(2)), record=False,
          text='lhs.shape = (2, 3)', why='the original does not name the function'),
    error('add_type', lambda F, x: chainer.Variable(x) + 'a', X, 'TypeError', 'operand'),
    error('add_list', lambda F, x: chainer.Variable(x) + [1, 2, 3], X, 'TypeError', 'operand'),
    error('add_none', lambda F, x: None + chainer.Variable(x), X, 'TypeError', 'operand'),
    error('add_three_dtype', lambda F, x, y: F.add(x, x, y), (X, DOUBLE)),
    error('mul_dtype', lambda F, x, y: chainer.Variable(x) * chainer.Variable(y), (X, DOUBLE)),
    error('mul_integers', lambda F, x: chainer.Variable(x) * chainer.Variable(x), INTS),
    error('div_integers', lambda F, x: 1 / chainer.Variable(x), INTS),
    error('pow_integers', lambda F, x: chainer.Variable(x) ** 2, INTS),
    error('pow_of_integers', lambda F, x: 2 ** chainer.Variable(x), INTS),
    error('remainder', lambda F, x: chainer.Variable(x) % 2, X, 'TypeError', '%'),
    error('matmul_scalar', lambda F, x: chainer.Variable(x) @ 2, X, record=False,
          exception='TypeError', text='operand', why='the original raises AttributeError'),
    error('broadcast_nothing', lambda F: F.broadcast(), ()),
    error('broadcast_to_ndim', lambda F, x: F.broadcast_to(x, (3,)), X),
    error('broadcast_to_shape', lambda F, x: F.broadcast_to(x, (2, 4)), X, record=False,
          text='Expect: x.shape[-1] == shape[-1]\nActual: 3 != 4',
          why='the message of the original names no argument'),
    error('expand_dims_high', lambda F, x: F.expand_dims(x, 3), X),
    error('expand_dims_low', lambda F, x: F.expand_dims(x, -4), X),
    error('get_item_high', lambda F, x: F.get_item(x, 2), X, 'IndexError'),
    error('get_item_many', lambda F, x: F.get_item(x, (0, 0, 0)), X, 'IndexError'),
    error('get_item_float', lambda F, x: F.get_item(x, 1.5), X, 'IndexError'),
    error('get_item_ellipses', lambda F, x: F.get_item(x, (Ellipsis, Ellipsis)), X, record=False,
          exception='ValueError', text='Ellipsis', why='the original raises IndexError'),
    error('matmul_ndim', lambda F, x, y: F.matmul(x, y), (normal(), X)),
    error('matmul_dtype', lambda F, x: F.matmul(x, x), INTS),
    error('matmul_batch', lambda F, x, y: F.matmul(x, y), (normal(4, 2, 3), normal(5, 3, 2)),
          record=False, text='a.shape[:-2] = (4,)', why='the original does not name the function'),
    error('matmul_inner', lambda F, x, y: F.matmul(x, y), (X, X)),
    error('reshape_size', lambda F, x: F.reshape(x, (4, 2)), X),
    error('reshape_rest', lambda F, x: F.reshape(x, (4, -1)), X),
    error('reshape_two_open', lambda F, x: F.reshape(x, (-1, -1)), X, record=False,
          exception='ValueError', text='only one', why='the original raises AssertionError'),
    error('squeeze_long', lambda F, x: F.squeeze(x, 0), X, 'ValueError', 'squeeze'),
    error('squeeze_type', lambda F, x: F.squeeze(x, [0]), X, 'TypeError', 'axis'),
    error('squeeze_high', lambda F, x: F.squeeze(x, 2), X, record=False,
          text='x.ndim > 2', why='the message of the original does not name the argument'),
    error('sum_dtype', lambda F, x: F.sum(x), INTS),
    error('sum_high', lambda F, x: F.sum(x, 2), X),
    error('sum_twice', lambda F, x: F.sum(x, (1, 1)), X, 'ValueError', 'duplicate'),
    error('sum_type', lambda F, x: F.sum(x, [1]), X, 'TypeError', 'None, int'),
    error('transpose_length', lambda F, x: F.transpose(x, (0,)), X, 'ValueError', 'axes'),
    error('transpose_twice', lambda F, x: F.transpose(x, (0, 0)), X, 'ValueError', 'repeated'),
]
