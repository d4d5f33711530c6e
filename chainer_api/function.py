"""Old-style functions, which differentiate on arrays, and the backprop modes."""
import copy
import weakref

from chainer import _backprop, configuration, function_node, variable
from chainer.backends import cuda
from chainer.function_hook import FunctionHook as FunctionHook  # where Chainer 1 had it


class _BackpropMode:
    """Context manager that sets ``enable_backprop`` (and what it is given) for the thread."""

    __slots__ = ('_value', '_contexts')

    def __init__(self, value):
        self._value = value
        self._contexts = []

    def __enter__(self):
        context = configuration.using_config('enable_backprop', self._value)
        context.__enter__()
        self._contexts.append(context)

    def __exit__(self, exc_type, exc_value, traceback):
        self._contexts.pop().__exit__(exc_type, exc_value, traceback)


def no_backprop_mode():
    """Return a context manager in which no graph is made.

    Functions compute their outputs, but keep nothing for backward.

    .. doctest::

        >>> x = chainer.Variable(np.ones(3))
        >>> with chainer.no_backprop_mode():
        ...     y = x + 1
        >>> y.creator is None
        True
    """
    return _BackpropMode(False)


def force_backprop_mode():
    """Return a context manager in which graphs are made, also inside :func:`no_backprop_mode`.

    .. doctest::

        >>> x = chainer.Variable(np.ones(3))
        >>> with chainer.no_backprop_mode():
        ...     with chainer.force_backprop_mode():
        ...         y = x + 1
        >>> y.creator is None
        False
    """
    return _BackpropMode(True)


class FunctionAdapter(function_node.FunctionNode):
    """Node of the graph for an old-style function.

    The :class:`Function` owns the adapter until it is applied; then the adapter, as part of the
    graph, owns the function, which refers to it weakly.

    Args:
        function (Function): The function.
    """

    _function = None
    _weak_function = None

    def __init__(self, function):
        self._weak_function = weakref.ref(function)
        function._owned_node = self

    @property
    def function(self):
        """The :class:`Function`."""
        function = self._function
        return self._weak_function() if function is None else function

    def _copied(self):
        made = super()._copied()
        made._function = function = copy.copy(self.function)
        made._weak_function = None
        function._node, function._owned_node = weakref.ref(made), None
        return made

    @property
    def label(self):
        """Short text that names the function."""
        return self.function.label

    @property
    def _impl_name(self):
        return type(self.function).__name__

    def check_type_forward(self, in_types):
        self.function.check_type_forward(in_types)

    def forward(self, inputs):
        # A Function keeps all inputs unless it says otherwise.
        self.retain_inputs(range(len(inputs)))
        return self.function.forward(inputs)

    def backward(self, target_input_indexes, grad_outputs):
        retained = self._input_indexes_to_retain or ()
        inputs = self.inputs
        in_data = [None] * len(inputs)
        for i in retained:
            in_data[i] = inputs[i]._data
        in_data = tuple(in_data)
        gy_data = tuple([None if gy is None else gy._array for gy in grad_outputs])
        gxs = self.function.backward(in_data, gy_data)
        try:
            gxs = [gxs[i] for i in range(len(gxs))]
        except (TypeError, KeyError):
            raise TypeError(
                f'backward of {self._impl_name} must return a sequence of arrays, also for a '
                f'single input (`return gx,`), not {type(gxs)}') from None
        for x in gxs:
            if x is not None and not isinstance(x, (function_node._ndarray, cuda.ndarray)):
                raise TypeError(
                    f'backward of {self._impl_name} must return arrays or None, not {type(x)}')
        if len(gxs) <= max(target_input_indexes):
            raise ValueError(
                f'number of gradients returned from backward is incorrect: {len(gxs)} != expected '
                f'{len(inputs)}; backward of {self._impl_name} must return one for each input')
        result = []
        for i in target_input_indexes:
            gx = gxs[i]
            if gx is not None:
                gx = _backprop.checked(self, i, variable.Variable(gx))
                gx._node._old_style_grad_generator = self._impl_name
            result.append(gx)
        return tuple(result)


class Function:
    """Old-style function, whose :meth:`backward` works on arrays.

    Its gradients cannot be differentiated: derive new functions from
    :class:`~chainer.FunctionNode`. A subclass implements :meth:`forward` and :meth:`backward` (or
    the ``_cpu`` and ``_gpu`` forms of them), and is called with variables or arrays.

    .. doctest::

        >>> class Square(chainer.Function):
        ...     def forward(self, inputs):
        ...         x, = inputs
        ...         return x * x,
        ...     def backward(self, inputs, grad_outputs):
        ...         x, = inputs
        ...         gy, = grad_outputs
        ...         return 2 * x * gy,
        >>> x = chainer.Variable(np.array([3.0]))
        >>> y = Square()(x)
        >>> y.backward()
        >>> x.grad
        array([6.])
    """

    _node = None  # weak reference to the adapter, once it is applied
    _owned_node = None  # the adapter, before

    def __call__(self, *inputs):
        """Apply the function.

        Args:
            inputs: Variables or arrays.

        Returns:
            Variable or tuple of Variable: One output, or all of them.
        """
        node = self.node
        # From here on the graph owns the function, through its node.
        node._function = self
        node._weak_function = None
        self._node = weakref.ref(node)
        self._owned_node = None

        outputs = node.apply(inputs)
        if len(outputs) == 1:
            return outputs[0]
        return outputs

    @property
    def inputs(self):
        """Tuple of the input nodes."""
        return self.node.inputs

    @property
    def outputs(self):
        """Tuple of weak references to the output nodes."""
        return self.node.outputs

    @property
    def node(self):
        """:class:`FunctionAdapter` of the function; made if there is none (any more)."""
        node = self._owned_node
        if node is not None:
            return node
        node = self._node
        if node is not None:
            node = node()
            if node is not None:
                return node
        return FunctionAdapter(self)

    @property
    def local_function_hooks(self):
        """Ordered dictionary of the hooks registered to this function, by name."""
        return self.node.local_function_hooks

    @property
    def label(self):
        """Short text that names the function: by default, that of its class."""
        return type(self).__name__

    @property
    def output_data(self):
        """Tuple of the retained output arrays, ``None`` where an output is not retained."""
        return self.node.output_data

    @property
    def rank(self):
        """Number of functions on the longest way from a leaf to this function."""
        return self.node.rank

    @property
    def stack(self):
        """Stack at the time of the application (in debug mode, otherwise ``None``)."""
        return self.node.stack

    def check_type_forward(self, in_types):
        """Check dtypes and shapes of the inputs before :meth:`forward`.

        Args:
            in_types (~chainer.utils.type_check.TypeInfoTuple): One description an input; see
                :mod:`chainer.utils.type_check`.
        """

    def forward(self, inputs):
        """Compute output arrays from input arrays.

        By default it calls :meth:`forward_gpu` if there is a CuPy array among them, else
        :meth:`forward_cpu`.

        Args:
            inputs (tuple of arrays): The inputs.

        Returns:
            tuple of arrays: The outputs; a tuple even if there is one only.
        """
        if any([isinstance(x, cuda.ndarray) for x in inputs]):
            return self.forward_gpu(inputs)
        return self.forward_cpu(inputs)

    def forward_cpu(self, inputs):
        """Compute output arrays from NumPy arrays (see :meth:`forward`)."""
        raise NotImplementedError(
            f'{type(self).__name__} implements neither forward nor forward_cpu')

    def forward_gpu(self, inputs):
        """Compute output arrays from CuPy arrays (see :meth:`forward`)."""
        raise NotImplementedError(
            f'{type(self).__name__} implements neither forward nor forward_gpu')

    def backward(self, inputs, grad_outputs):
        """Compute gradient arrays of inputs from those of outputs.

        By default it calls :meth:`backward_gpu` if there is a CuPy array among them, else
        :meth:`backward_cpu`.

        Args:
            inputs (tuple of arrays): The inputs, ``None`` where not retained.
            grad_outputs (tuple of arrays): Gradients of the outputs, ``None`` where an output has
                none.

        Returns:
            tuple of arrays: One gradient an input, ``None`` where there is none.
        """
        if any([isinstance(x, cuda.ndarray) for x in inputs + grad_outputs]):
            return self.backward_gpu(inputs, grad_outputs)
        return self.backward_cpu(inputs, grad_outputs)

    def backward_cpu(self, inputs, grad_outputs):
        """Compute gradients on the CPU (see :meth:`backward`); by default there are none."""
        return (None,) * len(inputs)

    def backward_gpu(self, inputs, grad_outputs):
        """Compute gradients on a GPU (see :meth:`backward`); by default there are none."""
        return (None,) * len(inputs)

    def retain_inputs(self, indexes):
        """Keep only some input arrays for backward; to be called in :meth:`forward`.

        Args:
            indexes (iterable of int): Which ones. By default all are kept.
        """
        self.node.retain_inputs(indexes)

    def retain_outputs(self, indexes, retain_after_backward=False):
        """Keep output arrays for backward (see :attr:`output_data`); to be called in
        :meth:`forward`.

        Args:
            indexes (iterable of int): Which ones. By default none is kept.
            retain_after_backward: Not used.
        """
        self.node.retain_outputs(indexes)

    def unchain(self):
        """Cut the function out of the graph."""
        self.node.unchain()

    def add_hook(self, hook, name=None):
        """Register a hook for this function only (see :meth:`FunctionNode.add_hook`)."""
        self.node.add_hook(hook, name=name)

    def delete_hook(self, name):
        """Take off a hook of this function.

        Args:
            name (str): Its name.
        """
        self.node.delete_hook(name)


