"""Calling a function without keeping its intermediate results."""
import numpy

import chainer
from chainer import _backprop, configuration, function_node, variable
from chainer.functions.util import _recompute


class Forget(function_node.FunctionNode):
    """A function that is called again for backward (see :func:`forget`)."""

    opaque = 'it calls a function of the user, again in backward'

    def __init__(self, func):
        if not callable(func):
            raise TypeError('func must be callable')
        self.func = func
        self._memory = _recompute.Memory()

    def forward(self, inputs):
        self.retain_inputs(tuple(range(len(inputs))))
        before = _generator_state()
        with chainer.no_backprop_mode(), self._memory.first_call():
            ys = _call(self.func, [variable.Variable(x) for x in inputs])
        if _generator_state() != before:
            self._draws_in_backward = function_node.FunctionNode._some_draw_in_backward = True
        return tuple(y.array for y in ys)

    def backward(self, indexes, grad_outputs):
        if configuration.config.enable_backprop:
            raise RuntimeError('double backpropagation in functions.forget is not allowed.')
        xs = [variable.Variable(x.array) for x in self.get_retained_inputs()]
        # Links with statistics see that they have counted this batch already.
        with (chainer.force_backprop_mode(), chainer.using_config('in_recomputing', True),
              self._memory.repeated_call()):
            ys = _call(self.func, xs)
        pairs = [(y, gy) for y, gy in zip(ys, grad_outputs, strict=True) if gy is not None]
        # Parameters that func uses get their gradients here, too.
        _backprop.backward([y for y, _ in pairs], [gy for _, gy in pairs])
        return tuple(x.grad_var for x in xs)


def _generator_state():
    _, key, *rest = numpy.random.get_state()
    return key.tobytes(), *rest


def _call(func, xs):
    ys = func(*xs)
    if isinstance(ys, tuple):
        for i, y in enumerate(ys):
            if not isinstance(y, variable.Variable):
                n = {1: '1st', 2: '2nd', 3: '3rd'}.get(i + 1, f'{i + 1}th')
                raise RuntimeError(
                    f'{n} element of a returned tuple is not Variable, but is {type(y)}')
        return ys
    if isinstance(ys, variable.Variable):
        return ys,
    raise RuntimeError(
        f'A tuple of Variables or a Variable are expected, but {type(ys)} is returned.')


def forget(func, *xs):
    """Call a function without keeping its intermediate results for backward.

    Backward calls the function again, to compute them anew: this saves memory and costs time. In
    a static graph ``func`` is called between two programs.

    Args:
        func (callable): takes and returns Variables (one, or a tuple). It gives the same
            results when it is called twice: no dropout, for example.
        xs (Variables or arrays): its arguments.

    Returns:
        Variable or tuple of Variables: what ``func`` returns. Differentiable once.

    Raises:
        TypeError: if ``func`` cannot be called.
        RuntimeError: if ``func`` returns something else.

    >>> x = chainer.Variable(np.array([1., 2.]))
    >>> F.forget(lambda x: (x + 1) * x, x).array
    array([2., 6.])
    """
    function = Forget(func)
    xs = [chainer.as_variable(x) for x in xs]
    ys = function.apply(xs)
    return ys[0] if len(ys) == 1 else ys
