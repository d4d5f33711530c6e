"""Reading the model files of Caffe.

They are protocol buffers of the message ``NetParameter``. What a model needs of this message
stands in ``_MESSAGES``; everything else in a file is skipped. In goes the content of a file, out
come plain objects (:class:`Message`) whose attributes are the fields.
"""
import math
import struct

import numpy

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

_POOL_METHODS = ('MAX', 'AVE', 'STOCHASTIC')
_NORM_REGIONS = ('ACROSS_CHANNELS', 'WITHIN_CHANNEL')
_OPERATIONS = ('PROD', 'SUM', 'MAX')
_ENGINES = ('DEFAULT', 'CAFFE', 'CUDNN')

# Layer types of old files, by the names that new files have.
_V1_TYPES = {
    0: 'None', 1: 'Accuracy', 2: 'BNLL', 3: 'Concat', 4: 'Convolution', 5: 'Data', 6: 'Dropout',
    7: 'EuclideanLoss', 8: 'Flatten', 9: 'HDF5Data', 10: 'HDF5Output', 11: 'Im2col',
    12: 'ImageData', 13: 'InfogainLoss', 14: 'InnerProduct', 15: 'LRN',
    16: 'MultinomialLogisticLoss', 17: 'Pooling', 18: 'ReLU', 19: 'Sigmoid', 20: 'Softmax',
    21: 'SoftmaxWithLoss', 22: 'Split', 23: 'TanH', 24: 'WindowData', 25: 'Eltwise',
    26: 'Power', 27: 'SigmoidCrossEntropyLoss', 28: 'HingeLoss', 29: 'MemoryData', 30: 'ArgMax',
    31: 'Threshold', 32: 'DummyData', 33: 'Slice', 34: 'MVN', 35: 'AbsVal', 36: 'Silence',
    37: 'ContrastiveLoss', 38: 'Exp', 39: 'Deconvolution'}

# Fields by their numbers: name, kind, and default or, for enumerations, names of the values. The
# kinds 'ints', 'floats', 'strings' and 'messages' are repeated.
_PARAMETERS = {
    'concat_param': 'Concat', 'convolution_param': 'Convolution', 'dropout_param': 'Dropout',
    'inner_product_param': 'InnerProduct', 'lrn_param': 'LRN', 'pooling_param': 'Pooling',
    'relu_param': 'ReLU', 'softmax_param': 'Softmax', 'eltwise_param': 'Eltwise',
    'slice_param': 'Slice', 'reshape_param': 'Reshape', 'batch_norm_param': 'BatchNorm',
    'scale_param': 'Scale'}


def _parameters(**numbers):
    return {number: (name, 'message', _PARAMETERS[name]) for name, number in numbers.items()}


_MESSAGES = {
    'Net': {
        1: ('name', 'string', ''), 2: ('layers', 'messages', 'V1Layer'),
        100: ('layer', 'messages', 'Layer')},
    'Layer': {
        1: ('name', 'string', ''), 2: ('type', 'string', ''), 3: ('bottom', 'strings', None),
        4: ('top', 'strings', None), 7: ('blobs', 'messages', 'Blob'),
        **_parameters(
            concat_param=104, convolution_param=106, dropout_param=108, inner_product_param=117,
            lrn_param=118, pooling_param=121, relu_param=123, softmax_param=125,
            eltwise_param=110, slice_param=126, reshape_param=133, batch_norm_param=139,
            scale_param=142)},
    'V1Layer': {
        2: ('bottom', 'strings', None), 3: ('top', 'strings', None), 4: ('name', 'string', ''),
        5: ('type', 'enum', _V1_TYPES), 6: ('blobs', 'messages', 'Blob'),
        **_parameters(
            concat_param=9, convolution_param=10, dropout_param=12, inner_product_param=17,
            lrn_param=18, pooling_param=19, relu_param=30, softmax_param=39, eltwise_param=24,
            slice_param=31)},
    'Blob': {
        1: ('num', 'int', 0), 2: ('channels', 'int', 0), 3: ('height', 'int', 0),
        4: ('width', 'int', 0), 5: ('data', 'floats', '<f4'), 7: ('shape', 'message', 'Shape'),
        8: ('double_data', 'floats', '<f8')},
    'Shape': {1: ('dim', 'ints', None)},
    'Concat': {1: ('concat_dim', 'int', 1), 2: ('axis', 'int', 1)},
    'Convolution': {
        1: ('num_output', 'int', 0), 2: ('bias_term', 'bool', True), 3: ('pad', 'ints', None),
        4: ('kernel_size', 'ints', None), 5: ('group', 'int', 1), 6: ('stride', 'ints', None),
        9: ('pad_h', 'int', None), 10: ('pad_w', 'int', None), 11: ('kernel_h', 'int', None),
        12: ('kernel_w', 'int', None), 13: ('stride_h', 'int', None),
        14: ('stride_w', 'int', None), 18: ('dilation', 'ints', None)},
    'Dropout': {1: ('dropout_ratio', 'float', .5)},
    'InnerProduct': {
        1: ('num_output', 'int', 0), 2: ('bias_term', 'bool', True), 5: ('axis', 'int', 1)},
    'LRN': {
        1: ('local_size', 'int', 5), 2: ('alpha', 'float', 1.), 3: ('beta', 'float', .75),
        4: ('norm_region', 'enum', _NORM_REGIONS), 5: ('k', 'float', 1.)},
    'Pooling': {
        1: ('pool', 'enum', _POOL_METHODS), 2: ('kernel_size', 'int', None),
        3: ('stride', 'int', None), 4: ('pad', 'int', None), 5: ('kernel_h', 'int', None),
        6: ('kernel_w', 'int', None), 7: ('stride_h', 'int', None),
        8: ('stride_w', 'int', None), 9: ('pad_h', 'int', None), 10: ('pad_w', 'int', None),
        12: ('global_pooling', 'bool', False)},
    'ReLU': {1: ('negative_slope', 'float', 0.)},
    'Softmax': {1: ('engine', 'enum', _ENGINES), 2: ('axis', 'int', 1)},
    'Eltwise': {1: ('operation', 'enum', _OPERATIONS), 2: ('coeff', 'floats', '<f4')},
    'Slice': {
        1: ('slice_dim', 'int', 1), 2: ('slice_point', 'ints', None), 3: ('axis', 'int', 1)},
    'Reshape': {1: ('shape', 'message', 'Shape')},
    'BatchNorm': {
        1: ('use_global_stats', 'bool', False), 2: ('moving_average_fraction', 'float', .999),
        3: ('eps', 'float', 1e-5)},
    'Scale': {1: ('axis', 'int', 1), 4: ('bias_term', 'bool', False)},
}
# The first name of an enumeration is its default, but for this one.
_ENUM_DEFAULTS = {'operation': 'SUM', 'type': 'None'}
# How the values of each kind may be written; numbers that are repeated also one by one.
_WIRE_TYPES = {
    'messages': (_BYTES,), 'message': (_BYTES,), 'strings': (_BYTES,), 'string': (_BYTES,),
    'floats': (_BYTES, _FIXED32, _FIXED64), 'ints': (_BYTES, _VARINT), 'float': (_FIXED32,),
    'enum': (_VARINT,), 'bool': (_VARINT,), 'int': (_VARINT,)}
_REPEATED = ('ints', 'floats', 'strings', 'messages')


class Message:
    """Fields of a message as attributes; ``given`` is the set of the names that a file has."""


def read(path):
    """Reads a file.

    Args:
        path (str): Model file of Caffe.

    Returns:
        list of Message: The layers. Those of old files have the form of new ones, too.

    Raises:
        ValueError: The file is no model file.
    """
    with open(path, 'rb') as file:
        content = file.read()
    try:
        net = _parse(memoryview(content), 'Net')
    except (IndexError, UnicodeDecodeError, ValueError, struct.error) as e:
        raise ValueError(f'{path} is no model file of Caffe (caffemodel): {e}') from e
    return list(net.layer) or list(net.layers)


def array(blob):
    """Returns the numbers of a blob, of its shape, in single precision.

    Raises:
        ValueError: The shape is none, or not that of so many numbers.
    """
    data = blob.data if len(blob.data) else blob.double_data
    if 'shape' in blob.given:
        shape = tuple(blob.shape.dim)
    else:
        shape = (blob.num, blob.channels, blob.height, blob.width)
    if min(shape, default=0) < 0 or math.prod(shape) != data.size:
        raise ValueError(f'a blob of {data.size} numbers cannot have the shape {shape}')
    return data.astype(numpy.float32).reshape(shape)


def _parse(data, kind):
    fields = _MESSAGES[kind]
    message = Message()
    message.given = set()
    for name, field_kind, default in fields.values():
        if field_kind in _REPEATED:
            value = []
        elif field_kind == 'message':
            value = None
        elif field_kind == 'enum':
            value = _ENUM_DEFAULTS.get(name, default[0])
        else:
            value = default
        setattr(message, name, value)

    for number, wire_type, value in _fields(data):
        if number in fields:
            _set(message, *fields[number], wire_type, value)
    for name, field_kind, default in fields.values():
        value = getattr(message, name)
        if field_kind == 'message' and value is None:
            setattr(message, name, _parse(b'', default))
        elif field_kind == 'floats':
            setattr(message, name, numpy.concatenate([numpy.zeros(0, default), *value]))
    return message


def _set(message, name, kind, extra, wire_type, value):
    if wire_type not in _WIRE_TYPES[kind]:
        raise ValueError(f'the field {name} is written in another way')
    message.given.add(name)
    if kind == 'messages':
        getattr(message, name).append(_parse(value, extra))
    elif kind == 'message':
        setattr(message, name, _parse(value, extra))
    elif kind == 'strings':
        getattr(message, name).append(bytes(value).decode())
    elif kind == 'string':
        setattr(message, name, bytes(value).decode())
    elif kind == 'floats':
        getattr(message, name).append(numpy.frombuffer(value, extra))
    elif kind == 'ints':
        getattr(message, name).extend(_varints(value) if wire_type == _BYTES else [value])
    elif kind == 'float':
        setattr(message, name, struct.unpack('<f', value)[0])
    elif kind == 'enum':
        setattr(message, name, _enumerated(name, extra, value))
    elif kind == 'bool':
        setattr(message, name, bool(value))
    else:
        setattr(message, name, value)


def _enumerated(name, names, value):
    if value not in (names if isinstance(names, dict) else range(len(names))):
        raise ValueError(f'the field {name} has no value {value}')
    return names[value]


def _fields(data):
    """Pairs of a field number and its value: an integer, or the bytes of anything else."""
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        wire_type = key & 7
        if wire_type == _VARINT:
            value, position = _varint(data, position)
        else:
            if wire_type == _BYTES:
                size, position = _varint(data, position)
            elif wire_type in (_FIXED32, _FIXED64):
                size = 4 if wire_type == _FIXED32 else 8
            else:
                raise ValueError(f'unknown wire type {wire_type}')
            if position + size > len(data):
                raise ValueError('it ends in the middle of a field')
            value = data[position:position + size]
            position += size
        yield key >> 3, wire_type, value


def _varint(data, position):
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            # Negative numbers are written as unsigned ones of 64 bits.
            return (value - (1 << 64) if value >> 63 else value), position
        shift += 7


def _varints(data):
    position = 0
    while position < len(data):
        value, position = _varint(data, position)
        yield value
