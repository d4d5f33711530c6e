"""Functions compiled by Theano."""
from chainer.functions.theano import theano_function as theano_function
