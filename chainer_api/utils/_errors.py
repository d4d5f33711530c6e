"""Errors that are two things at once: what says more, and what Chainer raises."""


class AssertedValueError(ValueError, AssertionError):
    """A wrong argument, where Chainer has an assertion."""


class NothingLeftError(AssertedValueError, RuntimeError):
    """Nothing is left of a deconvolution: an ``AssertionError`` of Chainer's ``deconvolution_nd``
    and a ``RuntimeError`` of its ``deconvolution_2d``."""
