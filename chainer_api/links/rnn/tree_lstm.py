"""Module path of Chainer 7 for :mod:`chainer.links.connection.tree_lstm`."""
from chainer.links.connection.tree_lstm import ChildSumTreeLSTM as ChildSumTreeLSTM
from chainer.links.connection.tree_lstm import NaryTreeLSTM as NaryTreeLSTM
