"""Module path of Chainer 7 for :mod:`chainer.links.connection.lstm`."""
from chainer.links.connection.lstm import LSTM as LSTM
from chainer.links.connection.lstm import LSTMBase as LSTMBase
from chainer.links.connection.lstm import StatelessLSTM as StatelessLSTM
