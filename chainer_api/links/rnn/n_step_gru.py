"""Module path of Chainer 7 for :mod:`chainer.links.connection.n_step_gru`."""
from chainer.links.connection.n_step_gru import NStepBiGRU as NStepBiGRU
from chainer.links.connection.n_step_gru import NStepGRU as NStepGRU
from chainer.links.connection.n_step_gru import NStepGRUBase as NStepGRUBase
