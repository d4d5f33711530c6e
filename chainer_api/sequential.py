"""Sequential: a list of callables, each fed with the output of the one before."""
import copy
import functools
import inspect

from chainer import link as _link


class Sequential(_link.ChainList):
    """List of layers that are called one after another.

    A layer is any callable: a link, a function of :mod:`chainer.functions`, an object. What a
    layer returns is the argument of the next one; a tuple is passed as several arguments. The
    links among the layers are the children.

    A Sequential has the methods of a list. ``str()`` shows a table of the layers. With a lambda
    among its layers it cannot be pickled; use ``functools.partial`` instead.

    Args:
        layers: The layers.

    Raises:
        ValueError: A layer is not callable.

    Example:
        >>> import functools, math, chainer
        >>> model = chainer.Sequential(math.sqrt, functools.partial(max, 5))
        >>> model(36)
        6.0
        >>> longer = model + chainer.Sequential(math.floor)
        >>> len(longer), longer(36)
        (3, 6)
    """

    def __init__(self, *layers):
        super().__init__()
        self._layers = []
        for layer in layers:
            self.append(layer)

    def __len__(self):
        """Returns the number of layers."""
        return len(self._layers)

    def __getitem__(self, i):
        """Returns the layer at an index, or the list of the layers in a slice."""
        return self._layers[i]

    def __setitem__(self, i, layer):
        if isinstance(i, slice):
            layers = list(self._layers)
            layers[i] = layer
            self._replace_all(layers)
            return
        i = range(len(self._layers))[i]
        _check_layer(layer)
        del self[i]
        self.insert(i, layer)

    def __delitem__(self, i):
        if isinstance(i, slice):
            layers = list(self._layers)
            del layers[i]
            self._replace_all(layers)
            return
        layer = self._layers.pop(i)
        if isinstance(layer, _link.Link):
            position = next(j for j, child in enumerate(self._children) if child is layer)
            del self._children[position]
            self._rename()

    def _replace_all(self, layers):
        for layer in layers:
            _check_layer(layer)
        self.clear()
        self.extend(layers)

    def __iter__(self):
        return iter(self._layers)

    def __reversed__(self):
        return reversed(self._layers)

    def __contains__(self, item):
        return item in self._layers

    def __add__(self, other):
        ret = Sequential(*self)
        ret += other
        return ret

    def __iadd__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(
                'add (+) operator supports only objects of Sequential class, '
                f'but {type(other)} is given.')
        self.extend(other)
        return self

    def forward(self, *x):
        """Calls the layers in their order.

        Args:
            x: Arguments of the first layer.

        Returns:
            What the last layer returns.

        Raises:
            RuntimeError: There is no layer.
        """
        if not self._layers:
            raise RuntimeError('Sequential does not have any layer.')
        for layer in self._layers:
            x = layer(*x) if isinstance(x, tuple) else layer(x)
        return x

    def __reduce_ex__(self, protocol):
        if any(getattr(layer, '__name__', None) == '<lambda>' for layer in self._layers):
            raise ValueError(
                'This Sequential has a lambda among its layers, and a lambda cannot be pickled. '
                'Use functools.partial or a named function instead, or pickle with dill.')
        return super().__reduce_ex__(protocol)

    def __copy__(self):
        ret = type(self).__new__(type(self))
        ret.__dict__.update(self.__dict__)
        return ret

    def __deepcopy__(self, memo):
        ret = type(self).__new__(type(self))
        memo[id(self)] = ret
        ret.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return ret

    def __str__(self):
        return '\n'.join(
            f'{i}\t{_describe(layer)}' for i, layer in enumerate(self._layers))

    def _str_as_child(self):
        table = str(self).replace('\n', '\n  ')
        return f'{type(self).__name__}(\n  {table}\n)' if table else f'{type(self).__name__}()'

    def append(self, layer):
        """Adds a layer at the end.

        Raises:
            ValueError: ``layer`` is not callable.
        """
        self.insert(len(self._layers), layer)

    def extend(self, sequential):
        """Adds all layers of another Sequential, or of any iterable, at the end."""
        for layer in list(sequential):
            self.append(layer)

    def insert(self, i, layer):
        """Inserts a layer before an index.

        Args:
            i (int): Position, from ``-len(self)`` to ``len(self)``.
            layer: The layer.

        Raises:
            IndexError: ``i`` is out of this range.
            ValueError: ``layer`` is not callable.
        """
        n_layers = len(self._layers)
        if not -n_layers <= i <= n_layers:
            raise IndexError(f'Index out of range: {i}')
        if i < 0:
            i += n_layers
        _check_layer(layer)
        if isinstance(layer, _link.Link):
            self._children.insert(self._child_position(i), layer)
            self._rename()
        self._layers.insert(i, layer)

    def _child_position(self, i):
        # The order of the children makes the names in saved files, and this is Chainer's: not
        # that of the layers, but each new child right after the first one.
        if i == 0:
            return 0
        for j, layer in enumerate(self._layers[:i]):
            if isinstance(layer, _link.Link):
                return j + 1
        return 1

    def remove(self, layer):
        """Takes out the first layer that is the given one.

        Raises:
            ValueError: There is no such layer.
        """
        if layer not in self._layers:
            raise ValueError(f'There is no layer object that is same as {layer}')
        del self[self._layers.index(layer)]

    def remove_by_layer_type(self, type_name):
        """Takes out all layers of a class or function of this name.

        Args:
            type_name (str): Such as ``'Linear'`` or ``'relu'``.
        """
        for i in reversed(range(len(self._layers))):
            if _type_name(self._layers[i]) == type_name:
                del self[i]

    def pop(self, i=-1):
        """Takes out the layer at an index and returns it.

        Raises:
            IndexError: There is no such layer.
        """
        layer = self._layers[i]
        del self[i]
        return layer

    def clear(self):
        """Takes out all layers."""
        self._children = []
        self._layers = []

    def index(self, layer, start=None, end=None):
        """Returns the first index of a layer, in ``range(start, end)`` where these are given.

        Raises:
            ValueError: There is no such layer.
        """
        start = 0 if start is None else start
        end = len(self._layers) if end is None else end
        return self._layers.index(layer, start, end)

    def count(self, layer):
        """Counts how often a layer is among the layers."""
        return self._layers.count(layer)

    def count_by_layer_type(self, type_name):
        """Counts the layers of a class or function of this name.

        Args:
            type_name (str): Such as ``'Linear'`` or ``'relu'``.

        Example:
            >>> import numpy as np, chainer
            >>> chainer.Sequential(np.abs, np.sin, np.abs).count_by_layer_type('sin')
            1
        """
        return sum(_type_name(layer) == type_name for layer in self._layers)

    def _shared_copy(self):
        own = list(self._children)
        ret = super()._shared_copy()
        copies = {id(link): shared for link, shared in zip(own, ret._children, strict=True)}
        ret._layers = [copies.get(id(layer), layer) for layer in self._layers]
        return ret

    def _children_in_forward_order(self):
        return [layer for layer in self._layers if isinstance(layer, _link.Link)]

    def copyparams(self, link, copy_persistent=True):
        """Copies the values of all parameters from a Sequential of the same structure.

        Raises:
            ValueError: ``link`` is not a Sequential, or has no link where this one has one.
        """
        if not isinstance(link, Sequential):
            raise ValueError(
                'Objects other than Sequential object cannot be copied to a Sequential object.')
        _link.Link.copyparams(self, link, copy_persistent)
        for i, layer in enumerate(self._layers):
            if not isinstance(layer, _link.Link):
                continue
            if not isinstance(link[i], _link.Link):
                raise ValueError(
                    f'cannot copy parameters of layer {i}: the source has {link[i]} there, '
                    f'not a {type(layer).__name__}')
            layer.copyparams(link[i], copy_persistent)

    def flatten(self):
        """Returns a new Sequential of the same layers, in which no layer is a Sequential.

        Example:
            >>> import numpy as np, chainer
            >>> inner = chainer.Sequential(np.abs, np.sin)
            >>> print(chainer.Sequential(inner, np.cos).flatten())
            0	absolute
            1	sin
            2	cos
        """
        ret = Sequential()
        for layer in self._layers:
            if isinstance(layer, Sequential):
                ret.extend(layer.flatten())
            else:
                ret.append(layer)
        return ret


def _check_layer(layer):
    if not callable(layer):
        raise ValueError(
            'All elements of the argument should be callable. '
            f'But given {layer} is not callable.')


def _type_name(layer):
    if isinstance(layer, functools.partial):
        return _type_name(layer.func)
    if isinstance(layer, _link.Link):
        return type(layer).__name__
    return getattr(layer, '__name__', type(layer).__name__)


def _describe(layer):
    name = type(layer).__name__
    if isinstance(layer, Sequential):
        return f'{name}\twhich has {len(layer)} layers'
    if isinstance(layer, (_link.Chain, _link.ChainList)):
        return f'{name}\twhose structure is determined at runtime'
    if isinstance(layer, _link.Link):
        return '\t'.join([name, *map(_describe_param, layer.params()), ''])
    if isinstance(layer, functools.partial):
        return repr(layer)
    if getattr(layer, '__name__', None) == '<lambda>':
        return _source_of(layer)
    return getattr(layer, '__name__', name)


def _describe_param(param):
    return f'{param.name}(None)' if param.array is None else f'{param.name}{param.shape}'


def _source_of(function):
    try:
        source = inspect.getsource(function).strip()
    except (OSError, TypeError):  # made at an interactive prompt
        source = ''
    # Since Python 3.13 the text of ``python -c`` passes for that of all that eval has made.
    return source if 'lambda' in source else '<lambda>'
