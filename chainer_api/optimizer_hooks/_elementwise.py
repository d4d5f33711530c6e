"""Base class of hooks that compute each number of a gradient on its own."""
import chainer


class ElementwiseHook:
    """Hook for each parameter whose gradient becomes a function of itself and the parameter.

    A child class implements ``_numbers(scale)``, a tuple of numbers where the gradient is
    multiplied by ``scale``, and the static method ``_changed(xp, array, grad, numbers)``, the new
    gradient. The same lines run on arrays and are recorded for native code.
    """

    call_for_each_param = True
    timing = 'pre'

    def _numbers(self, scale):
        raise NotImplementedError(f'{type(self).__name__} does not implement _numbers')

    @staticmethod
    def _changed(xp, array, grad, numbers):
        raise NotImplementedError('a hook does not implement _changed')

    def __call__(self, rule, param):
        p, g = param.array, param.grad
        if p is None or g is None:
            return
        xp = chainer.backend.get_array_module(p)
        scale = 1 if param._loss_scale is None else param._loss_scale
        with chainer.using_device(param.device):
            changed = self._changed(xp, p, g, self._numbers(scale))
            param.grad = chainer.utils.force_array(changed, g.dtype)
