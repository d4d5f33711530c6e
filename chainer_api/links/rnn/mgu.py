"""Module path of Chainer 7 for :mod:`chainer.links.connection.mgu`."""
from chainer.links.connection.mgu import MGUBase as MGUBase
from chainer.links.connection.mgu import StatefulMGU as StatefulMGU
from chainer.links.connection.mgu import StatelessMGU as StatelessMGU
