"""Module path of Chainer 7 for :mod:`chainer.links.connection.zoneoutlstm`."""
from chainer.links.connection.zoneoutlstm import StatefulZoneoutLSTM as StatefulZoneoutLSTM
