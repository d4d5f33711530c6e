"""Functions of many steps, each one node of the graph.

Their mathematics stands once, forward and backward, over operations that arrays have
(:class:`OnArrays`) and Variables (:class:`OnVariables`): it runs on arrays, and is differentiated
a second time on Variables.
"""
import chainer
from chainer import backend, configuration, function_node
from chainer import functions as F
from chainer.functions import _small
from chainer.functions.activation import sigmoid
from chainer.functions.connection import linear
from chainer.functions.math import logsumexp

_OF_STEP = 6  # small functions


class OnVariables:
    """Functions; operators, ``[]``, ``shape`` and ``ndim`` are those of Variables."""

    def __getattr__(self, name):
        return getattr(F, name)  # exp, logsumexp, relu, sigmoid, tanh

    def concat(self, values, axis):
        return values[0] if len(values) == 1 else F.concat(values, axis)

    def linear(self, x, W, b):
        return F.linear(x, W, b)

    def product(self, a, b):
        return F.matmul(a, b)

    def sum(self, x, axis):
        return F.sum(x, axis)

    def transposed(self, x):
        return F.transpose(x)

    def where_positive(self, y, g):
        return g * F.sign(y)  # of a rectified linear unit: 0 or 1

    def zeros_like(self, x):
        return x * 0


class OnArrays:
    """Array code over ``xp``."""

    def __init__(self, xp):
        self._xp, self.exp, self.tanh, self.zeros_like = xp, xp.exp, xp.tanh, xp.zeros_like

    def concat(self, values, axis):
        return values[0] if len(values) == 1 else self._xp.concatenate(values, axis)

    def linear(self, x, W, b):
        return linear.of_arrays(x, W, b)

    def logsumexp(self, x, axis):
        return logsumexp.of_array(self._xp, x, axis)

    def product(self, a, b):
        return linear._dot(a, b, a.dtype)

    def relu(self, x):
        return self._xp.maximum(x, 0)

    def sigmoid(self, x):
        return sigmoid.of_array(self._xp, x)

    def sum(self, x, axis):
        return x.sum(axis=axis)

    def transposed(self, x):
        return x.T

    def where_positive(self, y, g):
        return self._xp.where(y > 0, g, g.dtype.type(0))


class Whole(function_node.FunctionNode):
    """A function of many steps, ``lengths``; all its inputs are floating-point arrays."""

    lengths = ()

    @property
    def _n_times(self):
        return len(self.lengths)

    @property
    def _weight(self):
        return max(_OF_STEP * self._n_times, 1)

    def compute(self, ops, inputs):
        """Give the outputs, which share no memory, and what is saved: a nest of lists."""
        raise NotImplementedError

    def differentiate(self, ops, inputs, saved, grads):
        """Give the gradient of each input; ``grads`` may hold None, but not only."""
        raise NotImplementedError

    def __call__(self, *inputs):
        """Apply it, or the functions that it is made of."""
        if _small.wanted():
            return self.compute(OnVariables(), inputs)[0]
        return self.apply(inputs)

    def forward(self, inputs):
        self.retain_inputs(tuple(range(len(inputs))))
        ops = OnArrays(backend.get_array_module(inputs[0]))
        outputs, self.saved = self.compute(ops, inputs)
        return tuple(outputs)

    def backward(self, indexes, grad_outputs):
        given = [g for g in grad_outputs if g is not None]
        grads = _WholeGrad(self, grad_outputs).apply((*self.get_retained_inputs(), *given))
        return tuple([grads[k] for k in indexes])


class _WholeGrad(function_node.FunctionNode):
    """Its gradients; inputs are those of the function, and the gradients that are not None."""

    def __init__(self, function, grad_outputs):
        self.function = function
        self.present = tuple([g is not None for g in grad_outputs])

    @property
    def label(self):
        return self.function.label + 'Grad'

    def _split(self, inputs):
        n = len(inputs) - sum(self.present)
        given = iter(inputs[n:])
        return inputs[:n], [next(given) if p else None for p in self.present]

    def forward(self, inputs):
        self.retain_inputs(tuple(range(len(inputs))))
        xp = backend.get_array_module(inputs[0])
        saved = _mapped(xp.asarray, self.function.saved)
        inputs, grads = self._split(inputs)
        return tuple(self.function.differentiate(OnArrays(xp), inputs, saved, grads))

    def backward(self, indexes, grad_outputs):
        function, ops = self.function, OnVariables()
        differentiable = configuration.config.enable_backprop
        with configuration.using_config('enable_backprop', True):
            # Inputs may have been made of each other: their gradients here stop at them.
            sources = [F.identity(x) for x in self.get_retained_inputs()]
            inputs, grads = self._split(sources)
            _, saved = function.compute(ops, inputs)
            made = function.differentiate(ops, inputs, saved, grads)
        pairs = [(y, g) for y, g in zip(made, grad_outputs, strict=True) if g is not None]
        ys, gys = zip(*pairs, strict=True)
        return chainer.grad(
            ys, [sources[k] for k in indexes], gys, enable_double_backprop=differentiable)


def _mapped(function, saved):
    if isinstance(saved, (list, tuple)):
        return [_mapped(function, x) for x in saved]
    return function(saved)
