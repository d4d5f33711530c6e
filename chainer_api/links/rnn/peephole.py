"""Module path of Chainer 7 for :mod:`chainer.links.connection.peephole`."""
from chainer.links.connection.peephole import StatefulPeepholeLSTM as StatefulPeepholeLSTM
