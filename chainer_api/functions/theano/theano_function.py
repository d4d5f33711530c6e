"""Functions compiled by Theano."""
from chainer import function
from chainer.backends import cuda


class TheanoFunction(function.Function):
    """A pair of compiled functions (see :func:`theano_function`)."""

    def __init__(self, forward_func, backward_func):
        self.forward_func = forward_func
        self.backward_func = backward_func

    def forward(self, inputs):
        return _call(self.forward_func, inputs)

    def backward(self, inputs, grad_outputs):
        gxs = _call(self.backward_func, inputs + grad_outputs)
        # An input that is no number has no gradient.
        return tuple(
            gx.astype(x.dtype, copy=False) if x.dtype.kind == 'f' else None
            for x, gx in zip(inputs, gxs, strict=True))


def _call(func, arrays):
    """Call ``func`` with arrays on the host; its results go to where the arrays were."""
    on_gpu = isinstance(arrays[0], cuda.ndarray)
    ys = func(*[cuda.to_cpu(a) for a in arrays])
    ys = ys if isinstance(ys, (tuple, list)) else (ys,)
    return tuple(cuda.to_gpu(y) for y in ys) if on_gpu else tuple(ys)


def theano_function(forward_func, backward_func, *inputs):
    """Apply a pair of functions compiled by Theano.

    Args:
        forward_func (callable): takes arrays and returns an array or a list of arrays.
        backward_func (callable): takes the same arrays and the gradients of the outputs, and
            returns the gradients of the inputs.
        inputs (Variables or arrays): the inputs.

    Returns:
        Variable or tuple of Variables: the outputs.

    .. seealso:: :class:`chainer.links.TheanoFunction`
    """
    return TheanoFunction(forward_func, backward_func)(*inputs)
