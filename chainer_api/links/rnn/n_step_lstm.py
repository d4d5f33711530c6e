"""Module path of Chainer 7 for :mod:`chainer.links.connection.n_step_lstm`."""
from chainer.links.connection.n_step_lstm import NStepBiLSTM as NStepBiLSTM
from chainer.links.connection.n_step_lstm import NStepLSTM as NStepLSTM
from chainer.links.connection.n_step_lstm import NStepLSTMBase as NStepLSTMBase
