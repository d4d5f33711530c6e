"""Link, Chain and ChainList: what models are built of."""
from __future__ import annotations

import collections
import collections.abc
import contextlib
import copy
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

import numpy

import chainer
from chainer import _tracing, backend, device_resident, initializers, link_hook, variable
from chainer.utils import _errors

if TYPE_CHECKING:
    from chainer.graph_optimizations.static_graph import ScheduleManager

_COPY_MODES = ('init', 'copy', 'share')


class Link(device_resident.DeviceResident):
    """Building block of models: parameters, persistent values, and a forward method.

    A :class:`chainer.Parameter` becomes a parameter of the link when it is set as an attribute
    inside of :meth:`init_scope`. A persistent value (array, number, string, None) is what is saved
    with the parameters and not trained, such as a running mean; :meth:`add_persistent` and
    :meth:`register_persistent` declare them. Both are plain attributes of the link; all other
    attributes are left to the user, and neither saved nor carried to another device.

    Calling the link calls its method ``forward``, with link hooks around it.

    Args:
        params: Names of initial parameters with their shapes, or with tuples of a shape and a
            dtype. Their values are NaN until they are set.

    Attributes:
        name (str): Name given by the parent chain; ``None`` without a parent.

    Raises:
        AttributeError: A parameter has the name of an existing attribute.
        TypeError: A value is no shape.

    Example:
        >>> import numpy as np, chainer
        >>> class Scale(chainer.Link):
        ...     def __init__(self, n):
        ...         super().__init__()
        ...         with self.init_scope():
        ...             self.factor = chainer.Parameter(2.0, (n,))
        ...     def forward(self, x):
        ...         return self.factor * x
        >>> scale = Scale(3)
        >>> scale(np.ones(3, np.float32)).array
        array([2., 2., 2.], dtype=float32)
        >>> [name for name, param in scale.namedparams()]
        ['/factor']
    """

    if TYPE_CHECKING:  # chainer.static_graph sets it
        schedule_manager: ScheduleManager

    name = None
    _within_init_scope = False
    _local_link_hooks = None
    __init_done = False

    def __init__(self, **params):
        self._params = set()
        self._persistent = set()
        self._within_init_scope = False
        self.name = None
        self.__init_done = True
        for name, value in sorted(params.items()):
            shape, dtype = _shape_and_dtype(name, value)
            self.add_param(name, shape, dtype=dtype)

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.__init_done = True  # which pickles of Chainer 5 do not tell

    def __check_init_done(self):
        if not self.__init_done:
            raise RuntimeError(
                'Link.__init__() has not been called. Call super().__init__() first in '
                f'{type(self).__name__}.__init__().')

    def _str_as_child(self):
        return str(self)

    def _repr_pretty_(self, printer, cycle):
        """What a notebook shows."""
        printer.text(str(self))

    def __str__(self):
        specs = ', '.join(f'{key}={value}' for key, value in self.printable_specs)
        return f'{type(self).__name__}({specs})'

    @property
    def printable_specs(self):
        """Generator of the pairs of names and values that ``str(link)`` shows."""
        yield from ()

    @property
    def local_link_hooks(self):
        """Ordered dict of the hooks that :meth:`add_hook` registered to this link."""
        if self._local_link_hooks is None:
            self._local_link_hooks = collections.OrderedDict()
        return self._local_link_hooks

    @property
    def _device_id(self):
        warnings.warn(
            'Link._device_id is deprecated. Use Link.device instead.',
            DeprecationWarning, stacklevel=2)
        device = self.device
        return device.device.id if isinstance(device, backend.GpuDevice) else None

    @property
    def within_init_scope(self):
        """Whether the current code is inside of :meth:`init_scope` of this link."""
        return self._within_init_scope

    @contextlib.contextmanager
    def init_scope(self) -> Iterator[None]:
        """Returns a context in which parameters (and child links) are registered by assignment.

        Raises:
            RuntimeError: ``Link.__init__`` has not been called.

        Example:
            >>> import chainer
            >>> link = chainer.Link()
            >>> with link.init_scope():
            ...     link.W = chainer.Parameter(0, (2, 2))
            >>> [param.name for param in link.params()]
            ['W']
        """
        self.__check_init_done()
        outer = self._within_init_scope
        self._within_init_scope = True
        try:
            yield
        except (TypeError, ValueError) as error:
            error.add_note(f'This happened in the init_scope of {type(self).__name__}.')
            raise
        finally:
            self._within_init_scope = outer

    def __call__(self, *args, **kwargs) -> Any:
        """Calls ``self.forward`` with the same arguments, and the link hooks around it."""
        if not self.__init_done:
            self.__check_init_done()
        forward = getattr(self, 'forward', None)
        if forward is None:
            try:
                forward = super().__call__  # of another base class, a mix-in
            except AttributeError:
                raise AttributeError(
                    f"'{type(self).__name__}' object has no attribute 'forward'") from None

        hooks = link_hook._thread_local.hooks
        if self._local_link_hooks:
            hooks = {**(hooks or {}), **self._local_link_hooks}
        if not hooks:
            return forward(*args, **kwargs)

        hooks = list(hooks.values())
        pre_args = link_hook._ForwardPreprocessCallbackArgs(self, 'forward', args, kwargs)
        for hook in hooks:
            hook.forward_preprocess(pre_args)
        out = forward(*args, **kwargs)
        post_args = link_hook._ForwardPostprocessCallbackArgs(self, 'forward', args, kwargs, out)
        for hook in hooks:
            hook.forward_postprocess(post_args)
        return out

    def __setattr__(self, name, value):
        if self._within_init_scope and isinstance(value, variable.Parameter):
            value.name = name
            self._params.add(name)
            self._persistent.discard(name)
        _tracing.sets_attribute(self, name)
        super().__setattr__(name, value)

    def __delattr__(self, name):
        self._params.discard(name)
        self._persistent.discard(name)
        super().__delattr__(name)

    def add_param(self, name, shape=None, dtype=numpy.float32, initializer=None) -> None:
        """Registers a new parameter.

        Args:
            name (str): Name of the parameter and of its attribute.
            shape (int or tuple of ints): Shape. Without it the parameter stays uninitialized.
            dtype: Type of the array, where ``initializer`` is ``None``.
            initializer: Weight initializer, or initial array. The default fills in NaN.

        Raises:
            AttributeError: An attribute of this name exists.
        """
        if name in self.__dict__:
            raise AttributeError(f'cannot register a new parameter {name}: attribute exists')
        if initializer is None:
            initializer = initializers.NaN(dtype)
        param = variable.Parameter(initializer, shape)
        with self.init_scope():
            setattr(self, name, param)

    def add_persistent(self, name, value) -> None:
        """Sets a new attribute and registers it as a persistent value.

        Args:
            name (str): Name of the value and of its attribute.
            value: Array, number, string or None.

        Raises:
            AttributeError: An attribute of this name exists.
        """
        d = self.__dict__
        if name in d:
            raise AttributeError(
                f'cannot register a new persistent value {name}: attribute exists')
        self._persistent.add(name)
        self._params.discard(name)
        d[name] = value

    def register_persistent(self, name):
        """Registers an existing attribute as a persistent value.

        A parameter of this name is a parameter no longer.

        Args:
            name (str): Name of the attribute.

        Raises:
            AttributeError: There is no such attribute.
        """
        if not hasattr(self, name):
            raise AttributeError(
                f'cannot register non-existent attribute {name} as a persistent value')
        self._persistent.add(name)
        self._params.discard(name)

    @classmethod
    def from_params(cls, *args, **kwargs):
        """Makes a link from existing parameters; links that can do so override it.

        Raises:
            NotImplementedError: The link does not implement it.
        """
        raise NotImplementedError('This link does not implement `from_params`.')

    def copy(self, mode='share') -> Self:
        """Copies the link.

        Args:
            mode (str): ``'share'`` (the default): a shallow copy, whose parameters are new objects
                over the same arrays, without gradients. ``'copy'``: a deep copy. ``'init'``: a deep
                copy whose parameters are initialized anew, each once, in the order of
                :meth:`params`; those that were given as arrays keep their values.

        Returns:
            Link: The copy. It belongs to no chain, and only deep copies of plain links keep their
            name.

        Raises:
            ValueError: ``mode`` is another one.
        """
        _check_copy_mode(mode)
        if mode == 'share':
            return self._shared_copy()
        ret = copy.deepcopy(self)
        if isinstance(self, (Chain, ChainList)):
            ret.name = None
        if mode == 'init':
            ret._reinitialize(set())
        return ret

    def _shared_copy(self):
        ret = copy.copy(self)
        ret._params = set(self._params)
        ret._persistent = set(self._persistent)
        if self._local_link_hooks is not None:
            ret._local_link_hooks = self._local_link_hooks.copy()
        ret.name = None
        d = ret.__dict__
        for name in ret._params:
            d[name] = copy.copy(d[name])
            d[name].grad = None
        return ret

    def _reinitialize(self, done):
        # Done is the set of the ids of the parameters that had their turn.
        d = self.__dict__
        for name in sorted(self._params):
            param = d[name]
            if id(param) in done:
                continue
            done.add(id(param))
            if param.array is not None and callable(param.initializer):
                param.initialize(param.shape)
        for child in self._children_in_forward_order():
            child._reinitialize(done)

    def _children_in_forward_order(self):
        return self.children()

    def device_resident_accept(self, visitor):
        super().device_resident_accept(visitor)
        d = self.__dict__
        for name in self._params:
            visitor.visit_variable(d[name])
        for name in self._persistent:
            value = d[name]
            if isinstance(value, backend.get_array_types()):
                d[name] = visitor.visit_array(value)
            elif isinstance(value, device_resident.DeviceResident):
                value.device_resident_accept(visitor)

    def params(self, include_uninit=True) -> Iterator[variable.Parameter]:
        """Returns a generator of all parameters of the link and its descendants.

        Args:
            include_uninit (bool): Whether parameters without an array are among them.
        """
        d = self.__dict__
        for name in sorted(self._params):
            if include_uninit or d[name].is_initialized:
                yield d[name]

    def namedparams(self, include_uninit=True) -> Iterator[tuple[str, variable.Parameter]]:
        """Returns a generator of ``(path, parameter)`` of the link and its descendants.

        Args:
            include_uninit (bool): Whether parameters without an array are among them.
        """
        d = self.__dict__
        for name in sorted(self._params):
            if include_uninit or d[name].is_initialized:
                yield '/' + name, d[name]

    def links(self, skipself=False) -> Iterator[Link]:
        """Returns a generator of the link and its descendants.

        Args:
            skipself (bool): Whether to leave out the link itself.
        """
        if not skipself:
            yield self

    def namedlinks(self, skipself=False) -> Iterator[tuple[str, Link]]:
        """Returns a generator of ``(path, link)`` of the link and its descendants.

        Args:
            skipself (bool): Whether to leave out the link itself, whose path is ``'/'``.
        """
        if not skipself:
            yield '/', self

    def children(self) -> Iterator[Link]:
        """Returns a generator of the child links."""
        yield from ()

    def copyparams(self, link, copy_persistent=True):
        """Copies the values of all parameters, not their gradients, from another link.

        Args:
            link (Link): Source, with parameters of the same names.
            copy_persistent (bool): Whether to copy persistent values, too: arrays by their
                elements, all else with ``copy.deepcopy``.

        Raises:
            AttributeError: ``link`` lacks a parameter.
            KeyError: ``link`` lacks a persistent value.
            ValueError: Shapes differ.
        """
        src = link.__dict__
        dst = self.__dict__
        for name in sorted(self._params):
            if src.get(name) is None:
                raise _errors.NoParameterError(
                    f'cannot copy parameter {name}: the source {type(link).__name__} has none')
            dst[name].copydata(src[name])
        if not copy_persistent:
            return
        for name in sorted(self._persistent):
            if isinstance(dst[name], backend.get_array_types()):
                backend.copyto(dst[name], src[name])
            else:
                dst[name] = copy.deepcopy(src[name])

    def cleargrads(self) -> None:
        """Sets the gradients of all parameters to ``None``; to be called before each backward."""
        known = getattr(self.__dict__.get('schedule_manager'), 'gradients', None)
        if known is not None and known.clear(self):
            return
        for param in self.params():
            param.cleargrad()

    def zerograds(self):
        """Fills the gradients of all parameters with zeros.

        .. deprecated:: v1.15
            Use :meth:`cleargrads`.
        """
        warnings.warn(
            'Link.zerograds is deprecated. Use Link.cleargrads instead.',
            DeprecationWarning, stacklevel=2)
        for param in self.params():
            param._fill_grad_with_zeros()

    def addgrads(self, link):
        """Adds the gradients of another link's parameters to those of this link.

        Args:
            link (Link): Source, with parameters of the same names. It may be on another device.
        """
        src = link.__dict__
        dst = self.__dict__
        for name in sorted(self._params):
            dst[name].addgrad(src[name])

    def enable_update(self):
        """Sets ``enabled`` of all update rules under the link to ``True``."""
        self.__set_update_enabled(True)

    def disable_update(self):
        """Sets ``enabled`` of all update rules under the link to ``False``.

        Parameters without an update rule, before an optimizer is set up, are left alone.
        """
        self.__set_update_enabled(False)

    def __set_update_enabled(self, enabled):
        for param in self.params():
            if param.update_rule is not None:
                param.update_rule.enabled = enabled

    @property
    def update_enabled(self):
        """Whether at least one parameter has an update rule that is enabled."""
        return any(
            param.update_rule is not None and param.update_rule.enabled
            for param in self.params())

    def serialize(self, serializer):
        """Saves or loads parameters and persistent values.

        A parameter without an array takes the shape of the loaded one.

        Args:
            serializer (chainer.AbstractSerializer): Serializer or deserializer.
        """
        d = self.__dict__
        for name in sorted(self._params):
            param = d[name]
            data = serializer(name, param.array)
            if param.array is None and data is not None:
                _take(param, data, name, serializer)
        for name in sorted(self._persistent):
            value = serializer(name, d[name])
            if d[name] is None and isinstance(value, numpy.ndarray):
                value = self.device.send(value)  # where other arrays are filled
            d[name] = value

    def repeat(self, n_repeat, mode='init'):
        """Makes a :class:`chainer.Sequential` of copies of this link.

        Args:
            n_repeat (int): Number of copies; none if it is not positive.
            mode (str): How each is copied, see :meth:`copy`.

        Returns:
            Sequential: The copies, each feeding the next one.

        Raises:
            ValueError: ``mode`` is not one of :meth:`copy`.
        """
        _check_copy_mode(mode)
        return chainer.Sequential(*(self.copy(mode) for _ in range(n_repeat)))

    def count_params(self) -> int:
        """Counts the numbers in all parameters of the link and its descendants.

        Returns:
            int: The count. A parameter without an array is left out, with a warning.
        """
        size = 0
        for name, param in self.namedparams():
            if param.array is None:
                warnings.warn(
                    f"Parameter '{name}' has not been initialized, so the resulting count will "
                    'not include the number of parameters in it.', stacklevel=2)
                continue
            size += param.size
        return size

    def add_hook(self, hook, name=None):
        """Registers a hook for the calls of this link.

        Args:
            hook (chainer.LinkHook): The hook.
            name (str): Name of the registration. The default is ``hook.name``.

        Returns:
            self

        Raises:
            TypeError: ``hook`` is not a link hook.
            KeyError: A hook of this name is registered to the link.
        """
        if not isinstance(hook, link_hook.LinkHook):
            raise TypeError(f'Hook must be of type LinkHook. Actual type: {type(hook)}')
        if name is None:
            name = hook.name
        hooks = self.local_link_hooks
        if name in hooks:
            raise KeyError(f'Hook {name} already exists')
        hooks[name] = hook
        hook.added(self)
        return self

    def delete_hook(self, name):
        """Takes away a hook of this link.

        Args:
            name (str): Name of the registration.

        Raises:
            KeyError: No hook of this name is registered to the link.
        """
        hooks = self.local_link_hooks
        if name not in hooks:
            raise KeyError(f'Hook {name} does not exist')
        hooks.pop(name).deleted(self)


class Chain(Link):
    """Link that is composed of child links, each an attribute of the chain.

    A link becomes a child when it is set as an attribute inside of :meth:`Link.init_scope`, or
    with :meth:`add_link`. What is done to the chain (saving, optimization, copying, carrying to
    a device) is done to its children as well. A descendant has a path, such as
    ``'/encoder/conv1'``, made of the names from the chain down to it.

    Args:
        links: Names of initial children, and the links.

    Raises:
        AttributeError: A child has the name of an existing attribute.
        TypeError: A child is not a link.

    Example:
        >>> import chainer
        >>> class Pair(chainer.Chain):
        ...     def __init__(self):
        ...         super().__init__()
        ...         with self.init_scope():
        ...             self.left = chainer.Link(W=(2,))
        ...             self.right = chainer.Link(W=(3,))
        >>> pair = Pair()
        >>> [path for path, param in pair.namedparams()]
        ['/left/W', '/right/W']
        >>> print(pair)
        Pair(
          (left): Link(),
          (right): Link(),
        )
    """

    def __init__(self, **links):
        super().__init__()
        self._children = set()
        for name, link in sorted(links.items()):
            self.add_link(name, link)

    def __str__(self):
        return _tree_str(self, ((child.name, child) for child in self.children()))

    def __getitem__(self, name):
        """Returns the child of this name; the same as ``getattr``."""
        return getattr(self, name)

    def __setattr__(self, name, value):
        if self._within_init_scope and isinstance(value, Link):
            if hasattr(self, name):
                raise AttributeError(f'cannot register a new link {name}: attribute exists')
            value.name = name
            self._children.add(name)
        super().__setattr__(name, value)

    def __delattr__(self, name):
        self._children.discard(name)
        super().__delattr__(name)

    def add_link(self, name, link) -> None:
        """Registers a child link.

        Args:
            name (str): Name of the child and of its attribute.
            link (Link): The child.

        Raises:
            AttributeError: An attribute of this name exists.
            TypeError: ``link`` is not a link, or ``name`` not a string.
        """
        _check_link(link)
        if not isinstance(name, str):
            raise TypeError(f'name of a child must be a string. Actual type: {type(name)}')
        with self.init_scope():
            setattr(self, name, link)

    def _shared_copy(self):
        ret = super()._shared_copy()
        ret._children = set(self._children)
        d = ret.__dict__
        for name in sorted(ret._children):
            d[name] = d[name].copy('share')
            d[name].name = name
        return ret

    def device_resident_accept(self, visitor):
        super().device_resident_accept(visitor)
        for child in self.children():
            child.device_resident_accept(visitor)

    def params(self, include_uninit=True) -> Iterator[variable.Parameter]:
        yield from super().params(include_uninit)
        d = self.__dict__
        for name in sorted(self._children):
            yield from d[name].params(include_uninit)

    def namedparams(self, include_uninit=True) -> Iterator[tuple[str, variable.Parameter]]:
        yield from super().namedparams(include_uninit)
        d = self.__dict__
        for name in sorted(self._children):
            prefix = '/' + name
            for path, param in d[name].namedparams(include_uninit):
                yield prefix + path, param

    def links(self, skipself=False) -> Iterator[Link]:
        if not skipself:
            yield self
        d = self.__dict__
        for name in sorted(self._children):
            yield from d[name].links()

    def namedlinks(self, skipself=False) -> Iterator[tuple[str, Link]]:
        if not skipself:
            yield '/', self
        d = self.__dict__
        for name in sorted(self._children):
            child = d[name]
            prefix = '/' + name
            yield prefix, child
            for path, link in child.namedlinks(skipself=True):
                yield prefix + path, link

    def children(self) -> Iterator[Link]:
        d = self.__dict__
        for name in sorted(self._children):
            yield d[name]

    def copyparams(self, link, copy_persistent=True):
        super().copyparams(link, copy_persistent)
        src = link.__dict__
        dst = self.__dict__
        for name in sorted(self._children):
            dst[name].copyparams(src[name], copy_persistent)

    def addgrads(self, link):
        super().addgrads(link)
        src = link.__dict__
        dst = self.__dict__
        for name in sorted(self._children):
            dst[name].addgrads(src[name])

    def serialize(self, serializer):
        super().serialize(serializer)
        d = self.__dict__
        for name in sorted(self._children):
            d[name].serialize(serializer[name])


class ChainList(Link, collections.abc.MutableSequence):
    """Link that is composed of a list of child links.

    It has the methods of a list; its children are named by their positions, ``'0'``, ``'1'``, ...

    Args:
        links: Initial children.

    Example:
        >>> import chainer
        >>> stack = chainer.ChainList(chainer.Link(W=(2,)), chainer.Link(W=(3,)))
        >>> len(stack), stack[1].name
        (2, '1')
        >>> [path for path, param in stack.namedparams()]
        ['/0/W', '/1/W']
    """

    def __init__(self, *links):
        super().__init__()
        self._children = []
        for link in links:
            self.add_link(link)

    def __str__(self):
        return _tree_str(self, enumerate(self.children()))

    def __setattr__(self, name, value):
        if self._within_init_scope and isinstance(value, Link):
            raise TypeError(
                'cannot register a new link within a "with chainlist.init_scope():" block. '
                'Use append().')
        super().__setattr__(name, value)

    def __getitem__(self, index):
        """Returns the child at an index, or the list of the children in a slice."""
        return self._children[index]

    def __setitem__(self, index, value):
        if isinstance(index, slice):
            value = list(value)
            for link in value:
                _check_link(link)
            self._children[index] = value
            self._rename()
        else:
            _check_link(value)
            self._children[index] = value
            value.name = str(range(len(self._children))[index])

    def __delitem__(self, index):
        del self._children[index]
        self._rename()

    def _rename(self):
        for i, child in enumerate(self._children):
            child.name = str(i)

    def insert(self, index, link):
        """Inserts a child before an index.

        Args:
            index (int): Position, as for ``list.insert``.
            link (Link): The child.

        Raises:
            TypeError: ``link`` is not a link.
        """
        _check_link(link)
        if index == len(self._children):
            self._children.append(link)
            link.name = str(index)
        else:
            self._children.insert(index, link)
            self._rename()

    def __iter__(self):
        return iter(self._children)

    def __len__(self) -> int:
        """Returns the number of children."""
        return len(self._children)

    def add_link(self, link) -> None:
        """Appends a child.

        Args:
            link (Link): The child.

        Raises:
            TypeError: ``link`` is not a link.
        """
        self.append(link)

    def _shared_copy(self):
        ret = super()._shared_copy()
        copies = {id(child): child.copy('share') for child in self._children}
        ret._children = [copies[id(child)] for child in self._children]
        ret._rename()
        return ret

    def device_resident_accept(self, visitor):
        super().device_resident_accept(visitor)
        for child in self._children:
            child.device_resident_accept(visitor)

    def params(self, include_uninit=True) -> Iterator[variable.Parameter]:
        yield from super().params(include_uninit)
        for child in self._children:
            yield from child.params(include_uninit)

    def namedparams(self, include_uninit=True) -> Iterator[tuple[str, variable.Parameter]]:
        yield from super().namedparams(include_uninit)
        for i, child in enumerate(self._children):
            for path, param in child.namedparams(include_uninit):
                yield f'/{i}{path}', param

    def links(self, skipself=False) -> Iterator[Link]:
        if not skipself:
            yield self
        for child in self._children:
            yield from child.links()

    def namedlinks(self, skipself=False) -> Iterator[tuple[str, Link]]:
        if not skipself:
            yield '/', self
        for i, child in enumerate(self._children):
            yield f'/{i}', child
            for path, link in child.namedlinks(skipself=True):
                yield f'/{i}{path}', link

    def children(self) -> Iterator[Link]:
        yield from self._children

    def copyparams(self, link, copy_persistent=True):
        super().copyparams(link, copy_persistent)
        for i, child in enumerate(self._children):
            child.copyparams(link[i], copy_persistent)

    def addgrads(self, link):
        super().addgrads(link)
        # Not link[i]: the items of a Sequential are its functions, too.
        for child, other in zip(self._children, link.children(), strict=True):
            child.addgrads(other)

    def serialize(self, serializer):
        super().serialize(serializer)
        for i, child in enumerate(self._children):
            child.serialize(serializer[str(i)])


def _take(param, data, name, serializer):
    """Initializes a parameter with a loaded array."""
    try:
        param.initialize(data.shape)
        backend.copyto(param.array, data)
    except (TypeError, ValueError) as e:
        where = repr(name)
        if isinstance(serializer, chainer.Deserializer):
            where = serializer._describe(name)
        kind = TypeError if isinstance(e, TypeError) else ValueError
        raise kind(f'{where} cannot be loaded into an uninitialized parameter: {e}') from e


def _check_copy_mode(mode):
    if mode not in _COPY_MODES:
        raise ValueError(
            "The 'mode' argument should be either 'init','copy', or 'share'. "
            f'But {mode} was given.')


def _check_link(link):
    if not isinstance(link, Link):
        raise TypeError(
            f'cannot register a non-link object as a child. Actual type: {type(link)}')


def _is_int(value):
    return isinstance(value, (int, numpy.integer)) and not isinstance(value, bool)


def _shape_and_dtype(name, value):
    shape, dtype = value, numpy.float32
    if isinstance(value, tuple) and len(value) == 2 and not _is_int(value[1]):
        shape, dtype = value
    is_shape = shape is None or _is_int(shape) or (
        isinstance(shape, (tuple, list)) and all(map(_is_int, shape)))
    if not is_shape:
        raise TypeError(
            f'parameter {name} needs a shape or a tuple (shape, dtype). Actual: {value!r}')
    return shape, dtype


def _all_params(link):
    """Return ``list(link.params())``, quickly where nobody has overridden it."""
    found = []
    _gather_params(link, found)
    return found


def _gather_params(link, found):
    d, params = link.__dict__, type(link).params
    if params is Link.params:
        children = ()
    elif params is Chain.params:
        children = map(d.__getitem__, sorted(d['_children']))
    elif params is ChainList.params:
        children = d['_children']
    else:
        children = None
    if children is None or 'params' in d:
        found += link.params()
        return
    if d['_params']:
        found += map(d.__getitem__, sorted(d['_params']))
    for child in children:
        _gather_params(child, found)


def _tree_str(link, named_children):
    lines = [f'({name}): {child._str_as_child()},' for name, child in named_children]
    if not lines:
        return f'{type(link).__name__}()'
    body = '\n'.join(lines).replace('\n', '\n  ')
    return f'{type(link).__name__}(\n  {body}\n)'
