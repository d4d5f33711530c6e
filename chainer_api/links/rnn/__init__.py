"""Recurrent links, under the paths that they have in Chainer 7."""
from chainer.links.rnn import gru as gru
from chainer.links.rnn import lstm as lstm
from chainer.links.rnn import mgu as mgu
from chainer.links.rnn import n_step_gru as n_step_gru
from chainer.links.rnn import n_step_lstm as n_step_lstm
from chainer.links.rnn import n_step_rnn as n_step_rnn
from chainer.links.rnn import peephole as peephole
from chainer.links.rnn import tree_lstm as tree_lstm
from chainer.links.rnn import zoneoutlstm as zoneoutlstm
