"""Test cases with parameters."""
import functools
import inspect
import itertools

import numpy

from chainer.testing import _bundle

_MAX_NAME = 100


def parameterize(*params):
    """Make a test case of each set of parameters, out of one class.

    Args:
        params (dicts): Sets of parameters: attributes of the test cases, by name. See
            :func:`product` for all combinations.

    Returns:
        Decorator of a class. The test cases are subclasses, called
        ``TestName_param_0_{name=value}`` and so on, in the module of the class; a test that fails
        tells the parameters. Several decorators may stand on top of each other.

    .. doctest::

        >>> import unittest
        >>> from chainer import testing
        >>> @testing.parameterize({'n': 2, 'square': 4}, {'n': 3, 'square': 9})
        ... class TestSquare(unittest.TestCase):
        ...     def test_square(self):
        ...         assert self.n ** 2 == self.square
        >>> TestSquare
        <TestSquare: 2 test cases>
    """
    def derive(base):
        return [
            _bundle.derived_case(base, f'_param_{i}_{{{_param_text(param)}}}', {
                **{name: _unbound(value) for name, value in param.items()},
                '__str__': _str_with(base, param), **_methods_with_note(base, param)})
            for i, param in enumerate(params)]

    return _bundle.make_decorator(derive)


def _unbound(value):
    """Return what makes ``value`` an attribute of instances: functions must not become methods."""
    return staticmethod(value) if hasattr(type(value), '__get__') else value


def _param_text(param):
    return ', '.join([f'{name}={_short(param[name])}' for name in sorted(param)])


def _short(value):
    if isinstance(value, type) or inspect.isroutine(value) and hasattr(value, '__name__'):
        text = value.__name__
    elif isinstance(value, numpy.ndarray):
        text = f'array({numpy.array2string(value, separator=", ", threshold=20)})'
    else:
        text = repr(value)
    text = ' '.join(text.split())
    if len(text) > _MAX_NAME:
        text = f'{text[:_MAX_NAME // 2]}...{text[-_MAX_NAME // 2:]}'
    return text


def _str_with(base, param):
    return lambda self: f'{base.__str__(self)}  parameter: {param}'


def _methods_with_note(base, param):
    lines = ['Test parameters:'] + [f'  {name}: {param[name]!r}' for name in sorted(param)]
    note = '\n'.join(lines)
    return {
        name: _with_note(getattr(base, name), note)
        for name in dir(base)
        if name.startswith('test') and inspect.isfunction(getattr(base, name))
        and name not in param}


def _with_note(method, note):
    @functools.wraps(method)
    def wrapper(*args, **kwargs):
        try:
            return method(*args, **kwargs)
        except Exception as e:
            e.add_note(note)
            raise
    return wrapper


def product(parameter):
    """Return all combinations of values of parameters.

    Args:
        parameter (dict or list): Lists of values by name, or a list of lists of dictionaries,
            one of each of which is picked (see :func:`product_dict`). A name may be several, with
            commas between them; the values are tuples then, of one value for each.

    Returns:
        list of dict: For :func:`parameterize`.

    Raises:
        ValueError: Something is no tuple of as many values as there are names.
        TypeError: ``parameter`` is neither of the two.

    .. doctest::

        >>> from chainer import testing
        >>> testing.product({'n': [1, 2], 'c': ['a', 'b']})
        [{'c': 'a', 'n': 1}, {'c': 'a', 'n': 2}, {'c': 'b', 'n': 1}, {'c': 'b', 'n': 2}]
        >>> testing.product({'n,square': [(1, 1), (2, 4)], 'x': [0]})
        [{'n': 1, 'square': 1, 'x': 0}, {'n': 2, 'square': 4, 'x': 0}]
    """
    if isinstance(parameter, dict):
        return product_dict(
            *[_parameters_of(names, parameter[names]) for names in sorted(parameter)])
    if isinstance(parameter, list):
        if not all([isinstance(dicts, list) for dicts in parameter]):
            raise TypeError('parameter must be a list of lists of dictionaries')
        return product_dict(*parameter)
    raise TypeError(f'parameter must be either dict or list. Actual: {type(parameter)}')


def _parameters_of(names, values):
    if not isinstance(names, str):
        raise _bundle.MisuseError(f'names of parameters must be strings, not {names!r}')
    # A comma may be part of no name, so that a name without one is taken as it is.
    return from_pytest_parameterize(names, values) if ',' in names else [
        {names: value} for value in values]


def product_dict(*parameters):
    """Return all combinations of one dictionary of each list, each merged into one dictionary.

    .. doctest::

        >>> from chainer import testing
        >>> testing.product_dict([{'a': 1}, {'a': 2}], [{'b': 3, 'c': 4}])
        [{'a': 1, 'b': 3, 'c': 4}, {'a': 2, 'b': 3, 'c': 4}]
    """
    return [
        {name: value for one in dicts for name, value in one.items()}
        for dicts in itertools.product(*parameters)]


def from_pytest_parameterize(names, values):
    """Return sets of parameters written as for ``pytest.mark.parametrize``.

    Args:
        names (str): Names, separated by commas.
        values (list): A tuple of values for each set; values alone if there is one name.

    .. doctest::

        >>> from chainer import testing
        >>> testing.from_pytest_parameterize('a,b', [(1, 2), (3, 4)])
        [{'a': 1, 'b': 2}, {'a': 3, 'b': 4}]
    """
    if not isinstance(names, str):
        raise _bundle.MisuseError(
            f'names must be a string of names separated by commas, not {type(names)}')
    names = [name.strip() for name in names.split(',') if name.strip()]
    if len(names) == 1:
        return [{names[0]: value} for value in values]
    for value in values:
        if not isinstance(value, (tuple, list)) or len(value) != len(names):
            raise _bundle.MisuseError(
                f'{value!r} must be a tuple of {len(names)} values, for {", ".join(names)}')
    return [dict(zip(names, value, strict=True)) for value in values]


def parameterize_pytest(names, values):
    """Do what :func:`parameterize` does, with arguments as for ``pytest.mark.parametrize``.

    Args:
        names (str): See :func:`from_pytest_parameterize`.
        values (list): Sets of values.
    """
    return parameterize(*from_pytest_parameterize(names, values))
