"""Module path of Chainer 7 for :mod:`chainer.links.connection.gru`."""
from chainer.links.connection.gru import GRU as GRU
from chainer.links.connection.gru import GRUBase as GRUBase
from chainer.links.connection.gru import StatefulGRU as StatefulGRU
from chainer.links.connection.gru import StatelessGRU as StatelessGRU
