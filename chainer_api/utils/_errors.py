"""Errors that are two things at once: what says more, and what Chainer raises."""
from chainer.utils import type_check


class AssertedValueError(ValueError, AssertionError):
    """A wrong argument, where Chainer has an assertion."""


class NothingLeftError(AssertedValueError, RuntimeError):
    """Nothing is left of a deconvolution: an ``AssertionError`` of Chainer's ``deconvolution_nd``
    and a ``RuntimeError`` of its ``deconvolution_2d``."""


class ZeroSectionsError(ValueError, ZeroDivisionError):
    """An array is to be split into no sections: Chainer divides by their number."""


class SequencesError(type_check.InvalidType, ValueError, IndexError):
    """Arrays that do not fit each other in ``n_step_lstm`` and its kin: one of the three in
    Chainer, whichever line meets them first.

    Args:
        expect (str): What was expected.
        actual (str): What was found.
        msg (str): The whole message.
    """
