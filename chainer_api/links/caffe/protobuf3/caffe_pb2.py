"""The classes of Caffe's messages that this package reads: ``caffe_pb2.NetParameter()``.

Importing this module needs the package protobuf.
"""
from chainer.links.caffe import _messages

globals().update(vars(_messages.classes()))
