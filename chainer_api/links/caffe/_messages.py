"""The messages of Caffe's model files as classes of the package protobuf.

Reading does without that package; those who write such files want the classes. They have the fields
of ``_model_file``, nothing more.
"""
import functools
import re
import types

from chainer.links.caffe import _model_file

_PACKAGE = 'chainwright.caffe'
_NAMES = {
    'Net': 'NetParameter', 'Layer': 'LayerParameter', 'V1Layer': 'V1LayerParameter',
    'Blob': 'BlobProto', 'Shape': 'BlobShape'}
_V1_NAMES = {
    'ReLU': 'RELU', 'TanH': 'TANH', 'AbsVal': 'ABSVAL', 'ArgMax': 'ARGMAX',
    'SoftmaxWithLoss': 'SOFTMAX_LOSS'}
_ENUMS = {
    'pool': 'PoolMethod', 'norm_region': 'NormRegion', 'operation': 'EltwiseOp',
    'type': 'LayerType', 'engine': 'Engine'}


def v1_name(name):
    """The name that a type of layers has in old files."""
    return _V1_NAMES.get(name) or re.sub('([a-z0-9])([A-Z])', r'\1_\2', name).upper()


@functools.cache
def classes():
    """A namespace with the classes, by the names that they have in Caffe.

    Raises:
        ImportError: The package protobuf is not installed.
    """
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError as error:
        raise ImportError(
            'the messages of Caffe need protobuf: pip install protobuf. (Model files are read '
            'without it.)') from error
    file = descriptor_pb2.FileDescriptorProto(
        name='chainwright_caffe.proto', package=_PACKAGE, syntax='proto2')
    for kind, fields in _model_file._MESSAGES.items():
        message = file.message_type.add(name=_full_name(kind))
        for number, (name, field_kind, extra) in fields.items():
            _add_field(message, number, name, field_kind, extra)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    names = [message.name for message in file.message_type]
    return types.SimpleNamespace(**{
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f'{_PACKAGE}.{name}'))
        for name in names})


def _full_name(kind):
    return _NAMES.get(kind, kind + 'Parameter')


def _add_field(message, number, name, kind, extra):
    from google.protobuf import descriptor_pb2

    proto = descriptor_pb2.FieldDescriptorProto
    field = message.field.add(name=name, number=number)
    repeated = kind in _model_file._REPEATED
    field.label = proto.LABEL_REPEATED if repeated else proto.LABEL_OPTIONAL
    if kind in ('message', 'messages'):
        field.type = proto.TYPE_MESSAGE
        field.type_name = f'.{_PACKAGE}.{_full_name(extra)}'
    elif kind == 'enum':
        field.type = proto.TYPE_ENUM
        field.type_name = f'.{_PACKAGE}.{message.name}.{_ENUMS[name]}'
        field.default_value = _add_enum(message, name, extra)
    else:
        field.type = {
            'int': proto.TYPE_INT64, 'ints': proto.TYPE_INT64, 'bool': proto.TYPE_BOOL,
            'float': proto.TYPE_FLOAT, 'string': proto.TYPE_STRING, 'strings': proto.TYPE_STRING,
            'floats': proto.TYPE_DOUBLE if extra == '<f8' else proto.TYPE_FLOAT}[kind]
        if not repeated and extra is not None:
            field.default_value = str(extra).lower() if kind == 'bool' else str(extra)


def _add_enum(message, name, values):
    enum = message.enum_type.add(name=_ENUMS[name])
    default = _model_file._ENUM_DEFAULTS.get(name)
    if isinstance(values, dict):
        values = {number: v1_name(value) for number, value in values.items()}
        default = v1_name(default)
    else:
        values = dict(enumerate(values))
    for number, value in values.items():
        enum.value.add(name=value, number=number)
    return default or values[0]
