"""Module path of Chainer 7 for :mod:`chainer.links.connection.n_step_rnn`."""
from chainer.links.connection.n_step_rnn import NStepBiRNNReLU as NStepBiRNNReLU
from chainer.links.connection.n_step_rnn import NStepBiRNNTanh as NStepBiRNNTanh
from chainer.links.connection.n_step_rnn import NStepRNNBase as NStepRNNBase
from chainer.links.connection.n_step_rnn import NStepRNNReLU as NStepRNNReLU
from chainer.links.connection.n_step_rnn import NStepRNNTanh as NStepRNNTanh
from chainer.links.connection.n_step_rnn import argsort_list_descent as argsort_list_descent
from chainer.links.connection.n_step_rnn import permutate_list as permutate_list
