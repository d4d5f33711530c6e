"""The messages of Caffe's model files, where Chainer has them: :mod:`.caffe_pb2`."""
