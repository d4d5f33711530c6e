"""Where Chainer 7 keeps :mod:`chainer.functions.activation.tree_lstm`."""
from chainer.functions.activation.tree_lstm import TreeLSTM, tree_lstm  # noqa: F401
