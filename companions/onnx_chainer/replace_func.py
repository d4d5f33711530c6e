"""Python functions that stand in the graph as one function: for export as a node of its own."""
import functools
import inspect

import numpy

import chainer
from chainer import function_node
from onnx_chainer._record import flat, mapped


class WrappedFunctionNode(function_node.FunctionNode):
    """A function of Variables, as one node.

    Attributes:
        custom_function_node_name (str): Its name, by which converters are found.
        func: The function.
        args (tuple), kwargs (dict): What it is called with.
    """

    def __init__(self, name, func, args, kwargs, arg_vars, attributes=None):
        self.custom_function_node_name = name
        self.func = func
        self.args = args
        self.kwargs = kwargs
        self._places = {id(x): k for k, x in enumerate(arg_vars)}
        self.structure = None
        vars(self).update(attributes or {})

    def _call(self, xs):
        """Call the function with ``xs`` in the places of the Variables."""
        def with_inputs(value):
            k = self._places.get(id(value)) if isinstance(value, chainer.Variable) else None
            return value if k is None else xs[k]

        return self.func(*mapped(self.args, with_inputs), **mapped(self.kwargs, with_inputs))

    def forward(self, inputs):
        self.retain_inputs(tuple(range(len(inputs))))
        self.structure = self._call([chainer.Variable(x) for x in inputs])
        arrays = tuple(_array(y) for y in flat(self.structure))
        # A result of its own: the node is what makes it.
        return tuple(y.copy() if any(y is x for x in inputs) else y for y in arrays)

    def backward(self, all_indexes, grad_outputs):
        xs = self.get_retained_inputs()
        with chainer.force_backprop_mode():
            outputs = flat(self._call(xs))
            pairs = [(y, g) for y, g in zip(outputs, grad_outputs, strict=True)
                     if g is not None and isinstance(y, chainer.Variable)]
        if not pairs:
            return (None,) * len(all_indexes)
        ys, gs = zip(*pairs, strict=True)
        used = set(self._places.values())  # one place of a Variable that is given several times
        indexes = [i for i in all_indexes if i in used]
        grads = chainer.grad(ys, [xs[i] for i in indexes], gs, enable_double_backprop=True)
        found = dict(zip(indexes, grads, strict=True))
        return tuple(found.get(i) for i in all_indexes)


def _array(value):
    array = value.array if isinstance(value, chainer.Variable) else value
    if not isinstance(array, numpy.ndarray):
        raise ValueError(
            f'a function that stands as one node returns Variables or arrays, not {value!r}')
    return array


def fake_as_funcnode(alt_func, name, rename_attributes=None, experimental_warning=True):
    """Return a function that does what ``alt_func`` does, as one node of the graph.

    Args:
        alt_func (callable): A function (or bound method) of Variables, at least one, also in
            lists, tuples and dictionaries; it returns Variables or arrays likewise. Its other
            arguments become attributes of the node.
        name (str): Name of the node, by which ``external_converters`` are found.
        rename_attributes (list of pairs): Names of arguments, and those of the attributes that
            they are to become.
        experimental_warning (bool): Part of the interface; it does nothing.

    Returns:
        callable: The function. It raises ValueError where it is called without a Variable.

    .. admonition:: Example

        >>> from onnx_chainer.replace_func import fake_as_funcnode
        >>> def add(x, value=0):
        ...     return x.array + value
        >>> add = fake_as_funcnode(add, 'MyAdd', rename_attributes=[('value', 'bias')])
        >>> y = add(chainer.Variable(np.zeros(2, np.float32)), value=10)
        >>> y.creator.custom_function_node_name, y.creator.bias
        ('MyAdd', 10)
    """
    signature = inspect.signature(alt_func)
    renamed = dict(rename_attributes or ())

    @functools.wraps(alt_func)
    def wrapped(*args, **kwargs):
        arg_vars = [x for x in flat([args, kwargs]) if isinstance(x, chainer.Variable)]
        if not arg_vars:
            raise ValueError(
                "arguments of the function wrapped by 'as_funcnode' must include at least one "
                f'chainer.Variable, function name: {name}')
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        attributes = {
            renamed.get(key, key): value for key, value in bound.arguments.items()
            if not any(isinstance(x, chainer.Variable) for x in flat(value))}
        node = WrappedFunctionNode(name, alt_func, args, kwargs, arg_vars, attributes)
        ys = iter(node.apply(tuple(arg_vars)))
        return mapped(node.structure, lambda _: next(ys))

    return wrapped


def as_funcnode(name, rename_attributes=None):
    """A decorator: the function stands in the graph as one node (see :func:`fake_as_funcnode`).

    .. admonition:: Example

        >>> from onnx_chainer.replace_func import as_funcnode
        >>> @as_funcnode('Twice')
        ... def twice(x, times=2):
        ...     return x * times
        >>> y = twice(chainer.Variable(np.ones(2, np.float32)), times=4)
        >>> y.creator.times
        4
    """
    def decorate(func):
        return fake_as_funcnode(func, name, rename_attributes, experimental_warning=False)

    return decorate
