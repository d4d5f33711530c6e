"""Nodes of the computational graph that compute, and :func:`chainer.grad`."""
import collections
import copy
import itertools
import sys
import traceback
import weakref
from threading import get_ident as _get_ident

import numpy

import chainer
from chainer import _tracing, configuration, function_hook, variable
from chainer.backends import _chainerx, cuda
from chainer.utils import type_check

_Variable = variable.Variable
_make_output = variable._make_output
_make_plain = variable._make_plain
_ndarray = numpy.ndarray
_ref = weakref.ref
_local_entries = configuration.local_entries
_global_entries = configuration.global_entries
_trace_state = _tracing.state
_Promise = _tracing.Promise
_hook_state = function_hook._thread_local
_check_types = type_check.check_forward
next_number = itertools.count(1).__next__
#: The weight of convolution, pooling, normalization and softmax, as measured over 72 models.
_SEVERAL = 4


class _MissingData(ValueError, AttributeError, TypeError):
    """A function that needs all inputs got ``None``. Chainer gives the error that comes of it."""


class FunctionNode:
    """A differentiable function applied once: a node of the computational graph.

    To define a function, derive from this class and implement :meth:`forward` (or
    :meth:`forward_cpu` and :meth:`forward_gpu`), which gets and returns arrays, and
    :meth:`backward`, which gets and returns variables: its steps are functions again, so that
    gradients can be differentiated.

    :meth:`apply` runs :meth:`forward` and, unless ``chainer.config.enable_backprop`` is off,
    links the node to its inputs and outputs. A node is to be applied once.

    Attributes:
        inputs: Tuple of the :class:`~chainer.variable.VariableNode` of the inputs.
        outputs: Tuple of weak references to those of the outputs.
        rank (int): Number of functions on the longest way from a leaf to this node.
        stack: Stack at the time of the application (in debug mode, otherwise ``None``).

    .. doctest::

        >>> class Square(chainer.FunctionNode):
        ...     def forward(self, inputs):
        ...         x, = inputs
        ...         self.retain_inputs((0,))
        ...         return x * x,
        ...     def backward(self, indexes, grad_outputs):
        ...         x, = self.get_retained_inputs()
        ...         gy, = grad_outputs
        ...         return 2 * x * gy,
        >>> x = chainer.Variable(np.array([1.0, 3.0]))
        >>> y, = Square().apply((x,))
        >>> gx, = chainer.grad([y], [x])
        >>> gx
        variable([2., 6.])
    """

    inputs = None
    outputs = None
    rank = 0
    number = 0  # of its application: counts up
    stack = None
    #: Part of the interface; ``chainer.config.lazy_grad_sum`` decides how gradients are added.
    lazy_grad_sum = False
    is_elementwise = False
    #: Part of the interface: without arrays of ChainerX there is no such device.
    chainerx_device = None
    _is_chainerx_fallback_mode = False

    #: Whether a compiler may run :meth:`forward` on recording arrays (see the documentation of
    #: :func:`chainer.static_graph`).
    _supports_static_optimizations = False
    #: Why the function cannot be recorded, if it cannot: one line.
    opaque = None
    #: Whether this is a program of a compiled method, which stands for several functions.
    _is_piece = False
    #: Is told when gradients through the function are to be differentiated themselves.
    _static_account = None
    _layouts = None  # of inputs and outputs, of those that know of layouts

    _input_indexes_to_retain = None
    _output_indexes_to_retain = None
    _retained_output_data = None
    _local_function_hooks = None

    @property
    def local_function_hooks(self):
        """Ordered dictionary of the hooks registered to this function, by name."""
        if self._local_function_hooks is None:
            self._local_function_hooks = collections.OrderedDict()
        return self._local_function_hooks

    @property
    def label(self):
        """Short text that names the function: by default, that of its class."""
        return self._impl_name

    @property
    def output_data(self):
        """Tuple of the retained output arrays, ``None`` where an output is not retained.

        :meth:`get_retained_outputs` returns variables.
        """
        if self._retained_output_data is None:
            raise RuntimeError('the outputs have not been retained, or the graph is unchained')
        return self._retained_output_data

    @property
    def _impl_name(self):
        return type(self).__name__

    def __call__(self, *args, **kwargs):
        raise RuntimeError(
            f'{type(self).__name__} is not called, but applied to a tuple of inputs: '
            f'{type(self).__name__}().apply((x,)), which returns a tuple of outputs')

    def apply(self, inputs) -> tuple[variable.Variable, ...]:
        """Compute the outputs and grow the graph.

        Args:
            inputs (tuple): :class:`~chainer.Variable` objects or arrays. Arrays are inputs that
                require no gradient; so is ``None``, for functions that know what to do with it.

        Returns:
            tuple of Variable: The outputs.

        Raises:
            ~chainer.utils.type_check.InvalidType: If :meth:`check_type_forward` refuses the
                inputs.
            RuntimeError: In debug mode, if an output contains NaN.
        """
        run = _trace_state.run
        if run is not None:
            if type(inputs) is not tuple and type(inputs) is not list:
                inputs = tuple(inputs)  # a Variable, or a generator: that may apply others
            if run.busy or run.computes and run.computes == _get_ident():
                return run.in_the_middle(self, inputs)  # a signal handler's, in the middle of that
            run.busy = True
            if run.halted:
                run.wait()
            try:
                outputs = run.step(run, self, inputs)
                return run.other(self, inputs) if outputs is None else outputs
            finally:
                run.busy = False
        return self._apply(inputs)

    def _apply(self, inputs):
        """Do what :meth:`apply` says, at once."""
        input_vars = []
        in_data = []
        requires_grad = False
        on_cpu = True
        for x in inputs:
            if not isinstance(x, _Variable):
                try:
                    x = _Variable(x, requires_grad=False)
                except variable.NotAnArray as error:
                    raise self._refusal(error, inputs, len(input_vars)) from None
            elif x._requires_grad:
                requires_grad = True
            input_vars.append(x)
            array = x._array
            if type(array) is not _ndarray:
                if type(array) is _Promise:  # of a compiled method that runs in another thread
                    _tracing.look(x, 'another thread')
                    array = x._array
                on_cpu = on_cpu and type(array) is _ndarray
            in_data.append(array)
        in_data = tuple(in_data)

        # Settings and thread-local state, without the detour through chainer.config.
        local = _local_entries.__dict__
        debug = local['debug'] if 'debug' in local else _global_entries['debug']
        if debug:
            self.stack = traceback.extract_stack(sys._getframe(2))
        if not on_cpu:
            self._check_arrays(in_data)
        if (local['type_check'] if 'type_check' in local else _global_entries['type_check']) and (
                type(self).check_type_forward is not _no_type_check
                or 'check_type_forward' in self.__dict__):
            try:
                _check_types(self, in_data)
            except Exception as error:
                self._tell_missing(in_data, error)
                raise

        hooks = _hook_state.function_hooks
        if hooks or self._local_function_hooks:
            hooks = self._all_hooks(hooks)
            for hook in hooks:
                hook.forward_preprocess(self, in_data)
        else:
            hooks = None
        if self.inputs is not None:  # applied a second time
            self._input_indexes_to_retain = self._output_indexes_to_retain = None

        device = None
        if not on_cpu:
            device = cuda.get_device_from_array(*in_data)
            device.__enter__()
        try:
            trace = _trace_state.trace
            outputs = self.forward(in_data) if trace is None else trace.apply_function(
                self, in_data)
        except Exception as error:
            if not on_cpu:
                self._tell_missing(in_data, error)
            raise
        finally:
            if device is not None:
                device.__exit__(None, None, None)

        if type(outputs) is not tuple:
            raise TypeError(
                f'forward output must be a tuple, also for a single array (`return y,`): forward '
                f'of {self.label} returned {type(outputs)}')
        if hooks is not None:
            for hook in hooks:
                hook.forward_postprocess(self, in_data)
        if debug:
            check_nan(self, outputs, 'forward')

        try:
            if local['enable_backprop'] if 'enable_backprop' in local else (
                    _global_entries['enable_backprop']):
                return self._connect(input_vars, outputs, requires_grad)
            return tuple([_make_plain(y, requires_grad) for y in outputs])
        except variable.NotAnArray:
            kinds = ', '.join([type(y).__name__ for y in outputs])
            raise TypeError(
                f'forward output must be a tuple of ndarrays: forward of {self.label} returned '
                f'({kinds}); chainer.utils.force_array makes arrays of NumPy scalars') from None

    def _has_given(self, inputs, outputs):
        """Check the inputs and grow the graph, where :meth:`forward` has given arrays already."""
        input_vars = [
            x if isinstance(x, _Variable) else _Variable(x, requires_grad=False) for x in inputs]
        requires_grad = any([x._requires_grad for x in input_vars])
        if configuration.config.type_check and (
                type(self).check_type_forward is not _no_type_check):
            _check_types(self, tuple([x._array for x in input_vars]))
        if configuration.config.enable_backprop:
            return self._connect(input_vars, outputs, requires_grad)
        return tuple([_make_plain(y, requires_grad) for y in outputs])

    def _refusal(self, error, inputs, i):
        """What is raised for the ``i``-th input, which is no array."""
        which = f'input {i + 1} of {len(inputs)}' if len(inputs) > 1 else 'the input'
        return variable.NotAnArray(f'{which} of {self.label} cannot be used: {error}')

    def _connect(self, input_vars, outputs, requires_grad):
        """Return the variables of ``outputs``, linked to the inputs through this node, and keep
        what forward asked to retain."""
        rank = 0
        input_nodes = []
        for x in input_vars:
            node = x._node
            if node._rank > rank:
                rank = node._rank
            input_nodes.append(node)
        self.inputs = tuple(input_nodes)
        self.number = next_number()
        self.rank = rank
        rank += 1
        output_vars = []
        output_nodes = []
        for y in outputs:
            y = _make_output(y, requires_grad)
            node = y._node
            node._creator_node = self
            node._rank = rank
            output_vars.append(y)
            output_nodes.append(_ref(node))
        self.outputs = tuple(output_nodes)

        indexes = self._input_indexes_to_retain
        if indexes is not None:
            for i in indexes:
                input_nodes[i]._data = input_vars[i]._array
        indexes = self._output_indexes_to_retain
        if indexes is not None:
            retained = [None] * len(output_vars)
            for i in indexes:
                output_vars[i]._node._data = retained[i] = outputs[i]
            self._retained_output_data = tuple(retained)
        return tuple(output_vars)

    def _all_hooks(self, thread_hooks):
        hooks = dict(thread_hooks or ())
        hooks.update(self._local_function_hooks or ())
        return tuple(hooks.values())

    def _check_arrays(self, in_data):
        if not type_check.same_types(*[x for x in in_data if x is not None]):
            kinds = ', '.join([str(type(x)) for x in in_data])
            raise TypeError(
                f'the inputs of {self.label} mix arrays of different kinds: {kinds}; bring them '
                'to one device (to_gpu, to_cpu, to_device)')

    def _tell_missing(self, in_data, error):
        """Say that an input is ``None``, if that may be the reason of an error."""
        if isinstance(error, (AttributeError, TypeError, type_check.InvalidType)) and any(
                [x is None for x in in_data]):
            raise _MissingData(
                f'an input of {self.label} has no data: it is None (in backward, set `grad` of a '
                'variable with several elements first), or it is a parameter to be initialized '
                f'first (Parameter.initialize). What failed: {error}') from error

    #: Whether there has been any piece in this process.
    _pieces_exist = False

    def _prepare_backward(self, grads, bound):
        """Called by backward before :meth:`backward`, where there are pieces.

        Args:
            grads (container): The nodes that gradients have reached.
            bound (tuple): The first of the :meth:`_gradient_places` that others may have.
        """

    def _gradient_places(self, targets):
        """Return what says in which order gradients of the inputs ``targets`` are added."""
        rank, number = -self.rank, -self.number
        return [(rank, number, i) for i in targets]

    _may_raise = True  # for some values: False where its own indexes are right by construction
    #: How many small functions it is worth, to those who ask what compiling it takes.
    _weight = 1
    _has_inner_results = False
    _adds_inside = False  # whether a piece may add several gradients of one leaf
    _draws_in_backward = False  # whether its backward draws random numbers
    _some_draw_in_backward = False  # of the class: whether that of any function has

    def _dissolve(self):
        """Put the functions that a piece stands for in its place (others: do nothing)."""

    def _goes_on_with_graph(self, targets, gys):
        """Return whether gradients of the inputs ``targets`` come with a graph of their own."""
        return True

    def siblings_of(self, reached):
        """Return the indexes of the outputs whose set gradients count, where no gradient has
        reached them in backward. ``reached`` tells which outputs one has."""
        return [k for k, r in enumerate(reached) if not r]

    def _copied(self):
        """A node to be applied in place of this one, with the same attributes."""
        return copy.copy(self)

    # For authors of functions

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if 'check_layout_forward' in cls.__dict__:
            chainer.memory_layouts._let_know_of_layouts(cls)

    def check_layout_forward(self, inputs):
        """Check the layouts of the inputs before :meth:`forward`; does nothing by default.

        A function that overrides it knows of layouts (see :meth:`chainer.Variable.as_layout`):
        :meth:`forward` gets arrays whose axes are as they lie in memory, and gives such,
        whose layouts it says by ``self.output_layouts = (layout, ...)``; and the gradients that
        :meth:`backward` gets have the layouts of the outputs.

        Args:
            inputs (tuple of Variable): The inputs, each with its ``layout``.
        """

    @property
    def input_layouts(self):
        """Layouts of the inputs, one each; ``None`` for the usual one."""
        return self._layouts_of(0)

    @property
    def output_layouts(self):
        """Layouts of the outputs, one each: set by :meth:`forward` where there are any."""
        return self._layouts_of(1)

    @output_layouts.setter
    def output_layouts(self, layouts):
        self._layouts_of(1)
        self._layouts = self._layouts[0], tuple(layouts)

    def _layouts_of(self, which):
        if self._layouts is None:
            raise AssertionError(f'layouts are known in {type(self).__name__} once it is applied '
                                 'and if it has check_layout_forward')
        return self._layouts[which]

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

    def forward_chainerx(self, inputs):
        """Compute output arrays from arrays of ChainerX; never called, as there are none.

        Returns:
            ``chainer.Fallback``, which leaves the work to :meth:`forward`.
        """
        return _chainerx.Fallback

    def retain_inputs(self, indexes):
        """Keep input arrays for backward; to be called in :meth:`forward`.

        Args:
            indexes (iterable of int): Which ones. By default none is kept.
        """
        self._input_indexes_to_retain = indexes

    def retain_outputs(self, indexes):
        """Keep output arrays for backward; to be called in :meth:`forward`.

        Args:
            indexes (iterable of int): Which ones. By default none is kept.
        """
        self._output_indexes_to_retain = indexes

    def backward(self, target_input_indexes, grad_outputs):
        """Compute gradients of inputs from gradients of outputs.

        Args:
            target_input_indexes (tuple of int): Indexes of the inputs whose gradients are wanted,
                in order; at least one.
            grad_outputs (tuple of Variable): Gradients of the outputs, ``None`` where an output
                has none.

        Returns:
            tuple of Variable: Gradients of those inputs, or of all inputs (the others are
            ignored); ``None`` where there is none. By default all are ``None``.
        """
        return (None,) * len(target_input_indexes)

    def backward_accumulate(self, target_input_indexes, grad_outputs, grad_inputs):
        """Compute gradients of inputs and add them to the gradients known so far.

        A function overrides either this method or :meth:`backward`.

        Args:
            target_input_indexes (tuple of int): As in :meth:`backward`.
            grad_outputs (tuple of Variable): As in :meth:`backward`.
            grad_inputs (tuple of Variable): Gradients so far of the wanted inputs, or ``None``.
                If a variable is given as several inputs, its gradient stands at the first.

        Returns:
            tuple of Variable: The sums, as many as ``target_input_indexes``.
        """
        gxs = self.backward(target_input_indexes, grad_outputs)
        if len(gxs) != len(target_input_indexes):
            gxs = [gxs[i] for i in target_input_indexes]
        return tuple([
            gx if old is None else old if gx is None else old + gx
            for gx, old in zip(gxs, grad_inputs, strict=True)])

    def get_retained_inputs(self):
        """Return the tuple of the input variables kept by :meth:`retain_inputs`."""
        indexes = self._input_indexes_to_retain
        if indexes is None or self.inputs is None:
            return ()
        inputs = self.inputs
        return tuple([inputs[i].get_variable() for i in indexes])

    def get_retained_outputs(self):
        """Return the tuple of the output variables kept by :meth:`retain_outputs`.

        An output that nobody refers to any more comes back as a new variable at the same place
        of the graph.
        """
        indexes = self._output_indexes_to_retain
        if indexes is None or self.outputs is None:
            return ()
        result = []
        outputs = self.outputs
        for i in indexes:
            node = outputs[i]()
            if node is None:
                requires_grad = any([x._requires_grad for x in self.inputs])
                output = _make_output(self._retained_output_data[i], requires_grad)
                node = output._node
                node._data = output._array
                node._creator_node = self
                node._rank = self.rank + 1
                self.outputs = outputs = outputs[:i] + (_ref(node),) + outputs[i + 1:]
            else:
                output = node.get_variable()
            result.append(output)
        return tuple(result)

    def unchain(self):
        """Cut the node out of the graph: its inputs and outputs forget it, and it them."""
        for output in self.outputs or ():
            node = output()
            if node is not None:
                node._creator_node = None
        self.inputs = None

    def add_hook(self, hook, name=None):
        """Register a hook for this function only.

        Args:
            hook (FunctionHook): The hook.
            name (str): Unique name, ``hook.name`` by default.
        """
        if not isinstance(hook, function_hook.FunctionHook):
            raise TypeError(f'a hook must be a chainer.FunctionHook, not {type(hook)}')
        if name is None:
            name = hook.name
        hooks = self.local_function_hooks
        if name in hooks:
            raise KeyError(f'a hook named {name!r} is already registered to {self.label}')
        hooks[name] = hook
        hook.added(self)

    def delete_hook(self, name):
        """Take off a hook of this function.

        Args:
            name (str): Its name.
        """
        hooks = self._local_function_hooks
        if not hooks or name not in hooks:
            raise KeyError(f'no hook named {name!r} is registered to {self.label}')
        hooks.pop(name).deleted(self)


_no_type_check = FunctionNode.check_type_forward


def check_nan(func, arrays, phase):
    """Raise ``RuntimeError`` if there is NaN in arrays that ``func`` computed."""
    for array in arrays:
        # What is no array is refused, with a better message, when it becomes a Variable.
        dtype = getattr(array, 'dtype', None)
        if dtype is not None and dtype.kind in 'fc' and bool((array != array).any()):
            message = f'NaN is detected on {phase} computation of {func.label}'
            if func.stack is not None:
                message += '\nStacktrace of the application:\n' + ''.join(func.stack.format())
            raise RuntimeError(message)
