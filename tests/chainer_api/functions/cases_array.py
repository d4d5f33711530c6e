"""Array manipulations."""
import numpy as np
from function_case import booleans, case, constant, error, integers, normal, permutation, uniform


def one(name, *variants, **kwargs):
    settings = kwargs.pop('settings', {})
    return case(kwargs.pop('row', name), lambda F, x: getattr(F, name)(x, **kwargs), *variants,
                **settings)


def join(name, *variants, **kwargs):
    return case(kwargs.pop('row', name), lambda F, *xs: getattr(F, name)(xs, **kwargs), *variants)


def several(n, *shape):
    return [normal(*shape) for _ in range(n)]


def _permutate(row, indices, *variants, **kwargs):
    settings = kwargs.pop('settings', {})
    return case(row, lambda F, x: F.permutate(x, np.array(indices, 'i'), **kwargs), *variants,
                **settings)


def _resize(row, shape, *variants, **kwargs):
    settings = kwargs.pop('settings', {})
    return case(row, lambda F, x: F.resize_images(x, shape, **kwargs), *variants, dtypes='f',
                **settings)


def _scatter_add(row, slices, a, b, **settings):
    return case(row, lambda F, a, b: F.scatter_add(a, slices, b), (a, b), **settings)


def _pad(row, *args, **kwargs):
    settings = kwargs.pop('settings', {})
    variants = kwargs.pop('variants', (normal(2, 3),))
    return case('pad_' + row, lambda F, x: F.pad(x, *args, **kwargs), *variants, **settings)


MODES = [
    _pad(mode, 2, mode, settings=dict(
        numeric=False, why='gradients of copies are dropped, as in the original'))
    for mode in ('edge', 'reflect', 'symmetric', 'wrap', 'mean', 'linear_ramp')]

CASES = [
    case('broadcast', lambda F, x, y: F.broadcast(x, y), (normal(2, 3), normal(3)),
         (normal(2, 1), normal(1, 3)), (normal(), normal(2)), (normal(2), normal(2))),
    case('broadcast_to', lambda F, x: F.broadcast_to(x, (2, 4, 3)), normal(3), normal(4, 1),
         normal(2, 4, 3), normal()),
    case('cast', lambda F, x: F.cast(x, np.float64), normal(2, 3), normal()),
    case('cast_half', lambda F, x: F.cast(x, 'f2'), normal(2, 3), dtypes='ef'),
    join('concat', several(2, 2, 3), several(3, 2, 3, 2), several(1, 2, 3),
         [normal(2, 1), normal(2, 0), normal(2, 4)], several(2, 0, 3)),
    join('concat', several(2, 3), [normal(1), normal(4)], row='concat_first_axis', axis=0),
    join('concat', several(2, 2, 3), row='concat_negative_axis', axis=-2),
    case('concat_integers', lambda F, x: F.concat((x, x)), integers(0, 9, 2, 3), dtypes='f'),
    case('copy', lambda F, x: F.copy(x, -1), normal(2, 3), normal()),
    one('depth2space', normal(2, 8, 2, 3), normal(1, 4, 1, 1), normal(0, 4, 2, 2), r=2),
    one('depth2space', normal(1, 18, 1, 2), row='depth2space_3', r=3),
    one('diagonal', normal(3, 3), normal(2, 4), normal(3, 4, 2)),
    one('diagonal', normal(3, 4), row='diagonal_above', offset=1),
    one('diagonal', normal(3, 4), row='diagonal_below', offset=-2),
    one('diagonal', normal(2, 3, 4), row='diagonal_axes', offset=1, axis1=-1, axis2=0),
    one('diagonal', normal(2, 3), row='diagonal_outside', offset=5),
    join('dstack', several(2), several(2, 3), several(3, 2, 3), [normal(2, 3, 1), normal(2, 3, 4)],
         several(2, 2, 3, 1, 2), several(1, 3)),
    one('expand_dims', normal(2, 3), normal(), axis=0),
    one('expand_dims', normal(2, 3), row='expand_dims_negative', axis=-2),
    one('flatten', normal(2, 3), normal(2, 3, 2), normal(0, 3), normal()),
    one('flip', normal(2, 3), normal(3, 2, 2), normal(2, 0), axis=1),
    one('flip', normal(2, 3), normal(2), row='flip_negative', axis=-1),
    one('fliplr', normal(2, 3), normal(2, 3, 2)),
    one('flipud', normal(2), normal(2, 3), normal(2, 3, 2)),
    case('get_item', lambda F, x: F.get_item(x, (1, slice(None, None, 2))), normal(2, 3),
         normal(2, 3, 2)),
    case('get_item_array', lambda F, x: F.get_item(x, np.array([1, 0, 1])), normal(2, 3)),
    case('get_item_ellipsis', lambda F, x: F.get_item(x, (Ellipsis, None, -1)), normal(2, 3),
         normal(2)),
    case('get_item_mask', lambda F, x: F.get_item(x, np.array([True, False])), normal(2, 3),
         opaque=True),
    join('hstack', several(2), several(2, 3), [normal(2), normal(3)], several(3, 2, 3),
         [normal(2, 1), normal(2, 4)], several(2, 2, 3, 2)),
    one('im2col', normal(2, 3, 4, 5), normal(1, 2, 3, 3), ksize=2),
    one('im2col', normal(2, 2, 4, 5), row='im2col_settings', ksize=(2, 3), stride=(1, 2),
        pad=(1, 0), cover_all=True),
    one('im2col', normal(1, 2, 5, 5), row='im2col_dilate', ksize=2, dilate=(2, 1)),
    case('moveaxis', lambda F, x: F.moveaxis(x, 0, -1), normal(2, 3), normal(2, 3, 4)),
    case('moveaxis_several', lambda F, x: F.moveaxis(x, (0, -1), (1, 0)), normal(2, 3, 4),
         normal(2, 3, 4, 2)),
    _pad('constant', 1, 'constant', variants=(normal(2, 3), normal(3), normal())),
    _pad('values', ((1, 0), (0, 2)), 'constant', constant_values=((1, 2), (3, 4))),
    _pad('pair', (1, 2), 'constant', constant_values=5),
    _pad('list', [[1, 2], [0, 0]], 'constant'),
    *MODES,
    join('pad_sequence', [normal(2), normal(3), normal(1)], [normal(2, 2), normal(0, 2)],
         several(1, 3)),
    join('pad_sequence', [normal(2), normal(3)], [normal(2, 2), normal(4, 2)],
         row='pad_sequence_length', length=5, padding=-2.5),
    _permutate('permutate', [2, 0, 1], normal(3), normal(3, 2)),
    _permutate('permutate_inverse', [2, 0, 1], normal(3), normal(3, 2), inv=True),
    _permutate('permutate_axis', [2, 0, 1], normal(2, 3), axis=1),
    _permutate('permutate_negative', [1, 2, 0], normal(2, 3), axis=-1, inv=True,
               settings=dict(record=False, why='the original takes the first axis')),
    case('permutate_input', lambda F, x, i: F.permutate(x, i), (normal(4, 2), permutation(4))),
    case('permutate_inverse_input', lambda F, x, i: F.permutate(x, i, axis=1, inv=True),
         (normal(2, 4), permutation(4))),
    one('repeat', normal(2, 3), normal(), normal(0, 3), repeats=2),
    one('repeat', normal(2, 3), row='repeat_zero', repeats=0),
    one('repeat', normal(2, 3), row='repeat_bool', repeats=(True,)),
    one('repeat', normal(2, 3), row='repeat_bools', repeats=(True, False), axis=0),
    one('repeat', normal(2, 3), row='repeat_one_bool', repeats=True, axis=1),
    one('repeat', normal(2, 3), normal(2, 3, 2), row='repeat_axis', repeats=3, axis=1),
    one('repeat', normal(2, 3), row='repeat_each', repeats=(1, 2, 0), axis=-1),
    one('repeat', normal(3, 2), row='repeat_each_first', repeats=(1, 2, 0), axis=0),
    one('repeat', normal(2, 2), row='repeat_each_flat', repeats=(1, 2, 0, 1)),
    one('reshape', normal(2, 3), normal(6), normal(3, 1, 2), shape=(3, -1)),
    _resize('resize_images', (3, 5), normal(2, 3, 2, 4), normal(1, 1, 5, 9), normal(1, 1, 1, 1)),
    _resize('resize_images_one', (1, 1), normal(1, 2, 3, 4)),
    _resize('resize_images_same', (3, 4), normal(1, 2, 3, 4)),
    _resize('resize_images_edges', (3, 5), normal(2, 3, 2, 4), normal(1, 1, 5, 9),
            align_corners=False),
    _resize('resize_images_nearest', (3, 5), normal(2, 3, 2, 4), normal(1, 1, 5, 9),
            mode='nearest', settings=dict(grads=(), why='the original gives NaN: see below')),
    _resize('resize_images_nearest_edges', (3, 5), normal(2, 3, 2, 4), normal(1, 1, 5, 9),
            mode='nearest', align_corners=False, settings=dict(grads=(), why='as above')),
    case('resize_images_nearest_gradient', lambda F, x: F.resize_images(
        x, (3, 5), mode='nearest'), normal(2, 3, 2, 4), normal(1, 1, 5, 9), record=False,
        why='gradients of the original are NaN'),
    case('resize_images_double', lambda F, x: F.resize_images(x, (3, 5)), normal(2, 3, 2, 4),
         dtypes='ed', record=False, why='the original takes float32 only'),
    one('rollaxis', normal(2, 3, 4), normal(2, 3, 4, 2), axis=2),
    one('rollaxis', normal(2, 3, 4), row='rollaxis_start', axis=0, start=3),
    one('rollaxis', normal(2, 3, 4), row='rollaxis_negative', axis=-3, start=-1),
    _scatter_add('scatter_add', 1, normal(2, 3), normal(3)),
    _scatter_add('scatter_add_place', (1, 2), normal(2, 3), normal()),
    _scatter_add('scatter_add_slice', (slice(None), slice(0, 2)), normal(2, 3), normal(2, 2)),
    _scatter_add('scatter_add_array', np.array([0, 0, 1]), normal(2, 3), normal(3, 3)),
    _scatter_add('scatter_add_lists', ([0, 0, 1], [2, 2, 0]), normal(2, 3), normal(3)),
    _scatter_add('scatter_add_ellipsis', (Ellipsis, 0), normal(2, 3), normal(2)),
    _scatter_add('scatter_add_none', None, normal(2), normal(1, 2)),
    case('scatter_add_input', lambda F, a, i, b: F.scatter_add(a, i, b),
         (normal(3, 2), integers(0, 3, 4), normal(4, 2))),
    _scatter_add('scatter_add_mask', np.array([[True, False], [True, True]]), normal(2, 2),
                 normal(3), opaque=True),
    case('select_item', lambda F, x, t: F.select_item(x, t), (normal(3, 4), integers(0, 4, 3)),
         (normal(0, 4), integers(0, 4, 0))),
    one('separate', normal(2, 3), normal(3), normal(1, 2), normal(2, 3, 2)),
    one('separate', normal(2, 3), normal(2, 3, 2), row='separate_axis', axis=1),
    one('separate', normal(2, 3), row='separate_negative', axis=-1),
    one('space2depth', normal(2, 2, 4, 6), normal(1, 1, 2, 2), r=2),
    case('spatial_transformer_grid', lambda F, x: F.spatial_transformer_grid(x, (2, 3)),
         normal(2, 2, 3), normal(1, 2, 3)),
    case('spatial_transformer_grid_point', lambda F, x: F.spatial_transformer_grid(x, (1, 1)),
         normal(2, 2, 3)),
    case('spatial_transformer_sampler', lambda F, x, g: F.spatial_transformer_sampler(x, g),
         (normal(2, 3, 4, 5), uniform(-.95, .95, 2, 2, 3, 2)),
         (normal(1, 1, 3, 3), uniform(-2, 2, 1, 2, 4, 4)),
         (normal(2, 1, 2, 2), uniform(-5, -3, 2, 2, 1, 2)), dtypes='fd',
         why='half precision: floor decides on the last bit'),
    one('split_axis', normal(2, 6), normal(2, 3, 2), indices_or_sections=3, axis=1),
    one('split_axis', normal(2, 3), row='split_axis_negative', indices_or_sections=2, axis=-2),
    one('split_axis', normal(5), normal(5, 2), row='split_axis_ends', indices_or_sections=[1, 3],
        axis=0),
    one('split_axis', normal(2, 3), row='split_axis_empty', indices_or_sections=[0, 1, 3], axis=1),
    one('split_axis', normal(2, 3), row='split_axis_array', indices_or_sections=np.array([1]),
        axis=1),
    one('split_axis', normal(2, 3), row='split_axis_no_tuple', indices_or_sections=1, axis=1,
        force_tuple=False),
    one('squeeze', normal(1, 2, 1), normal(2, 3), normal(1, 1)),
    one('squeeze', normal(1, 2, 1), row='squeeze_axis', axis=-1),
    join('stack', several(2, 2, 3), several(3, 2), several(2), several(1, 2), several(2, 0, 3)),
    join('stack', several(2, 2, 3), row='stack_last', axis=-1),
    join('stack', several(2, 2, 3), several(3, 2), row='stack_axis', axis=1),
    one('swapaxes', normal(2, 3), normal(2, 3, 4), axis1=0, axis2=-1),
    one('tile', normal(2, 3), normal(), normal(0, 3), normal(2), reps=2),
    one('tile', normal(2, 3), normal(3), row='tile_more', reps=(2, 1, 2)),
    one('tile', normal(2, 3), row='tile_fewer', reps=(3,)),
    one('tile', normal(2, 3), row='tile_zero', reps=(0, 2)),
    one('tile', normal(2, 3), row='tile_none', reps=()),
    one('transpose', normal(2, 3), normal(2, 3, 4), normal(3)),
    one('transpose', normal(2, 3, 4), row='transpose_axes', axes=(-1, 0, 1)),
    join('transpose_sequence', [normal(3), normal(2), normal(1)], several(2, 3, 2), several(1, 2),
         [normal(3, 2), normal(2, 2), normal(0, 2)]),
    join('vstack', several(2), several(2, 3), several(3, 2, 3), [normal(1, 2), normal(3, 2)],
         several(2, 2, 3, 2)),
    case('where', lambda F, x, y: F.where(np.array([[True, False, True]]), x, y),
         (normal(2, 3), normal(2, 3)), (normal(3), normal(2, 1)), (normal(), normal(1, 3)),
         (normal(0, 3), normal(0, 3))),
    case('where_input', lambda F, c, x, y: F.where(c, x, y),
         (booleans(2, 3), normal(2, 3), normal(2, 3)), (booleans(3), normal(2, 3), normal())),
    case('where_scalar', lambda F, x, y: F.where(np.array(False), x, y), (normal(), normal())),
    case('where_integers', lambda F, x, y: F.where(np.array([[True, False, True]]), x, y),
         (integers(0, 4, 2, 3), integers(0, 4, 2, 3)), dtypes='f'),
]

X = normal(2, 3)
INTS = integers(0, 4, 2, 3)
DOUBLE = normal(2, 3, dtype='d')


def _join_errors(name, *shapes, **kwargs):
    def call(F, *xs):
        return getattr(F, name)(xs, **kwargs)
    return [
        error(name + '_none', lambda F: getattr(F, name)([], **kwargs), ()),
        error(name + '_dtype', call, (X, DOUBLE)),
        error(name + '_ndim', call, (X, normal(2))),
        error(name + '_shape', call, [normal(*shape) for shape in shapes]),
    ]


def _one_errors(name, *rows):
    """Rows ``(suffix, inputs, keywords[, exception, text])``."""
    def call(kwargs):
        return lambda F, *xs: getattr(F, name)(*xs, **kwargs)
    return [error(f'{name}_{suffix}', call(kwargs), inputs, *rest)
            for suffix, inputs, kwargs, *rest in rows]


ERRORS = [
    *_join_errors('concat', (2, 3), (3, 3)),
    *_join_errors('hstack', (2, 3), (3, 3)),
    *_join_errors('vstack', (2, 3), (2, 4)),
    *_join_errors('dstack', (2, 3, 1), (2, 4, 1)),
    error('vstack_vectors', lambda F, *xs: F.vstack(xs), (normal(2), normal(3)), record=False,
          why='the original fails in NumPy'),
    error('dstack_matrices', lambda F, *xs: F.dstack(xs), (normal(2, 2), normal(2, 3))),
    error('concat_axis', lambda F, x: F.concat((x, x), axis=2), X),
    error('concat_axis_low', lambda F, x: F.concat((x, x), axis=-3), X),
    error('concat_axis_type', lambda F, x: F.concat((x, x), axis='a'), X, 'TypeError', 'axis'),
    error('stack_none', lambda F: F.stack([]), ()),
    error('stack_shape', lambda F, *xs: F.stack(xs), (X, normal(3, 3))),
    error('stack_dtype', lambda F, *xs: F.stack(xs), (X, DOUBLE)),
    error('stack_axis', lambda F, x: F.stack((x, x), axis=3), X),
    error('stack_axis_low', lambda F, x: F.stack((x, x), axis=-4), X),
    error('copy_device', lambda F, x: F.copy(x, 'foo'), X, 'RuntimeError', 'foo', record=False,
          why='the original takes it for a ChainerX device'),
    *_one_errors('depth2space', ('ndim', X, dict(r=2)), ('dtype', integers(0, 2, 1, 4, 2, 2),
                 dict(r=2)), ('channels', normal(1, 6, 2, 2), dict(r=2), 'ValueError')),
    *_one_errors('space2depth', ('ndim', X, dict(r=2)), ('dtype', integers(0, 2, 1, 4, 2, 2),
                 dict(r=2)), ('size', normal(1, 4, 3, 2), dict(r=2), 'ValueError')),
    *_one_errors('diagonal', ('ndim', normal(3), {}), ('axis', X, dict(axis2=2)),
                 ('same', X, dict(axis1=0, axis2=0), 'ValueError')),
    *_one_errors('flip', ('axis', X, dict(axis=2)), ('axis_low', X, dict(axis=-3)),
                 ('ndim', normal(), dict(axis=0)), ('type', X, dict(axis=0.), 'TypeError')),
    *_one_errors('fliplr', ('ndim', normal(3), {})),
    *_one_errors('flipud', ('ndim', normal(), {})),
    *_one_errors('im2col', ('ndim', X, dict(ksize=2)), ('dtype', integers(0, 2, 1, 1, 3, 3),
                 dict(ksize=2))),
    error('im2col_size', lambda F, x: F.im2col(x, 4), normal(1, 1, 2, 2), 'ValueError',
          record=False, why='the original asserts'),
    *_one_errors('moveaxis', ('source', X, dict(source=2, destination=0)),
                 ('number', X, dict(source=(0, 1), destination=0), 'ValueError', 'same number'),
                 ('twice', X, dict(source=(0, 0), destination=(0, 1)), 'ValueError', 'source'),
                 ('twice_to', X, dict(source=(0, 1), destination=(1, -1)), 'ValueError',
                  'destination'),
                 ('type', X, dict(source=0., destination=1), 'TypeError')),
    error('moveaxis_low', lambda F, x: F.moveaxis(x, 0, -3), X, record=False,
          why='the original says > for both ends'),
    *_one_errors('pad', ('dtype', INTS, dict(pad_width=1, mode='constant')),
                 ('mode', X, dict(pad_width=1, mode='foo'), 'ValueError', 'foo'),
                 ('negative', X, dict(pad_width=-1, mode='constant'), 'ValueError'),
                 ('widths', X, dict(pad_width=(1, 2, 3), mode='constant'), 'ValueError')),
    error('pad_sequence_none', lambda F: F.pad_sequence([]), ()),
    error('pad_sequence_length', lambda F, x: F.pad_sequence([x], 1), X),
    error('pad_sequence_shape', lambda F, *xs: F.pad_sequence(xs), (X, normal(2, 2))),
    error('pad_sequence_dtype', lambda F, *xs: F.pad_sequence(xs), (X, DOUBLE)),
    error('pad_sequence_ndim', lambda F, x: F.pad_sequence([x]), normal()),
    *_one_errors('permutate', ('axis', (X, integers(0, 1, 2)), dict(axis=2)),
                 ('axis_low', (X, integers(0, 1, 2)), dict(axis=-3)),
                 ('matrix', (X, INTS), {}, 'ValueError', 'one-dimensional'),
                 ('floats', (X, normal(2)), {}, 'ValueError', 'one-dimensional')),
    error('permutate_length', lambda F, x, i: F.permutate(x, i), (X, constant([0, 1, 0], 'i')),
          record=False, why='the original fails in NumPy'),
    error('permutate_duplicate', lambda F, x, i: F.permutate(x, i), (X, constant([1, 1], 'i')),
          'ValueError', 'duplicate value: 1', config={'debug': True}),
    error('permutate_range', lambda F, x, i: F.permutate(x, i), (X, constant([0, 2], 'i')),
          'ValueError', 'Out of bounds index: 2', config={'debug': True}),
    *_one_errors('repeat', ('negative', X, dict(repeats=-1), 'ValueError', 'zero or larger'),
                 ('number', X, dict(repeats=(1, 2), axis=1), 'ValueError'),
                 ('float', X, dict(repeats=1.5), 'TypeError', 'repeats'),
                 ('list', X, dict(repeats=[1, 2]), 'TypeError', 'repeats'),
                 ('axis', X, dict(repeats=2, axis=2), 'AxisError'),
                 ('axis_type', X, dict(repeats=2, axis=1.), 'TypeError', 'axis')),
    *_one_errors('resize_images', ('ndim', X, dict(output_shape=(2, 2)))),
    error('resize_images_dtype', lambda F, x: F.resize_images(x, (2, 2)),
          integers(0, 2, 1, 1, 2, 2), record=False, why='the original takes float32 only'),
    error('resize_images_mode', lambda F, x: F.resize_images(x, (2, 2), mode='foo'),
          normal(1, 1, 2, 2), 'ValueError', 'mode', record=False, why='the original asserts'),
    *_one_errors('rollaxis', ('axis', X, dict(axis=2)), ('axis_low', X, dict(axis=-3)),
                 ('start', X, dict(axis=0, start=3)), ('start_low', X, dict(axis=0, start=-3)),
                 ('type', X, dict(axis=0.), 'TypeError', 'axis'),
                 ('start_type', X, dict(axis=0, start=1.), 'TypeError', 'start')),
    error('scatter_add_shape', lambda F, a, b: F.scatter_add(a, 0, b), (X, normal(2)), 'ValueError',
          'does not support automatic broadcasting'),
    error('scatter_add_ndim', lambda F, a, b: F.scatter_add(a, (0, 1, 2), b), (X, normal())),
    error('scatter_add_range', lambda F, a, b: F.scatter_add(a, 5, b), (X, normal(3)),
          'IndexError'),
    *_one_errors('select_item', ('dtype', (X, normal(2)), {}),
                 ('length', (X, integers(0, 3, 3)), {}),
                 ('ndim', (normal(2, 3, 4), integers(0, 3, 2)), {}),
                 ('range', (X, constant([0, 3], 'i')), {}, 'IndexError')),
    error('select_item_debug', lambda F, x, t: F.select_item(x, t), (X, constant([0, 3], 'i')),
          'ValueError', 'Each label', config={'debug': True}),
    *_one_errors('separate', ('axis', X, dict(axis=2)), ('axis_low', X, dict(axis=-3)),
                 ('ndim', normal(), {})),
    *_one_errors('spatial_transformer_grid',
                 ('dtype', integers(0, 2, 1, 2, 3), dict(output_shape=(1, 1))),
                 ('shape', normal(1, 2, 2), dict(output_shape=(1, 1))),
                 ('cudnn', normal(1, 2, 3), dict(output_shape=(1, 1), use_cudnn=True),
                  'ValueError', 'use_cudnn'),
                 ('keyword', normal(1, 2, 3), dict(output_shape=(1, 1), foo=1), 'TypeError')),
    error('spatial_transformer_grid_ndim', lambda F, x: F.spatial_transformer_grid(x, (1, 1)),
          X, record=False, why='the original fails before its check'),
    *_one_errors('spatial_transformer_sampler',
                 ('ndim', (normal(1, 1, 2, 2), normal(1, 2, 2)), {}),
                 ('x_ndim', (normal(1, 2, 2), normal(1, 2, 2, 2)), {}),
                 ('dtype', (normal(1, 1, 2, 2), normal(1, 2, 2, 2, dtype='d')), {}),
                 ('length', (normal(1, 1, 2, 2), normal(2, 2, 2, 2)), {}),
                 ('channels', (normal(1, 1, 2, 2), normal(1, 3, 2, 2)), {}),
                 ('x_dtype', (integers(0, 2, 1, 1, 2, 2), integers(0, 2, 1, 2, 2, 2)), {})),
    *_one_errors('split_axis', ('sections', X, dict(indices_or_sections=2, axis=1)),
                 ('end', X, dict(indices_or_sections=[4], axis=1)),
                 ('axis', X, dict(indices_or_sections=[1], axis=2)),
                 ('type', X, dict(indices_or_sections=2., axis=0), 'TypeError', 'integer'),
                 ('floats', X, dict(indices_or_sections=np.array([1.]), axis=0), 'TypeError',
                  'integers')),
    *_one_errors('swapaxes', ('axis', X, dict(axis1=0, axis2=2), 'AxisError')),
    *_one_errors('tile', ('negative', X, dict(reps=-1), 'ValueError', 'zero or larger'),
                 ('float', X, dict(reps=1.5), 'TypeError', 'reps'),
                 ('text', X, dict(reps='a'), 'TypeError', 'reps')),
    error('transpose_sequence_order', lambda F, *xs: F.transpose_sequence(xs),
          (normal(2), normal(3))),
    error('transpose_sequence_shape', lambda F, *xs: F.transpose_sequence(xs),
          (normal(3), normal(2, 2))),
    error('where_condition', lambda F, c, x: F.where(c, x, x), (INTS, X), text='condition.dtype',
          record=False, why='NumPy 2 has another name for its bool'),
    error('where_dtype', lambda F, x, y: F.where(x > 0, x, y), (X, DOUBLE)),
    error('where_shape', lambda F, x, y: F.where(x > 0, x, y), (X, normal(2)), record=False,
          text='cannot broadcast', why='the original does not name the function'),
]
