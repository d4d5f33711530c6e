"""The classes behind the functions, by name: Chainer 1 to 4 had them in ``chainer.functions``."""
import pkgutil
import sys

from chainer import function, function_node


def find(name):
    """Return the class of functions of a name, or ``None``.

    It is looked for in the modules of ``chainer.functions``, which are all imported with it.

    .. doctest::

        >>> from chainer.functions.pooling.max_pooling_2d import MaxPooling2D
        >>> F.MaxPooling2D is MaxPooling2D
        True
    """
    package = sys.modules['chainer.functions']
    for info in pkgutil.walk_packages(package.__path__, 'chainer.functions.'):
        module = sys.modules.get(info.name)
        found = None if module is None else vars(module).get(name)
        if (isinstance(found, type) and found.__module__ == info.name
                and issubclass(found, (function.Function, function_node.FunctionNode))):
            return found
    return None
