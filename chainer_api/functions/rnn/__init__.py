"""Recurrent functions, under the paths that they have in Chainer 7."""
from chainer.functions.rnn import lstm as lstm
from chainer.functions.rnn import n_step_gru as n_step_gru
from chainer.functions.rnn import n_step_lstm as n_step_lstm
from chainer.functions.rnn import n_step_rnn as n_step_rnn
from chainer.functions.rnn import slstm as slstm
from chainer.functions.rnn import tree_lstm as tree_lstm
