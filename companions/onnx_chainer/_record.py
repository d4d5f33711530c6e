"""Which functions a model applies, to which arrays."""
import threading
from typing import NamedTuple

import numpy

import chainer
from chainer.function import FunctionAdapter


class Step(NamedTuple):
    """A function that was applied: its input and output arrays, in their order."""

    func: object
    inputs: tuple
    outputs: tuple


class Recorder(chainer.FunctionHook):
    """Notes the functions applied by this thread; methods that are compiled run define-by-run.

    Attributes:
        steps (list of Step): The functions in the order in which they were applied. The arrays
            are held, so that their identities stay theirs.
    """

    name = 'onnx_chainer.Recorder'

    def __init__(self):
        self.steps = []
        self._inside = []  # functions at work, the outermost first
        self._thread = threading.get_ident()

    def forward_preprocess(self, function, in_data):
        self._inside.append(function)
        if len(self._inside) > 1:  # a function applied by another one is a part of it
            return
        forward = function.forward

        def noting(inputs):
            outputs = forward(inputs)
            func = function.function if isinstance(function, FunctionAdapter) else function
            self.steps.append(Step(func, tuple(in_data), tuple(outputs)))
            return outputs

        function.forward = noting

    def forward_postprocess(self, function, in_data):
        self._inside.pop()
        if not self._inside:
            vars(function).pop('forward', None)


def flat(values):
    """The Variables and arrays of nested tuples, lists and dictionaries, in reading order.

    >>> from onnx_chainer._record import flat
    >>> flat({'a': [1, (2,)], 'b': 3})
    [1, 2, 3]
    """
    if isinstance(values, dict):
        values = list(values.values())
    if isinstance(values, (list, tuple)):
        return [x for value in values for x in flat(value)]
    return [values]


def mapped(values, leaf):
    """The same structure, with ``leaf(x)`` in the place of each ``x``."""
    if isinstance(values, dict):
        return {key: mapped(value, leaf) for key, value in values.items()}
    if isinstance(values, (list, tuple)):
        return type(values)([mapped(value, leaf) for value in values])
    return leaf(values)


def as_input(x):
    """The Variable that a model gets for an argument: never the same array for two of them.

    Raises:
        TypeError: ``x`` is neither a Variable nor an array.
    """
    if isinstance(x, chainer.Variable):
        return x
    if isinstance(x, numpy.ndarray):
        return chainer.Variable(x.view())
    raise TypeError(f'the arguments of a model are arrays or Variables here, not {x!r}')
