"""Variables: arrays that remember how they were computed."""
from __future__ import annotations

import sys
import warnings
import weakref
from typing import TYPE_CHECKING, Any

import numpy

import chainer
from chainer import _tracing, backend
from chainer import initializers as initializers
from chainer.backends import _chainerx, _cpu, cuda, intel64
from chainer.utils import _errors, argument

_ndarray = numpy.ndarray
_Promise = _tracing.Promise
_run_state = _tracing.state
_late_runs = _tracing.late_runs
_Reforms = _tracing.Reforms


NotAnArray = _errors.NotAnArray


def _check_array(data):
    if data is not None and not isinstance(data, (_ndarray, cuda.ndarray)):
        hint = ''
        if isinstance(data, Variable):
            hint = '; take its array (x.array), or use chainer.as_variable'
        elif numpy.isscalar(data) or isinstance(data, (list, tuple)):
            hint = '; convert it with numpy.asarray'
        raise NotAnArray(f'a Variable holds a NumPy or CuPy array, not {type(data)}{hint}')


def _check_grad(array, grad, what):
    """Raise unless the array ``grad`` can be the gradient of ``array``."""
    if array is None or grad is None:
        return
    if not isinstance(grad, (_ndarray, cuda.ndarray)):
        raise TypeError(f'the gradient of {what} must be an array, not {type(grad)}')
    if isinstance(grad, _ndarray) != isinstance(array, _ndarray):
        raise TypeError(
            f'the gradient of {what} must be of the same type as its data, {type(array)}, '
            f'not {type(grad)}')
    if grad.dtype != array.dtype:
        raise TypeError(
            f'the gradient of {what} must have the dtype of its data, {array.dtype}, '
            f'not {grad.dtype}')
    if grad.shape != array.shape:
        raise ValueError(
            f'the gradient of {what} must have the shape of its data, {array.shape}, '
            f'not {grad.shape}')


class VariableNode:
    """The place of a :class:`Variable` in the computational graph.

    The graph consists of these nodes and of :class:`~chainer.FunctionNode` objects. A node does
    not keep its variable alive, nor its array, except where a function asked to retain it.

    Args:
        variable (Variable): The variable.
        name (str): Its name.
    """

    _creator_node = None
    _data = None
    _grad_var = None
    _old_style_grad_generator = None
    _rank = 0
    _reformed = 0  # a number, like those of functions: when it got an array of another form
    dtype = None
    shape = None
    name = None

    def __init__(self, variable, name):
        self._variable = weakref.ref(variable)
        self._requires_grad = variable._requires_grad
        if name is not None:
            self.name = name
        array = variable._array
        if array is not None:
            self.dtype = array.dtype
            self.shape = array.shape

    def __getstate__(self):
        raise TypeError(
            'a node of a computational graph cannot be copied or pickled; '
            'copy or pickle the Variable')

    @property
    def creator(self):
        """Function that made the variable: the :class:`~chainer.Function` of an old-style
        function, else the :class:`~chainer.FunctionNode`."""
        node = self.creator_node
        if isinstance(node, chainer.FunctionAdapter):
            return node.function
        return node

    @creator.setter
    def creator(self, func):
        self.creator_node = func.node if isinstance(func, chainer.Function) else func

    @property
    def creator_node(self):
        """:class:`~chainer.FunctionNode` that made the variable."""
        func = self._creator_node
        if func is not None and func._is_piece:
            func._dissolve()
        return self._creator_node

    @creator_node.setter
    def creator_node(self, func):
        old = self._creator_node
        if old is not None and old._is_piece and any(
                [ref() not in (None, self) for ref in old.outputs]):
            old._dissolve()  # the other results keep what made them
        self._creator_node = func
        if func is not None:
            self._rank = func.rank + 1

    @property
    def data(self):
        """Array of the variable, if it is retained (otherwise ``None``)."""
        if _run_state.trace is not None:
            _run_state.trace.looked_at(sys._getframe(1))
        elif self._data is None:
            self.creator_node  # noqa: B018 - a program's results have what its functions retain
        if _run_state.run is not None:
            _run_state.run.looked_at(self, self._data)
        return self._data

    @data.setter
    def data(self, data):
        self._data = data
        self._update_data_info(data)

    @property
    def grad(self):
        """Gradient array."""
        gv = self.grad_var
        return None if gv is None else gv._array

    @property
    def grad_var(self):
        """Gradient of the variable. It goes with the variable, if the node lives longer."""
        # It stands here, where backward finds it without asking for the variable. So what is set
        # in haste on the node of one that is gone is taken away by whoever looks for it.
        gv = self._grad_var
        if gv is not None and self._variable() is None:
            self._grad_var = gv = None
        return gv

    @grad_var.setter
    def grad_var(self, g):
        self._grad_var = g if self._variable() is not None else None

    @property
    def label(self):
        """Short text for the variable: shape and dtype."""
        if self.shape is None or self.dtype is None:
            return '(uninitialized)'
        if self.shape == ():
            return str(self.dtype)
        return f'({", ".join(map(str, self.shape))}), {self.dtype}'

    @property
    def rank(self):
        """Number of functions on the longest way from a leaf to this node."""
        return self._rank

    @property
    def requires_grad(self):
        """Whether backward computes a gradient here."""
        return self._requires_grad

    def get_variable(self):
        """Return the variable of the node; if it is gone, a new one that stands for it."""
        variable = self._variable()
        if variable is not None:
            return variable
        variable = _new_variable(Variable)
        variable._array = self._data
        variable._requires_grad = self._requires_grad
        variable._node = self
        self._grad_var = None
        self._variable = weakref.ref(variable)
        return variable

    def get_variable_or_none(self):
        """Return the variable of the node, or ``None`` if it is gone."""
        return self._variable()

    def set_creator(self, creator):
        """Set the function (``Function`` or ``FunctionNode``) that made the variable."""
        self.creator = creator

    def set_creator_node(self, creator_node):
        """Set the ``FunctionNode`` that made the variable."""
        self.creator_node = creator_node

    def unchain(self):
        """Forget the function that made the variable."""
        self.creator_node = None

    def retain_data(self):
        """Keep the array of the variable alive with the node.

        Raises:
            RuntimeError: If the variable is gone already.
        """
        variable = self._variable()
        if variable is None:
            raise RuntimeError('cannot retain the data of a variable that does not exist any more')
        self.data = variable._array

    def _update_data_info(self, data):
        """Take over dtype and shape of a new array of the variable."""
        dtype, shape = (None, None) if data is None else (data.dtype, data.shape)
        if shape != self.shape or dtype != self.dtype:
            self.dtype, self.shape = dtype, shape
            self._reformed = _Reforms.last = chainer.function_node.next_number()
        if self._data is not None:  # what is retained follows
            self._data = data
        func = self._creator_node
        if func is not None and func._is_piece:
            func._result_is_set(self, data)


class _LazyNode:
    """Stands for ``Variable._node`` until it is asked for: many variables never need a node."""

    def __get__(self, variable, cls=None):
        if variable is None:
            return self
        if type(variable._array) is _Promise:
            _tracing.look(variable, 'the graph of a Variable')
            return variable._node
        node = VariableNode(variable, None)
        func = variable.__dict__.get('_made_by')
        if func is not None:
            func._hang(node)
        variable._node = node
        if func is not None:  # the node refers to it from now on
            variable.__dict__.pop('_made_by', None)
        return node


_new_variable = object.__new__
_new_node = object.__new__
_ref = weakref.ref


def _make_output(array, requires_grad):
    """Return ``Variable(array, requires_grad=requires_grad)``, made quickly."""
    if type(array) is not _ndarray:
        _check_array(array)
    variable = _new_variable(Variable)
    variable._array = array
    variable._requires_grad = requires_grad
    variable._node = node = _new_node(VariableNode)
    node._variable = _ref(variable)
    node._requires_grad = requires_grad
    if array is not None:
        node.dtype = array.dtype
        node.shape = array.shape
    return variable


def _make_plain(array, requires_grad):
    """Return a Variable of ``array`` that gets its node only if somebody asks for it."""
    if type(array) is not _ndarray:
        _check_array(array)
    return _make_gradient(array, requires_grad)


def _make_gradient(array, requires_grad=False):
    """Return a Variable of ``array``, known to be an array, without a node."""
    variable = _new_variable(Variable)
    variable._array = array
    variable._requires_grad = requires_grad
    return variable


class Variable:
    """Array with a place in a computational graph.

    Functions applied to variables give variables which remember the function, so that
    :meth:`backward` can compute the gradients of what they were computed from. In
    :func:`chainer.no_backprop_mode` nothing is remembered.

    The operators ``+ - * / // ** @``, unary ``-`` and ``abs``, and indexing work on variables,
    also together with arrays and scalars. Comparison, truth value and conversion to a Python
    number are refused, since they would silently leave the graph: use ``x.array``.

    Args:
        data (numpy.ndarray or cupy.ndarray): Array, ``None`` for an uninitialized variable.
        name (str): Name of the variable.
        grad (numpy.ndarray or cupy.ndarray): Initial gradient array.
        requires_grad (bool): Whether :meth:`backward` computes the gradient of this variable.
        layout: Order of the axes in memory, see :meth:`as_layout`, in which ``data`` is given;
            ``None`` for the usual one.

    Raises:
        TypeError: If ``data`` is no array.

    .. doctest::

        >>> x = chainer.Variable(np.array([1, 2, 3], dtype=np.float32))
        >>> y = x ** 2
        >>> y.grad = np.ones(3, dtype=np.float32)
        >>> y.backward()
        >>> x.grad
        array([2., 4., 6.], dtype=float32)
    """

    __array_priority__ = 200  # array + variable comes to Variable.__radd__

    _loss_scale = None
    _node = _LazyNode()
    # Weak references to the shallow copies that have one array in common; None before any copy.
    _sharers = None
    _layout = None

    def __init__(self, data=None, *, name=None, grad=None, requires_grad=True, **rare):
        if rare:
            self._layout, = argument.parse_kwargs(rare, ('layout', None), **_REMOVED)
            _check_array(data)
            if data is not None:
                data = chainer.memory_layouts._transpose_array(data, self._layout, None)
        if type(data) is not _ndarray:
            _check_array(data)
        self._array = data
        self._requires_grad = requires_grad
        self._node = VariableNode(self, name)
        if grad is not None:
            self.grad = grad

    # Copying and pickling leave the graph behind.

    if TYPE_CHECKING:  # chainer.functions.math.basic_math sets them
        def __neg__(self) -> Variable: ...
        def __pos__(self) -> Variable: ...
        def __abs__(self) -> Variable: ...
        def __add__(self, other: Any) -> Variable: ...
        def __radd__(self, other: Any) -> Variable: ...
        def __sub__(self, other: Any) -> Variable: ...
        def __rsub__(self, other: Any) -> Variable: ...
        def __mul__(self, other: Any) -> Variable: ...
        def __rmul__(self, other: Any) -> Variable: ...
        def __truediv__(self, other: Any) -> Variable: ...
        def __rtruediv__(self, other: Any) -> Variable: ...
        def __floordiv__(self, other: Any) -> Variable: ...
        def __rfloordiv__(self, other: Any) -> Variable: ...
        def __pow__(self, other: Any) -> Variable: ...
        def __rpow__(self, other: Any) -> Variable: ...
        def __matmul__(self, other: Any) -> Variable: ...
        def __rmatmul__(self, other: Any) -> Variable: ...

    def __copy__(self):
        return self._copy_to(_new_variable(type(self)))

    def _copy_to(self, target):
        self.array  # noqa: B018 - whose promise, if it is one, is kept before
        sharers = self._sharers
        if sharers is None:
            sharers = self._sharers = [_ref(self)]
        sharers[:] = [r for r in sharers if r() is not None]
        sharers.append(_ref(target))
        node = self._node
        target.__dict__.update(self.__dict__)
        target._node = VariableNode(target, node.name)
        gv = node._grad_var
        if gv is not None:
            target._node._grad_var = Variable(gv._array)
        return target

    def __reduce__(self):
        return _create_variable, (
            self.array, self.name, self.grad, self._requires_grad)

    def __repr__(self):
        return variable_repr(self)

    def __str__(self):
        return variable_str(self)

    # Attributes

    @property
    def array(self) -> Any:
        """Data array, ``None`` if the variable is uninitialized."""
        array = self._array
        if type(array) is _Promise:
            if _tracing.takes_form(sys._getframe(1)):
                return array
            _tracing.look(self, 'the array of a Variable')
            return self._array
        run = _run_state.run
        if run is not None:
            if not _tracing.takes_form(sys._getframe(1)):
                run.looked_at(self, array)
        elif _run_state.trace is not None:
            _run_state.trace.looked_at(sys._getframe(1))
        elif _late_runs:
            _tracing.settle_late(self, 'another thread')
        return array

    @array.setter
    def array(self, d):
        self._set_array(d)

    @property
    def data(self) -> Any:
        """Data array; :attr:`array` is preferred, since NumPy arrays have a ``data``, too."""
        array = self._array
        if (_run_state.run is not None or type(array) is _Promise) and (
                type(self) in _KINDS and _tracing.takes_form(sys._getframe(1))):
            return array
        return self.array

    @data.setter
    def data(self, d):
        self._set_array(d)

    def _set_array(self, d):
        if type(d) is not _ndarray:
            if isinstance(d, numpy.generic):  # NumPy's result for arrays without axes
                d = numpy.asarray(d)
            _check_array(d)
        if _run_state.run is not None:
            _run_state.run.rebinds(self, d)
        elif _late_runs:
            _tracing.settle_late(self, 'another thread')
        # A node that is still to be made is one of the array that the Variable was made with.
        node = self._node if '_made_by' in self.__dict__ else None
        self._array = d
        (self._node if node is None else node)._update_data_info(d)
        if self._sharers is not None:
            for ref in self._sharers:
                copied = ref()
                if copied is not None:
                    copied._array = d
                    copied._node._update_data_info(d)

    def _stop_sharing(self):
        """Let new arrays of the shallow copies of this variable not be its own any more."""
        if self._sharers is not None:
            self._sharers[:] = [r for r in self._sharers if r() is not self]
            self._sharers = None

    @property
    def chx_array(self):
        """Not available: it would be a ChainerX array."""
        raise ValueError(
            'chx_array is only there for arrays of ChainerX, whose compiled part is not installed. '
            'Use array')

    @property
    def creator(self) -> Any:
        """Function that made the variable (see :attr:`VariableNode.creator`)."""
        return self._node.creator

    @creator.setter
    def creator(self, func):
        self._node.creator = func

    @property
    def creator_node(self) -> Any:
        """:class:`~chainer.FunctionNode` that made the variable.

        Setting ``None`` unchains the variable; the function that made it can be set again.
        """
        return self._node.creator_node

    @creator_node.setter
    def creator_node(self, func):
        self._node.creator_node = func

    @property
    def device(self) -> backend.Device:
        """:class:`~chainer.backend.Device` of the array (the CPU if there is none)."""
        if self._array is None:
            return _cpu.CpuDevice()
        return backend.get_device_from_array(self._array)

    @property
    def dtype(self) -> Any:
        """Dtype of the array."""
        return self._array.dtype

    @property
    def grad(self) -> Any:
        """Gradient array, ``None`` if there is none."""
        gv = self._node._grad_var
        return None if gv is None else gv._array

    @grad.setter
    def grad(self, g):
        _check_grad(self._array, g, self._name_in_messages())
        self._node.grad_var = None if g is None else Variable(g)

    @property
    def grad_var(self) -> Variable | None:
        """Gradient variable, ``None`` if there is none."""
        return self._node._grad_var

    @grad_var.setter
    def grad_var(self, g):
        if g is not None:
            _check_grad(self._array, g._array, self._name_in_messages())
        self._node.grad_var = g

    def _name_in_messages(self):
        return f'variable {self.name!r}' if self.name else 'a variable'

    @property
    def label(self) -> str:
        """Short text for the variable: shape and dtype."""
        return self._node.label

    @property
    def name(self) -> str | None:
        """Name of the variable."""
        # What nobody has asked for its node has not been given a name.
        return None if '_made_by' in self.__dict__ else self._node.name

    @name.setter
    def name(self, n):
        self._node.name = n

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self._array.ndim

    @property
    def node(self) -> VariableNode:
        """:class:`VariableNode` of the variable."""
        return self._node

    @property
    def rank(self) -> int:
        """Number of functions on the longest way from a leaf to this variable."""
        return self._node._rank

    @property
    def requires_grad(self) -> bool:
        """Whether :meth:`backward` computes a gradient here."""
        return self._requires_grad

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self._array.shape

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._array.size

    @property
    def xp(self) -> Any:
        """Array module of the array (NumPy if there is none)."""
        return self.device.xp

    @property
    def T(self) -> Variable:
        """Transposition of the variable."""
        return chainer.functions.transpose(self)

    # Text

    def summary(self) -> str:
        """Return ``'<variable NAME>'``."""
        return f'<variable {self.name}>' if self.name else f'<variable at 0x{id(self):x}>'

    def debug_print(self) -> str:
        """Return several lines of text on the array and the gradient.

        .. doctest::

            >>> print(chainer.Variable(np.ones(3), name='x').debug_print())
            <variable x>
            - device: CPU
            - backend: <class 'numpy.ndarray'>
            - shape: (3,)
            - dtype: float64
            - statistics: mean=1.00000000, std=0.00000000
            - grad: None
        """
        array = self.array
        device = None
        if array is not None:
            device = 'CPU' if isinstance(array, _ndarray) else array.device
        return '\n'.join([
            self.summary(),
            f'- device: {device}',
            f'- backend: {None if array is None else type(array)}',
            f'- shape: {None if array is None else array.shape}',
            f'- dtype: {None if array is None else array.dtype}',
            f'- statistics: {_statistics(self.array)}',
            f'- grad: {_statistics(self.grad)}',
        ])

    # Values

    def __len__(self) -> int:
        """Return the length of the first axis."""
        return len(self._array)

    def item(self) -> Any:
        """Return the only element as a Python scalar.

        Raises:
            ValueError: If there is not exactly one element.
        """
        return self.array.item()

    def __getitem__(self, slices) -> Variable:
        """Return elements (see :func:`chainer.functions.get_item`)."""
        return chainer.functions.get_item(self, slices)

    @property
    def layout(self):
        """The order of the axes in memory, ``None`` for the usual one (see :meth:`as_layout`)."""
        return self._layout

    @property
    def raw_array(self):
        """The array with its axes as they lie in memory (see :meth:`as_layout`)."""
        array = self.array
        if array is None or self._layout is None:
            return array
        return chainer.memory_layouts._transpose_array(array, None, self._layout)

    def as_layout(self, layout):
        """Return a variable with the same elements in another order in memory.

        Shape and elements do not change. Functions take such a variable as any other; what they
        return has no layout.

        Args:
            layout: ``chainer.memory_layouts.CUDNN_CHANNEL_LAST_X`` for images and
                ``CUDNN_CHANNEL_LAST_W`` for weights: the axis of channels, the second one, is the
                last one in memory. ``None`` for the usual order.

        Raises:
            ValueError: There is no such layout.
        """
        if layout == self._layout:
            return self
        chainer.memory_layouts._get_layout_transpose_axes(2, self._layout, layout)
        y, = chainer.memory_layouts.AsLayout(layout).apply((self,))
        y._layout = layout
        return y

    def reshape(self, *shape) -> Variable:
        """Return a variable of another shape (see :func:`chainer.functions.reshape`).

        Args:
            shape (int ... or tuple of int): The shape.
        """
        if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
            shape = tuple(shape[0])
        return chainer.functions.reshape(self, shape)

    def transpose(self, *axes) -> Variable:
        """Permute the axes (see :func:`chainer.functions.transpose`).

        Args:
            axes (int ... or tuple of int): The axes; none for the reversed order.
        """
        if not axes:
            axes = None
        elif len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))):
            axes = axes[0]
        return chainer.functions.transpose(self, axes)

    def mean(self, axis=None, *, weights=None, keepdims=False) -> Variable:
        """Return the (weighted) mean (see :func:`chainer.functions.average`)."""
        return chainer.functions.average(self, axis, weights, keepdims)

    # Gradients

    def cleargrad(self) -> None:
        """Set the gradient to ``None``."""
        self._node._grad_var = None

    def zerograd(self) -> None:
        """Set the gradient to zeros. Deprecated: :meth:`cleargrad` is cheaper."""
        warnings.warn(
            'Variable.zerograd is deprecated. Use Variable.cleargrad instead.',
            DeprecationWarning, stacklevel=2)
        self._fill_grad_with_zeros()

    def _fill_grad_with_zeros(self):
        array = self.array
        if array is None:
            return
        gv = self._node._grad_var
        if gv is None:
            xp = backend.get_array_module(array)
            with cuda.get_device_from_array(array):
                self.grad = xp.zeros_like(array)
        else:
            gv.unchain()
            gv._array.fill(0)

    def addgrad(self, var) -> None:
        """Add the gradient of another variable to that of this one.

        The other's gradient may be on another device. If this variable is uninitialized, it is
        initialized with the shape of the other first.

        Args:
            var (Variable): The other variable.
        """
        src = var.grad_var
        if src is None:
            return
        if self._array is None:
            self.initialize(var.shape)
        dst = self._node._grad_var
        source_device = backend.get_device_from_array(src._array)
        device = backend.get_device_from_array(self._array)
        if device != source_device:
            src = as_variable(device.send(src._array))
        self.grad_var = src if dst is None else src + dst

    def copydata(self, var) -> None:
        """Copy the array of another variable into that of this one.

        The other's array may be on another device. If one of the two is uninitialized, it is
        initialized with the array of the other; if both are, nothing happens.

        Args:
            var (Variable): The other variable.
        """
        src = var.array
        if src is None:
            if self._array is None:
                return
            var.initialize(self._array.shape)
            src = var._array
        elif self._array is None:
            self.initialize(src.shape)
        _tracing.settle('an array was copied into that of a Variable')
        backend.copyto(self.array, src)

    def backward(self, retain_grad=False, enable_double_backprop=False, loss_scale=None) -> None:
        """Compute the gradients of all variables that this one was computed from.

        It starts with :attr:`grad`, which is set to one before if it is ``None`` and the variable
        has a single element. Gradients of leaves are added to the gradients that they have: call
        :meth:`cleargrad` before.

        Args:
            retain_grad (bool): Whether intermediate variables get their gradients, too.
            enable_double_backprop (bool): Whether the computation of the gradients is itself
                recorded, so that gradients can be differentiated.
            loss_scale (float): Factor for the first gradient, which optimizers divide out again;
                it keeps float16 gradients from vanishing.

        Raises:
            RuntimeError: In debug mode, if a gradient contains NaN.
            ValueError: The variable has several elements and no gradient.

        .. doctest::

            >>> x = chainer.Variable(np.array(3.0))
            >>> y = x * x * x
            >>> y.backward(enable_double_backprop=True)
            >>> gx = x.grad_var
            >>> x.cleargrad()
            >>> gx.backward()
            >>> x.grad
            array(18.)
        """
        if _run_state.run is not None:
            _run_state.run.settle('backward')
        # What nobody has asked for its node has none.
        has_grad = '_made_by' not in self.__dict__ and self.grad is not None
        try:
            chainer._backprop.backward_from_variable(
                self, retain_grad, enable_double_backprop, loss_scale)
        except (AttributeError, TypeError, ValueError) as error:
            if has_grad or self.size == 1:
                raise
            raise ValueError(
                f'backward() starts at a variable of shape {self.shape}, which is no single '
                'number, so there is no gradient to start with: make a number of it (by F.sum or '
                'F.mean), or set its grad first (y.grad = numpy.ones_like(y.array))') from error

    # Graph

    def retain_data(self):
        """Keep the array alive with the node."""
        self._node.data = self.array

    def set_creator(self, gen_func):
        """Set the function (``Function`` or ``FunctionNode``) that made the variable."""
        self._node.set_creator(gen_func)

    def set_creator_node(self, fnode):
        """Set the ``FunctionNode`` that made the variable."""
        self._node.set_creator_node(fnode)

    def unchain(self) -> None:
        """Forget the function that made the variable."""
        self.creator_node = None

    def unchain_backward(self) -> None:
        """Cut all graph before this variable: neither it nor what it was computed from remembers
        its function. Backward from later variables stops here (truncated BPTT)."""
        nodes, funcs = _graph_behind(self._node)
        for node in nodes:
            node._creator_node = None
        for func in funcs:
            func.unchain()

    # Devices

    def to_cpu(self) -> None:
        """Bring array and gradient to the CPU."""
        self.to_device(_cpu.CpuDevice())

    def to_gpu(self, device=None) -> None:
        """Bring array and gradient to a GPU.

        Args:
            device: Number of the GPU or ``cupy.cuda.Device``; the current one by default.
        """
        cuda.check_cuda_available()
        self.to_device(backend.GpuDevice(cuda._get_device_or_current(device)))

    def to_intel64(self):
        """Raise ``RuntimeError``: iDeep is not available."""
        intel64.check_ideep_available()

    def to_chx(self):
        """Raise ``RuntimeError``: ChainerX is not available."""
        _chainerx.not_available()

    def from_chx(self):
        """Do nothing: the array is never a ChainerX array."""

    def to_device(self, device) -> None:
        """Bring array and gradient to a device.

        Args:
            device: See :func:`chainer.get_device`.
        """
        device = chainer.get_device(device)
        array = self.array
        if array is None or _is_on(device, array):
            return
        self._stop_sharing()
        node = self._node
        self._array = device.send(array)
        node._update_data_info(self._array)
        gv = node._grad_var
        if gv is not None:
            node.grad_var = Variable(device.send(gv._array))

    # What has no meaning in a graph

    def __bool__(self):
        raise TypeError(
            'a Variable has no truth value; use its array, for example `if x.array > 0:`')

    __nonzero__ = __bool__

    __hash__ = None

    def __eq__(self, other):
        _no_comparison('==')

    def __ne__(self, other):
        _no_comparison('!=')

    def __lt__(self, other):
        _no_comparison('<')

    def __le__(self, other):
        _no_comparison('<=')

    def __gt__(self, other):
        _no_comparison('>')

    def __ge__(self, other):
        _no_comparison('>=')


def _graph_behind(node):
    """Return the variable nodes (``node`` is one) and functions from which ``node`` was computed.

    Pieces among the functions have no part that does not belong to them.
    """
    whole = False
    while not whole:
        nodes, funcs = {}, {}
        stack = [node]
        while stack:
            x = stack.pop()
            if x in nodes:
                continue
            nodes[x] = None
            func = x._creator_node
            if func is None:
                continue
            if func._is_piece:
                # Its other results may be gone, and with them what only they were computed from.
                stack += func._inputs_behind(x)
            elif func not in funcs:
                stack += func.inputs
            funcs[func] = None
        whole = True
        for func in funcs:
            if func._is_piece and not func._is_whole_behind(nodes):
                func._dissolve()
                whole = False
    return nodes, funcs


def _no_comparison(symbol):
    raise TypeError(
        f'Variables do not support the operator {symbol}; compare their arrays (x.array)')


_REMOVED = {
    'volatile': 'volatile is not supported any more; write `with chainer.no_backprop_mode():` '
                'around the computation instead'}


def _statistics(array):
    if array is None:
        return None
    if array.size == 0:
        return 'mean=nan, std=nan'
    return f'mean={float(array.mean()):.8f}, std={float(array.std()):.8f}'


def _create_variable(data, name, grad, requires_grad, device=None):
    # Chainer 7 pickled a device, too; the array alone says where it is.
    return Variable(data, name=name, grad=grad, requires_grad=requires_grad)


def _with_name(var):
    return f'variable {var.name}' if var.name else 'variable'


def variable_repr(var):
    """Return what ``repr(var)`` shows.

    .. doctest::

        >>> chainer.Variable(np.arange(3), name='x')
        variable x([0, 1, 2])
    """
    prefix = _with_name(var)
    array = _cpu.array_to_cpu(var.array)
    if array is None:
        return f'{prefix}(None)'
    if array.size == 0 and array.shape != (0,):
        return f'{prefix}([], shape={array.shape})'
    text = numpy.array2string(
        array, numpy.get_printoptions()['linewidth'], None, None, ', ', prefix + '(')
    return f'{prefix}({text})'


def variable_str(var):
    """Return what ``str(var)`` shows.

    .. doctest::

        >>> print(chainer.Variable(np.arange(3), name='x'))
        variable x([0 1 2])
    """
    prefix = _with_name(var)
    array = _cpu.array_to_cpu(var.array)
    if array is None:
        return f'{prefix}(None)'
    text = numpy.array2string(array, None, None, None, ' ', prefix + '(')
    return f'{prefix}({text})'


class Parameter(Variable):
    """Variable that an optimizer updates, which may get its array later.

    Args:
        initializer: How the array is filled: an :class:`~chainer.Initializer`, a scalar (all
            elements are this value), an array (which fixes the shape, too), or ``None`` for NaN.
        shape (int or tuple of int): Shape; if it is not given, the parameter stays uninitialized
            until :meth:`initialize` is called.
        name (str): Name of the parameter.
        layout: Order of the axes in memory, see :meth:`Variable.as_layout`. An array that is given
            has its axes in this order.

    Attributes:
        initializer: How the array is filled.
        update_rule: :class:`~chainer.UpdateRule` of the parameter, or ``None``.

    .. doctest::

        >>> p = chainer.Parameter(0.5, (2,))
        >>> p.array
        array([0.5, 0.5], dtype=float32)
    """

    initializer = None
    # Value of the first gradient, filled in by initialize(); None for no gradient.
    _first_grad = numpy.nan
    # Where initialize() makes the array; None for the CPU.
    _initial_device = None

    def __init__(self, initializer=None, shape=None, name=None, *, layout=None):
        self.update_rule = None
        self._layout = layout
        if initializer is None:
            initializer = chainer.initializers.NaN()
        elif numpy.isscalar(initializer) or (
                shape is not None and isinstance(initializer, (_ndarray, cuda.ndarray))):
            initializer = chainer.initializers.Constant(initializer)
        self.initializer = initializer
        if shape is None and isinstance(initializer, (_ndarray, cuda.ndarray)):
            super().__init__(
                chainer.memory_layouts._transpose_array(initializer, layout, None), name=name)
            return
        super().__init__(name=name)
        if shape is not None:
            self.initialize(shape)
            self._first_grad = None

    def __copy__(self):
        return self._copy_to(_new_variable(type(self)))

    def __reduce__(self):
        return _recover_parameter, (
            self.array, self.name, self.grad,
            self._array is None and self._first_grad is None, self.initializer,
            self.update_rule, self.device)

    @property
    def device(self):
        """:class:`~chainer.backend.Device` of the array, or where it is going to be."""
        if self._array is None:
            return self._initial_device or _cpu.CpuDevice()
        return super().device

    @property
    def is_initialized(self):
        """Whether the parameter has its array."""
        return self._array is not None

    @property
    def dtype(self):
        """Dtype of the array, or that which the initializer is going to give it."""
        if self._array is not None:
            return self._array.dtype
        return numpy.dtype(chainer.get_dtype(getattr(self.initializer, 'dtype', None)))

    def initialize(self, shape):
        """Make the array (again) and fill it by the initializer.

        The gradient is NaN then, so that using it before backward does not go unnoticed; it is
        ``None`` or zeros after :meth:`cleargrad` or :meth:`zerograd` of the uninitialized
        parameter, and ``None`` if the parameter was made with a shape.

        Args:
            shape (int or tuple of int): Shape.
        """
        device = self.device
        xp = device.xp
        with device.create_context():
            try:
                data = chainer.initializers.generate_array(self.initializer, shape, xp)
            except (TypeError, ValueError) as error:
                error.add_note(
                    f'This happened in making the parameter {self.name or "(not named yet)"} of '
                    f'shape {shape}.')
                raise
            if self._layout is not None:
                data = chainer.memory_layouts._laid_out(data, self._layout)
            self._set_array(data)
            gv = None
            if self._first_grad is not None and data.dtype.kind in 'fc':
                gv = Variable(xp.full_like(data, self._first_grad))
            self._node.grad_var = gv

    def cleargrad(self):
        """Set the gradient to ``None``."""
        self._node._grad_var = None
        if self._array is None:
            self._first_grad = None

    def _fill_grad_with_zeros(self):
        super()._fill_grad_with_zeros()
        if self._array is None:
            self._first_grad = 0.0

    def to_device(self, device):
        """Bring array and gradient to a device, or make them there in :meth:`initialize`.

        Args:
            device: See :func:`chainer.get_device`.
        """
        device = chainer.get_device(device)
        if self._array is None and device != self.device:
            self._stop_sharing()
            self._initial_device = device
        super().to_device(device)

    def update(self):
        """Update the array by :attr:`update_rule`, if there is one."""
        if self.update_rule is not None:
            self.update_rule.update(self)


#: Classes of variables whose ``data`` is their ``array``, whatever others make of it.
_KINDS = (Variable, Parameter)


def _recover_parameter(*args):
    """Unpickle a parameter, also one that Chainer 5 (five arguments) or 7 (seven) pickled."""
    if len(args) == 5:
        data, name, grad, initializer, update_rule = args
        cleared, device = grad is None, None
    else:
        data, name, grad, cleared, initializer, update_rule, device = args
    p = Parameter(initializer=initializer, name=name)
    p._set_array(data)
    p.grad = grad
    if data is None:
        if cleared:
            p._first_grad = None
        p._initial_device = device
    p.update_rule = update_rule
    return p


def _is_on(device, array):
    try:
        return device.is_array_supported(array)
    except NotImplementedError:  # a device of the user's own: it is sent all arrays
        return False


def as_variable(obj):
    """Return a variable as it is, and wrap an array in one that requires no gradient.

    Args:
        obj (Variable, numpy.ndarray or cupy.ndarray): A variable or an array.

    .. doctest::

        >>> chainer.as_variable(np.zeros(2)).requires_grad
        False
    """
    if isinstance(obj, Variable):
        return obj
    return Variable(obj, requires_grad=False)


def as_array(obj):
    """Return the array of a variable, and anything else as it is.

    .. doctest::

        >>> chainer.as_array(chainer.Variable(np.zeros(2)))
        array([0., 0.])
    """
    return obj.array if isinstance(obj, Variable) else obj
