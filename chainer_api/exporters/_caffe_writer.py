"""Layers as the two files of Caffe: ``prototxt`` (text) and ``caffemodel`` (protocol buffers).

In go :class:`Layer` objects, out come strings and bytes. The numbers and kinds of the fields are
those by which :mod:`chainer.links.caffe` reads.
"""
import dataclasses
import struct

import numpy

from chainer.links.caffe import _model_file


@dataclasses.dataclass(frozen=True)
class Layer:
    """A layer of Caffe.

    Attributes:
        type (str): Its type.
        name (str): Its name, and that of its output.
        bottoms (list of str): Names of its inputs.
        group (str): Name of the field of its settings.
        settings (dict): The settings; tuples repeat a field, dictionaries are messages.
        blobs (tuple of arrays): Its parameters.
    """

    type: str
    name: str
    bottoms: list
    group: str = ''
    settings: dict = dataclasses.field(default_factory=dict)
    blobs: tuple = ()


def prototxt(name, input_shape, layers):
    """Returns the text of a network whose input is called ``data``."""
    dims = ' '.join(f'dim: {n}' for n in input_shape)
    lines = [
        f'name: {_quoted(name)}',
        'layer {',
        '  name: "data"',
        '  type: "Input"',
        '  top: "data"',
        f'  input_param {{ shape: {{ {dims} }} }}',
        '}',
    ]
    for layer in layers:
        fields = {
            'type': layer.type, 'name': layer.name, 'bottom': tuple(layer.bottoms),
            'top': layer.name}
        if layer.settings:
            fields[layer.group] = layer.settings
        lines += ['layer {', *_text(fields, '  '), '}']
    return '\n'.join(lines) + '\n'


def _text(fields, indent):
    for name, value in fields.items():
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, dict):
                yield f'{indent}{name} {{'
                yield from _text(item, indent + '  ')
                yield f'{indent}}}'
            else:
                yield f'{indent}{name}: {_scalar(item)}'


def _scalar(value):
    if isinstance(value, str):
        return _quoted(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _quoted(text):
    escaped = text.replace('\\', '\\\\').replace('"', '\\"').replace('\n', '\\n')
    return f'"{escaped}"'


def caffemodel(name, layers):
    """Returns the bytes of a network with its parameters."""
    return _message('Net', {'name': name, 'layer': tuple(
        {'name': layer.name, 'type': layer.type, 'bottom': tuple(layer.bottoms),
         'top': (layer.name,),
         'blobs': tuple({'shape': {'dim': blob.shape}, 'data': blob} for blob in layer.blobs),
         **({layer.group: layer.settings} if layer.settings else {})}
        for layer in layers)})


def _message(kind, fields):
    known = {name: (number, kind, extra)
             for number, (name, kind, extra) in _model_file._MESSAGES[kind].items()}
    return b''.join(_field(*known[name], value) for name, value in fields.items())


def _field(number, kind, extra, value):
    if kind in ('messages', 'strings'):
        return b''.join(_field(number, kind[:-1], extra, item) for item in value)
    if kind in ('int', 'enum', 'bool'):
        return _varint(number << 3) + _varint(int(value))
    if kind == 'float':
        return _varint(number << 3 | 5) + struct.pack('<f', value)
    if kind == 'message':
        content = _message(extra, value)
    elif kind == 'string':
        content = value.encode()
    elif kind == 'ints':
        content = b''.join(map(_varint, value))
    else:
        content = numpy.ascontiguousarray(value, extra).tobytes()
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value):
    value = int(value) & (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
