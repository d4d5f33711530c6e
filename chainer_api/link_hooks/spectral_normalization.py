"""Spectral normalization."""
import numpy

from chainer import backend, configuration, function_node, initializers
from chainer import functions as F
from chainer.link_hooks import _weight_hook
from chainer.utils import type_check


class SpectralNormalization(_weight_hook.WeightHook):
    r"""Link hook that divides the weight by an estimate of its largest singular value.

    The link computes with :math:`W / \sigma(W)`, the parameter itself is trained. The estimate
    comes from a power iteration with a vector that is kept in the link, as a persistent value, from
    one call to the next; it does not change where ``chainer.config.train`` is ``False``.

    The weight counts as a matrix whose rows belong to the output channels.

    Reference: Miyato et al., `Spectral Normalization for Generative Adversarial Networks
    <https://arxiv.org/abs/1802.05957>`_.

    Args:
        n_power_iteration (int): Number of power iterations in each call.
        eps (float): Small value for numerical stability.
        use_gamma (bool): Whether to multiply by a parameter ``gamma``, which starts as the largest
            singular value.
        factor (float): Constant factor. ``None`` for none.
        weight_name (str): Name of the parameter.
        name (str): Name of the hook; needed for two of these hooks on one link.

    Attributes:
        vector_name (str): Name of the persistent value, ``weight_name + '_u'``.

    Raises:
        ValueError: ``n_power_iteration`` is not positive; or the hook is added to a link without
            such a parameter.
        NotImplementedError: When it is used in a ``with`` statement.

    Example:
        >>> import numpy as np, chainer
        >>> class Weight(chainer.Link):
        ...     def forward(self):
        ...         return self.W
        >>> link = Weight(W=(2, 2))
        >>> link.W.array[...] = [[4, 0], [0, 1]]
        >>> hook = chainer.link_hooks.SpectralNormalization(n_power_iteration=20)
        >>> link.add_hook(hook)().array.round(3)
        array([[1.  , 0.  ],
               [0.  , 0.25]], dtype=float32)
    """

    name = 'SpectralNormalization'

    def __init__(self, n_power_iteration=1, eps=1e-6, use_gamma=False, factor=None,
                 weight_name='W', name=None):
        if n_power_iteration < 1:
            raise ValueError(
                f'n_power_iteration must be positive. Actual: {n_power_iteration}')
        super().__init__(weight_name, name)
        self.n_power_iteration = n_power_iteration
        self.eps = eps
        self.use_gamma = use_gamma
        self.factor = factor
        self.vector_name = weight_name + '_u'
        self.axis = 0

    def added(self, link):
        super().added(link)
        self.axis = _output_axis(link)
        if getattr(link, self.weight_name).array is not None:
            self._add_state(link)

    def deleted(self, link):
        super().deleted(link)
        if hasattr(link, self.vector_name):
            delattr(link, self.vector_name)
            if self.use_gamma:
                del link.gamma

    def _add_state(self, link):
        weight = getattr(link, self.weight_name).array
        if weight.size == 0:
            raise ValueError(
                f'Expect {self.weight_name}.shape[{self.axis}] > 0, and no other axis without '
                f'elements: {self.weight_name} has the shape {weight.shape}')
        xp = backend.get_array_module(weight)
        u = xp.random.normal(size=weight.shape[self.axis]).astype(weight.dtype)
        link.add_persistent(self.vector_name, u)
        if self.use_gamma:
            matrix = self.reshape_W(getattr(link, self.weight_name)).array
            singular_values = xp.linalg.svd(matrix.astype(numpy.float64), compute_uv=False)
            largest = initializers.Constant(float(singular_values[0]), weight.dtype)
            link.add_param('gamma', (), initializer=largest)

    def reshape_W(self, W):
        """Return the weight as a matrix whose rows belong to the output channels."""
        if self.axis != 0:
            W = F.moveaxis(W, self.axis, 0)
        if W.ndim == 2:
            return W
        return F.reshape(W, (W.shape[0], -1))

    def normalize_weight(self, link):
        if not hasattr(link, self.vector_name):
            self._add_state(link)
        weight = getattr(link, self.weight_name)
        update = configuration.config.train and not configuration.config.in_recomputing
        estimate = _LargestSingularValue(
            getattr(link, self.vector_name), self.n_power_iteration, self.eps, update)
        sigma, = estimate.apply((self.reshape_W(weight),))
        self.v = estimate.v
        if self.factor is not None:
            sigma = sigma / self.factor
        if self.use_gamma:
            sigma = sigma / link.gamma
        return weight / F.broadcast_to(sigma, weight.shape)


def _output_axis(link):
    from chainer import links

    transposed = (
        links.Deconvolution1D, links.Deconvolution2D, links.Deconvolution3D, links.DeconvolutionND)
    return 1 if isinstance(link, transposed) else 0


class _LargestSingularValue(function_node.FunctionNode):
    """Estimate of the largest singular value of a matrix.

    Its gradient takes the singular vectors for constants, as it is at the true value.
    """

    opaque = 'its singular vector is wanted'

    def __init__(self, u, n_power_iteration, eps, update):
        self.state = u
        self.n_power_iteration = n_power_iteration
        self.eps = eps
        self.update = update

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('W',))
        type_check.expect(in_types[0].dtype.kind == 'f', in_types[0].ndim == 2)

    def forward(self, inputs):
        w, = inputs
        xp = backend.get_array_module(w)
        state = xp.asarray(self.state)
        u = state
        for _ in range(self.n_power_iteration):
            v = self._normalize(xp, xp.dot(u, w))
            u = self._normalize(xp, xp.dot(w, v))
        if self.update:
            state[...] = u
        self.u = u
        self.v = v
        return xp.asarray(xp.dot(xp.dot(u, w), v)),

    def _normalize(self, xp, vector):
        return vector / (xp.sqrt(xp.sum(vector * vector)) + self.eps)

    def backward(self, indexes, grad_outputs):
        gsigma, = grad_outputs
        outer = self.u[:, None] * self.v[None, :]
        return F.broadcast_to(gsigma, outer.shape) * outer,
