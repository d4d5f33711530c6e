"""Tests on several backends."""
import functools
import inspect

import chainer
from chainer import backend
from chainer.backends import cuda
from chainer.testing import _bundle, attr

_DEFAULTS = {
    'use_chainerx': False,
    'chainerx_device': None,
    'use_cuda': False,
    'cuda_device': None,
    'use_cudnn': 'never',
    'cudnn_deterministic': False,
    'autotune': False,
    'cudnn_fast_batch_normalization': False,
    'use_ideep': 'never',
}
_CONFIG_ENTRIES = (
    'use_cudnn', 'cudnn_deterministic', 'autotune', 'cudnn_fast_batch_normalization', 'use_ideep')


class BackendConfig:
    """A device, and settings of its libraries, under which a test runs.

    ``with backend_config:`` sets the entries of ``chainer.config``.

    Args:
        params (dict): Settings that are not the default ones: ``use_cuda``, ``cuda_device``,
            ``use_cudnn``, ``cudnn_deterministic``, ``autotune``,
            ``cudnn_fast_batch_normalization``. ``use_ideep``, ``use_chainerx`` and
            ``chainerx_device`` may be given; tests with them are skipped.

    Raises:
        ValueError: If a setting is unknown.

    .. doctest::

        >>> from chainer import testing
        >>> config = testing.BackendConfig({'use_cuda': False})
        >>> config.device
        <CpuDevice (numpy)>
        >>> config.get_array(np.zeros(2))
        array([0., 0.])
    """

    def __init__(self, params):
        if not isinstance(params, dict):
            raise TypeError(f'params must be a dictionary of settings, not {type(params)}')
        for name in params:
            if name not in _DEFAULTS:
                raise ValueError(
                    f'Parameter {name} is not defined; there are {", ".join(_DEFAULTS)}')
        settings = {**_DEFAULTS, **params}
        if settings['use_cuda'] and settings['cuda_device'] is None:
            settings['cuda_device'] = 0
        for name, value in settings.items():
            setattr(self, name, value)
        self._contexts = []

    @property
    def device(self):
        """Device of the test (:class:`chainer.backend.Device`)."""
        if self.use_chainerx:
            raise RuntimeError('ChainerX is not available')
        if self.use_cuda:
            return backend.GpuDevice.from_device_id(self.cuda_device)
        return backend.CpuDevice()

    @property
    def xp(self):
        """Array module of the device."""
        return self.device.xp

    def get_array(self, np_array):
        """Bring an array, or a list or tuple of them, to the device. ``None`` stays ``None``."""
        return None if np_array is None else self.device.send(np_array)

    def get_func_str(self):
        """Return the settings as a text for names of tests."""
        parts = []
        for name in _DEFAULTS:
            value = getattr(self, name)
            text = str(value).lower() if isinstance(value, bool) else str(value)
            parts.append(f'{name}_{text}')
        return '__'.join(parts)

    def get_pytest_marks(self):
        """Return decorators that mark a test with what it needs, and skip it where that lacks."""
        marks = []
        if self.use_chainerx:
            marks.append(attr.chainerx)
        if self.use_cuda:
            marks.append(attr.multi_gpu(self.cuda_device + 1))
            if self.use_cudnn != 'never':
                marks.append(attr.cudnn)
        if self.use_ideep != 'never':
            marks.append(attr.ideep)
        return marks

    def __enter__(self):
        contexts = [chainer.using_config(name, getattr(self, name)) for name in _CONFIG_ENTRIES]
        if self.use_cuda:
            contexts.append(cuda.get_device_from_id(self.cuda_device))
        for context in contexts:
            context.__enter__()
        self._contexts.append(contexts)
        return self

    def __exit__(self, typ, value, traceback):
        for context in reversed(self._contexts.pop()):
            context.__exit__(typ, value, traceback)

    def __repr__(self):
        settings = ' '.join([f'{name}={getattr(self, name)!r}' for name in _DEFAULTS])
        return f'<BackendConfig {settings}>'


def inject_backend_tests(method_names, params):
    """Make a test case of each backend, out of one class.

    The class itself stays, with the other tests. The test cases are subclasses in the module of
    the class, called ``TestName_`` and the settings. A class that derives from it has the tests for
    all of the backends, as ``test_name__`` and the settings.

    Args:
        method_names (list of str): Names of the tests that are run on each backend, or ``None``
            for all. They get a :class:`BackendConfig` as their argument, and have to do
            what is to be done under it in ``with backend_config:``. All others run once.
        params (list of dict): Arguments of :class:`BackendConfig`.

    Returns:
        Decorator of a class.

    .. doctest::

        >>> import unittest
        >>> from chainer import testing
        >>> @testing.inject_backend_tests(None, [{}, {'use_cuda': True}])
        ... class TestReLU(unittest.TestCase):
        ...     def test_forward(self, backend_config):
        ...         x = backend_config.get_array(np.array([-1.0, 1.0]))
        ...         with backend_config:
        ...             testing.assert_allclose(F.relu(x).array, np.array([0, 1]))
    """
    if not (method_names is None or isinstance(method_names, (list, tuple))):
        raise TypeError('method_names must be either None or a list.')
    if not isinstance(params, (list, tuple)):
        raise TypeError('params must be a list of dictionaries.')
    configs = [BackendConfig(p) for p in params]

    def derive(base):
        tests = [name for name in dir(base)
                 if name.startswith('test') and inspect.isfunction(getattr(base, name))]
        for name in method_names or ():
            if not hasattr(base, name):
                raise ValueError(f'{base.__name__} has no test {name}')
        # A decorator below may have left only some of the tests to this class.
        chosen = {name: getattr(base, name) for name in tests
                  if method_names is None or name in method_names}
        if not chosen:
            return [base]
        others = [name for name in tests if name not in chosen]
        for name in chosen:
            setattr(base, name, None)
        cases = [
            _bundle.derived_case(base, f'_{config.get_func_str()}', {
                **{name: _with_config(test, config) for name, test in chosen.items()},
                **dict.fromkeys(others)})
            for config in configs]
        _hand_down(base, chosen, configs)
        return [base, *cases]

    return _bundle.make_decorator(derive)


def _hand_down(base, tests, configs):
    """Let classes that users derive from ``base`` have its tests, for all backends."""
    own = vars(base).get('__init_subclass__')

    def init_subclass(cls, **kwargs):
        if own is None:
            super(base, cls).__init_subclass__(**kwargs)
        else:
            own.__get__(None, cls)(**kwargs)
        if _bundle.is_derived_case(cls):
            return
        for name, test in tests.items():
            if getattr(cls, name) is not None:  # a class on the way has a test of its own
                continue
            for config in configs:
                setattr(cls, f'{name}__{config.get_func_str()}', _with_config(test, config))

    base.__init_subclass__ = classmethod(init_subclass)


def _with_config(method, config):
    @functools.wraps(method)
    def wrapper(self, *args, **kwargs):
        return method(self, config, *args, **kwargs)

    # The wrapper takes no backend_config: pytest would look for a fixture of this name.
    del wrapper.__wrapped__
    for mark in config.get_pytest_marks():
        wrapper = mark(wrapper)
    return wrapper
