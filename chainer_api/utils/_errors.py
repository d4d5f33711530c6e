"""Errors that are two things at once: what says more, and what Chainer raises."""
from chainer.utils import type_check


class AssertedValueError(ValueError, AssertionError):
    """A wrong argument, where Chainer has an assertion."""


class NothingLeftError(AssertedValueError, RuntimeError):
    """Nothing is left of a deconvolution: an ``AssertionError`` of Chainer's ``deconvolution_nd``
    and a ``RuntimeError`` of its ``deconvolution_2d``."""


class ZeroSectionsError(ValueError, ZeroDivisionError):
    """An array is to be split into no sections: Chainer divides by their number."""


class WrongIndexError(ValueError, IndexError):
    """An index that no array has, whatever its shape."""


class NoParameterError(AttributeError, KeyError):
    """A link lacks a parameter that another one has: a ``KeyError`` in Chainer."""

    __str__ = Exception.__str__  # that of KeyError is the repr of the message


class NoFolderError(OSError, RuntimeError):
    """A folder cannot be made: a ``RuntimeError`` in Chainer's data sets."""


class SequencesError(type_check.InvalidType, ValueError, IndexError):
    """Arrays that do not fit each other in ``n_step_lstm`` and its kin: one of the three in
    Chainer, whichever line meets them first.

    Args:
        expect (str): What was expected.
        actual (str): What was found.
        msg (str): The whole message.
    """


class NotAnArray(TypeError):
    """What was given is no array, and no Variable."""


def check_arrays(function, **arguments):
    """Raise unless arguments are arrays or Variables, for functions that look at them first.

    Args:
        function (str): How messages call the function.
        arguments: The arguments by their names.
    """
    for name, value in arguments.items():
        # A Variable without data has no dtype, but its class has.
        if not hasattr(type(value), 'dtype') and not hasattr(value, 'dtype'):
            hint = '' if value is None else '; convert it with numpy.asarray'
            raise NotAnArray(
                f'{name} of {function} must be a Variable or an array, not {type(value)}{hint}')


def check_lists(function, **arguments):
    """:func:`check_arrays` of the elements of lists."""
    for name, values in arguments.items():
        check_arrays(function, **{f'{name}[{i}]': value for i, value in enumerate(values)})
