"""Squared difference: the name that :mod:`chainer.functions.loss.squared_error` had here."""
from chainer.functions.loss.squared_error import SquaredError as SquaredDifference
from chainer.functions.loss.squared_error import squared_difference

__all__ = ['SquaredDifference', 'squared_difference']
