"""Spatial pooling."""
from function_case import case, constant, distinct, error, integers, normal

N = normal
HALF = {'e': (1e-2, 1e-2), 'f': (2e-5, 1e-5)}
SUMS = {'tolerance': HALF, 'why': 'windows are summed in another order'}
NAN = float('nan')
INF = float('inf')


def _indices(F, x):
    y, indices = F.max_pooling_2d(x, 3, 2, return_indices=True)
    return y, indices


def _up_and_down(F, x):
    y, indices = F.max_pooling_2d(x, 2, return_indices=True)
    return F.upsampling_2d(y, indices, 2, outsize=x.shape[2:])


# Regions in images of 8 by 10 at scale 1/2: inside, rounded, overlapping, of one pixel.
ROIS = constant([[2.1, 3.3, 12.2, 17.9], [0, 0, 15.6, 19.7], [5, 7, 5.4, 7.2], [1, 2, 9, 4]])
# Over the border, outside, turned round.
WILD_ROIS = constant([[-6, -3, 8, 30], [30, 30, 40, 50], [9, 12, 3, 4], [13.2, 1, 16, 19.9]])
INDICES = constant([1, 0, 1, 0], 'int32')
OLD_ROIS = constant([[1, 3.3, 2.1, 17.9, 12.2], [0, 0, 0, 19, 15], [1, 7, 5, 7.2, 5.4]])
WILD_OLD_ROIS = constant([[1, -3, -6, 30, 8], [0, 30, 30, 50, 40], [1, 12, 9, 4, 3]])
IMAGES = distinct(2, 3, 8, 10)
SMALL_IMAGES = distinct(2, 1, 8, 10)


def _roi_cases(name, settings, dtypes, tolerance=None):
    options = {'grads': (0,), 'dtypes': dtypes, 'tolerance': tolerance or {}}
    if tolerance:
        options['why'] = 'weighted sums in another order'
    return [
        case(f'{name}{suffix}',
             lambda F, *xs, setting=setting: getattr(F, name)(*xs, *setting),
             (IMAGES, ROIS, INDICES), **options)
        for suffix, setting in settings
    ] + [
        case(f'{name}_outside', lambda F, *xs: getattr(F, name)(*xs, *settings[-1][1]),
             (SMALL_IMAGES, WILD_ROIS, INDICES), numeric=False, **dict(
                 options, why='parts without pixels are infinite, others have kinks')),
    ]


CASES = [
    case('max_pooling_2d', lambda F, x: F.max_pooling_2d(x, 3, 2, 1),
         distinct(2, 3, 6, 7), distinct(1, 2, 4, 4), distinct(1, 1, 1, 1)),
    case('max_pooling_2d_default', lambda F, x: F.max_pooling_2d(x, 2),
         distinct(2, 3, 4, 6), distinct(2, 3, 5, 5)),
    case('max_pooling_2d_pairs',
         lambda F, x: F.max_pooling_2d(x, (2, 3), (3, 1), (1, 0), cover_all=False),
         distinct(2, 3, 6, 7)),
    case('max_pooling_2d_dense', lambda F, x: F.max_pooling_2d(x, 3, 1, 1), distinct(2, 3, 6, 7)),
    case('max_pooling_2d_large', lambda F, x: F.max_pooling_2d(x, 17, 1), distinct(1, 2, 18, 18),
         dtypes='fd'),
    case('max_pooling_2d_return_indices', _indices, distinct(2, 3, 6, 7)),
    case('max_pooling_2d_ties', lambda F, x: F.max_pooling_2d(x, 2, 1, return_indices=True),
         constant([[[[1, 1, 2], [1, 1, 2], [0, 0, 2]]]]), numeric=False, why='there are kinks'),
    case('max_pooling_2d_nan', lambda F, x: F.max_pooling_2d(x, 2, 1, return_indices=True),
         constant([[[[1, NAN, 2], [1, NAN, INF], [-INF, 0, 2]]]]),
         constant([[[[-INF, -INF, -INF], [-INF, -INF, 1]]]]), numeric=False, why='not finite'),
    case('max_pooling_1d', lambda F, x: F.max_pooling_1d(x, 3, 2, 1), distinct(2, 3, 8)),
    case('max_pooling_3d', lambda F, x: F.max_pooling_3d(x, 3, (2, 1, 2), 1),
         distinct(2, 2, 3, 4, 5)),
    case('max_pooling_nd', lambda F, x: F.max_pooling_nd(x, 3, 2, 1, return_indices=True),
         distinct(2, 3, 7), distinct(2, 3, 5, 6), distinct(1, 2, 4, 3, 5),
         distinct(1, 1, 3, 2, 3, 2)),
    case('average_pooling_2d', lambda F, x: F.average_pooling_2d(x, 3, 2, 1),
         N(2, 3, 6, 7), N(1, 2, 4, 4), N(0, 2, 4, 4), **SUMS),
    case('average_pooling_2d_default', lambda F, x: F.average_pooling_2d(x, 2),
         N(2, 3, 4, 6), N(2, 3, 5, 5), **SUMS),
    case('average_pooling_2d_all', lambda F, x: F.average_pooling_2d(x, (4, 3)), N(2, 3, 4, 3),
         **SUMS),
    case('average_pooling_2d_pairs',
         lambda F, x: F.average_pooling_2d(x, (2, 3), (1, 2), (1, 0)), N(2, 3, 6, 7), **SUMS),
    case('average_pooling_1d', lambda F, x: F.average_pooling_1d(x, 3, 2, 1), N(2, 3, 8), **SUMS),
    case('average_pooling_3d', lambda F, x: F.average_pooling_3d(x, 2, (2, 1, 2), 1),
         N(2, 2, 3, 4, 5), **SUMS),
    case('average_pooling_nd', lambda F, x: F.average_pooling_nd(x, 3, 2, 1),
         N(2, 3, 7), N(2, 3, 5, 6), N(1, 2, 4, 3, 5), **SUMS),
    case('average_pooling_nd_pad_value',
         lambda F, x: F.average_pooling_nd(x, 3, 2, 1, pad_value=None),
         N(2, 3, 7), N(2, 3, 5, 6), **SUMS),
    case('unpooling_2d', lambda F, x: F.unpooling_2d(x, 2),
         N(2, 3, 3, 4), N(1, 1, 1, 1), N(0, 3, 3, 4), **SUMS),
    case('unpooling_2d_exact', lambda F, x: F.unpooling_2d(x, (2, 3), cover_all=False),
         N(2, 3, 3, 4), **SUMS),
    case('unpooling_2d_settings', lambda F, x: F.unpooling_2d(x, 3, 2, 1), N(2, 3, 3, 4), **SUMS),
    case('unpooling_2d_outsize', lambda F, x: F.unpooling_2d(x, 2, outsize=(6, 7)),
         N(2, 3, 3, 4), **SUMS),
    case('unpooling_2d_empty', lambda F, x: F.unpooling_2d(x, 1, 1, 1), N(1, 1, 3, 2),
         N(1, 1, 2, 2), **SUMS),
    case('unpooling_nd_empty', lambda F, x: F.unpooling_nd(x, 1, 1, 1), N(1, 1, 3, 2),
         N(2, 1, 2), **SUMS),
    case('unpooling_2d_gaps', lambda F, x: F.unpooling_2d(x, 1, 2), N(2, 3, 3, 4), **SUMS),
    case('unpooling_1d', lambda F, x: F.unpooling_1d(x, 3, 2), N(2, 3, 4), **SUMS),
    case('unpooling_3d', lambda F, x: F.unpooling_3d(x, 2, outsize=(4, 4, 5)), N(2, 2, 2, 2, 3),
         **SUMS),
    case('unpooling_nd', lambda F, x: F.unpooling_nd(x, 3, 2, 1, cover_all=False),
         N(2, 3, 4), N(2, 3, 3, 2), N(1, 2, 2, 3, 2), **SUMS),
    case('upsampling_2d', _up_and_down, distinct(2, 3, 4, 6), distinct(2, 3, 5, 5)),
    case('upsampling_2d_settings',
         lambda F, x, i: F.upsampling_2d(x, i, 3, 2, 1, outsize=(5, 6)),
         (N(2, 3, 3, 4), integers(4, 5, 2, 3, 3, 4)), (N(2, 3, 3, 4), integers(0, 9, 2, 3, 3, 4))),
    case('upsampling_2d_default',
         lambda F, x, i: F.upsampling_2d(x, i, 2), (N(2, 3, 3, 4), integers(0, 4, 2, 3, 3, 4))),
    case('spatial_pyramid_pooling_2d',
         lambda F, x: F.spatial_pyramid_pooling_2d(x, 3, pooling='max'),
         distinct(2, 2, 8, 9), distinct(1, 2, 4, 4)),
    case('roi_pooling_2d', lambda F, x, rois: F.roi_pooling_2d(x, rois, 3, 4, .5),
         (IMAGES, OLD_ROIS), grads=(0,)),
    case('roi_pooling_2d_outside', lambda F, x, rois: F.roi_pooling_2d(x, rois, 3, 4, .5),
         (SMALL_IMAGES, WILD_OLD_ROIS), grads=(0,), record=False,
         why='the original fails in backward (IndexError)'),
    case('roi_pooling_2d_outside_forward',
         lambda F, x, rois: F.roi_pooling_2d(x, rois, 3, 4, .5),
         (SMALL_IMAGES, WILD_OLD_ROIS), grads=()),
] + _roi_cases(
    'roi_max_pooling_2d', [('', ((3, 4), .5)), ('_square', (2, .5))], 'efd',
) + _roi_cases(
    'roi_average_pooling_2d', [('', ((3, 4), .5)), ('_square', (2, .5))], 'efd', HALF,
) + _roi_cases(
    'roi_max_align_2d',
    [('', ((3, 4), .5)), ('_ratio', ((3, 2), .5, 2)), ('_ratios', (2, .5, (None, 3)))], 'f',
    {'f': (1e-4, 1e-5)},
) + _roi_cases(
    'roi_average_align_2d',
    [('', ((3, 4), .5)), ('_ratio', ((3, 2), .5, 2)), ('_ratios', (2, .5, (None, 3)))], 'f',
    {'f': (1e-4, 1e-5)},
) + [
    case(f'{name}_other_dtypes',
         lambda F, *xs, name=name: getattr(F, name)(*xs, (3, 4), .5, 2),
         (IMAGES, ROIS, INDICES), grads=(0,), dtypes='ed', record=False,
         why='the original takes single precision only')
    for name in ('roi_max_align_2d', 'roi_average_align_2d')
]

INT = integers(0, 5, 2, 3, 4, 4)
max2 = lambda F, x, *rest: F.max_pooling_2d(x, 2, *rest)  # noqa: E731
NEW = {'record': False, 'why': 'the name of the function differs'}
CLEARER = {'record': False, 'why': 'the original fails with AssertionError'}
ROI_NAMES = [
    ('roi_max_pooling_2d', 'ROIMaxPooling2D'), ('roi_average_pooling_2d', 'ROIAveragePooling2D'),
    ('roi_max_align_2d', 'ROIMaxAlign2D'), ('roi_average_align_2d', 'ROIAverageAlign2D')]


def _roi_errors(name, label):
    def call(F, *xs, settings=(3, .5)):
        return getattr(F, name)(*xs, *settings)

    aligns = 'align' in name
    other = {'record': not aligns,
             'why': 'the original takes single precision only' if aligns else ''}
    index = {'record': False, 'why': 'the original takes 32-bit integers only'}
    good = (IMAGES, ROIS, INDICES)
    rows = [
        error(name + '_dtype', call, (integers(0, 3, 2, 3, 8, 10), ROIS, INDICES), text=label,
              **other),
        error(name + '_ndim', call, (N(3, 8, 10), ROIS, INDICES)),
        error(name + '_rois_dtype', call,
              (IMAGES, constant([[0, 0, 1, 1]] * 4, 'd'), INDICES), text=label, **other),
        error(name + '_rois_shape', call, (IMAGES, OLD_ROIS, INDICES)),
        error(name + '_indices_dtype', call, (IMAGES, ROIS, constant([0, 1, 0, 1])), text=label,
              **index),
        error(name + '_indices_length', call, (IMAGES, ROIS, constant([0, 1], 'int32'))),
    ]
    for suffix, settings, text in [
            ('outsize', (3., .5), 'outsize[0] must be positive integer'),
            ('outsize_zero', ((2, 0), .5), 'outsize[1] must be positive integer'),
            ('scale', (3, 'a'), 'spatial_scale must be a positive float number'),
            ('scale_negative', (3, -1.), 'spatial_scale must be a positive float number')]:
        rows.append(error(
            f'{name}_{suffix}', lambda F, *xs, s=settings: call(F, *xs, settings=s), good,
            'TypeError', text))
    if aligns:
        rows.append(error(
            name + '_sampling_ratio', lambda F, *xs: call(F, *xs, settings=(3, .5, 0)), good,
            'TypeError', 'sampling_ratio must be integer >= 1 or a pair of it: (0, 0)'))
    return rows


ERRORS = [
    error('max_pooling_2d_dtype', max2, INT, text='MaxPooling2D', **NEW),
    error('max_pooling_2d_empty', max2, N(0, 3, 4, 4), text='MaxPooling2D', **NEW),
    error('max_pooling_2d_ndim', max2, N(3, 4, 4), 'ValueError', 'should be 2'),
    error('max_pooling_2d_size', lambda F, x: F.max_pooling_2d(x, 5, cover_all=False),
          N(2, 3, 4, 4), 'ValueError', 'smaller than windows', **CLEARER),
    error('max_pooling_2d_ksize', lambda F, x: F.max_pooling_2d(x, (1, 2, 3)),
          N(2, 3, 4, 4), 'ValueError', 'one for each axis', **CLEARER),
    error('max_pooling_2d_stride', lambda F, x: F.max_pooling_2d(x, 2, 0),
          N(2, 3, 4, 4), 'ValueError', 'must be positive', record=False,
          why='the original fails with ZeroDivisionError'),
    error('max_pooling_1d_ndim', lambda F, x: F.max_pooling_1d(x, 2), N(2, 3, 4, 4),
          'ValueError', 'should be 1'),
    error('max_pooling_3d_ndim', lambda F, x: F.max_pooling_3d(x, 2), N(2, 3, 4, 4),
          'ValueError', 'should be 3'),
    error('max_pooling_nd_dtype', lambda F, x: F.max_pooling_nd(x, 2), INT),
    error('max_pooling_nd_empty', lambda F, x: F.max_pooling_nd(x, 2), N(0, 3, 4)),
    error('max_pooling_nd_no_axis', lambda F, x: F.max_pooling_nd(x, 2), N(2, 3), 'ValueError',
          'at least one spatial dimension'),
    error('average_pooling_2d_dtype', lambda F, x: F.average_pooling_2d(x, 2), INT),
    error('average_pooling_2d_ndim', lambda F, x: F.average_pooling_2d(x, 2), N(3, 4, 4)),
    error('average_pooling_2d_size', lambda F, x: F.average_pooling_2d(x, 5), N(2, 3, 4, 4),
          'ValueError', 'smaller than windows', **CLEARER),
    error('average_pooling_1d_ndim', lambda F, x: F.average_pooling_1d(x, 2), N(2, 3, 4, 4),
          'ValueError', 'should be 1'),
    error('average_pooling_3d_ndim', lambda F, x: F.average_pooling_3d(x, 2), N(2, 3, 4, 4),
          'ValueError', 'should be 3'),
    error('average_pooling_nd_pad_value',
          lambda F, x: F.average_pooling_nd(x, 2, pad_value=1), N(2, 3, 4), 'ValueError',
          'pad_value must be either 0 or None'),
    error('unpooling_2d_dtype', lambda F, x: F.unpooling_2d(x, 2), INT),
    error('unpooling_2d_ndim', lambda F, x: F.unpooling_2d(x, 2), N(3, 4, 4)),
    error('unpooling_2d_outsize', lambda F, x: F.unpooling_2d(x, 3, 2, outsize=(9, 9)),
          N(2, 3, 3, 3)),
    error('unpooling_2d_outsize_width', lambda F, x: F.unpooling_2d(x, 3, 2, outsize=(7, 8)),
          N(2, 3, 3, 3)),
    error('unpooling_2d_pad', lambda F, x: F.unpooling_2d(x, 2, pad=3), N(2, 3, 2, 2),
          'ValueError', 'smaller than pad', record=False, why='the original fails otherwise'),
    error('unpooling_nd_dtype', lambda F, x: F.unpooling_nd(x, 2), INT),
    error('unpooling_nd_outsize', lambda F, x: F.unpooling_nd(x, 3, 2, outsize=(9, 9)),
          N(2, 3, 3, 3)),
    error('unpooling_1d_ndim', lambda F, x: F.unpooling_1d(x, 2), N(2, 3, 4, 4),
          'ValueError', 'should be 1'),
    error('unpooling_3d_ndim', lambda F, x: F.unpooling_3d(x, 2), N(2, 3, 4, 4),
          'ValueError', 'should be 3'),
    error('upsampling_2d_indices', lambda F, x, i: F.upsampling_2d(x, i, 2),
          (N(2, 3, 3, 3), integers(0, 4, 2, 3, 3, 2))),
    error('upsampling_2d_outsize', lambda F, x, i: F.upsampling_2d(x, i, 2, outsize=(9, 9)),
          (N(2, 3, 3, 3), integers(0, 4, 2, 3, 3, 3))),
    error('upsampling_2d_dtype', lambda F, x, i: F.upsampling_2d(x, i, 2),
          (INT, integers(0, 4, 2, 3, 4, 4))),
    error('upsampling_2d_ndim', lambda F, x, i: F.upsampling_2d(x, i, 2),
          (N(3, 3, 3), integers(0, 4, 3, 3, 3))),
    error('spatial_pyramid_pooling_2d_pooling',
          lambda F, x: F.spatial_pyramid_pooling_2d(x, 3, pooling='avg'), N(2, 3, 9, 8),
          'ValueError', 'Unsupported pooling operation'),
    error('spatial_pyramid_pooling_2d_no_pooling',
          lambda F, x: F.spatial_pyramid_pooling_2d(x, 3), N(2, 3, 9, 8),
          'ValueError', 'Unsupported pooling operation'),
    error('roi_pooling_2d_dtype', lambda F, *xs: F.roi_pooling_2d(*xs, 3, 4, .5),
          (integers(0, 3, 2, 3, 8, 10), OLD_ROIS)),
    error('roi_pooling_2d_ndim', lambda F, *xs: F.roi_pooling_2d(*xs, 3, 4, .5),
          (N(3, 8, 10), OLD_ROIS)),
    error('roi_pooling_2d_rois_dtype', lambda F, *xs: F.roi_pooling_2d(*xs, 3, 4, .5),
          (IMAGES, constant([[0] * 5], 'd'))),
    error('roi_pooling_2d_rois_shape', lambda F, *xs: F.roi_pooling_2d(*xs, 3, 4, .5),
          (IMAGES, ROIS)),
    error('roi_pooling_2d_outsize', lambda F, *xs: F.roi_pooling_2d(*xs, 3., 4, .5),
          (IMAGES, OLD_ROIS), 'TypeError'),
] + [row for name, label in ROI_NAMES for row in _roi_errors(name, label)]
