"""Test cases of functions and links."""
import unittest

import numpy

from chainer import backend, gradient_check, initializers, variable
from chainer.backends import _cpu
from chainer.testing.array import assert_allclose
from chainer.testing.backend import BackendConfig

_MAX_TRIALS = 10


class FunctionTestError(AssertionError):
    """A function does not do what its :class:`FunctionTestCase` expects."""


class LinkTestError(AssertionError):
    """A link does not do what its test case expects."""


def _described(arrays):
    return ', '.join([f'{x.shape}:{x.dtype}' for x in arrays])


def _check_tuple(method, value, error):
    if not isinstance(value, tuple):
        raise error(f'`{method}()` must return a tuple, not {type(value)}.')


def _check_arrays(method, arrays, error=TypeError):
    _check_tuple(method, arrays, error)
    for i, x in enumerate(arrays):
        if not isinstance(x, numpy.ndarray):
            raise error(f'`{method}()` must return a tuple of NumPy arrays: [{i}] is {type(x)}.')


def _check_variables(method, variables, error):
    _check_tuple(method, variables, error)
    for i, x in enumerate(variables):
        if not isinstance(x, variable.Variable):
            raise error(f'`{method}()` must return a tuple of Variables: [{i}] is {type(x)}.')


def _compare(arrays, expected, options, error):
    described = (f'Expected shapes and dtypes: {_described(expected)}\n'
                 f'Actual shapes and dtypes:   {_described(arrays)}\n')
    if len(arrays) != len(expected):
        raise error(f'Number of outputs of forward() ({len(arrays)}, {len(expected)} expected) '
                    f'does not match\n{described}')
    if _described(arrays) != _described(expected):
        raise error(f'Shapes and/or dtypes do not match\n{described}')
    wrong = []
    for i, (x, y) in enumerate(zip(arrays, expected, strict=True)):
        try:
            assert_allclose(x, y, **options)
        except AssertionError as e:
            wrong.append((i, e))
    if wrong:
        details = '\n\n'.join([f'Error details of output [{i}]:\n{e}' for i, e in wrong])
        raise error(
            'Outputs do not match the expected values.\nIndices of outputs that do not match: '
            f'{", ".join([str(i) for i, _ in wrong])}\n{described}\n\n{details}\n')


def _scattered(array):
    """Return a copy of an array whose elements do not lie next to each other."""
    if array is None or array.ndim == 0 or array.size <= 1:
        return array
    xp = backend.get_array_module(array)
    room = xp.zeros((*array.shape[:-1], array.shape[-1] * 2), array.dtype)
    view = room[..., ::2]
    view[...] = array
    return view


class _Base:
    """What all test cases of functions and links have."""

    test_name = None
    backend_config = None
    contiguous = None
    numerical_grad_dtype = numpy.float64
    _option_names = ()

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        # Each test may change its options without changing those of others.
        for name in self._option_names:
            setattr(self, name, dict(getattr(self, name) or {}))

    def before_test(self, test_name):
        """Called before each test.

        Args:
            test_name (str): Name of the test: ``'test_forward'`` and so on.
        """

    def generate_inputs(self):
        """Return the inputs, a tuple of NumPy arrays."""
        raise NotImplementedError(f'{type(self).__name__} must define generate_inputs()')

    def generate_grad_outputs(self, outputs_template):
        """Return gradients of the outputs, a tuple of NumPy arrays; random ones by default.

        Args:
            outputs_template (tuple of arrays): Arrays of the shapes and dtypes of the outputs.
        """
        return tuple([_random_like(y) for y in outputs_template])

    def _begin(self, test_name, backend_config):
        if getattr(self, f'skip_{test_name.removeprefix("test_")}_test', False):
            raise unittest.SkipTest(f'skip_{test_name.removeprefix("test_")}_test is set')
        self.test_name = test_name
        self.backend_config = backend_config = backend_config or BackendConfig({})
        self.before_test(test_name)
        return backend_config

    def _generate_inputs(self):
        inputs = self.generate_inputs()
        _check_arrays('generate_inputs', inputs)
        return inputs

    def _generate_grad_outputs(self, template):
        gys = self.generate_grad_outputs(template)
        _check_tuple('generate_grad_outputs', gys, TypeError)
        return gys

    def _send(self, arrays, backend_config):
        """Bring arrays to the device, laid out as ``contiguous`` says."""
        arrays = [backend_config.get_array(x) for x in arrays]
        if self.contiguous is None:
            arrays = [_scattered(x) for x in arrays]
        elif self.contiguous != 'C':
            raise ValueError(f"contiguous must be None or 'C', not {self.contiguous!r}")
        return tuple(arrays)

    def _dodge(self, trial):
        """Run ``trial``, with other inputs if the function has a corner near them."""
        for i in range(_MAX_TRIALS):
            try:
                return trial()
            except gradient_check.NondifferentiableError:
                if not self.dodge_nondifferentiable or i == _MAX_TRIALS - 1:
                    raise


def _random_like(x):
    return numpy.random.uniform(-1, 1, x.shape).astype(x.dtype)


class FunctionTestBase(_Base):
    """The tests of :class:`FunctionTestCase`, to be called from test methods of another name."""

    check_forward_options = None
    check_backward_options = None
    check_double_backward_options = None
    skip_forward_test = False
    skip_backward_test = False
    skip_double_backward_test = False
    dodge_nondifferentiable = False
    _option_names = (
        'check_forward_options', 'check_backward_options', 'check_double_backward_options')

    def forward(self, inputs, device):
        """Call the function on a tuple of Variables; return a tuple of Variables.

        Args:
            inputs (tuple of Variable): The inputs, on the device.
            device (chainer.backend.Device): The device.
        """
        raise NotImplementedError(f'{type(self).__name__} must define forward()')

    def forward_expected(self, inputs):
        """Return the outputs that are expected, a tuple of NumPy arrays.

        Args:
            inputs (tuple of arrays): The inputs, as NumPy arrays.
        """
        raise NotImplementedError(f'{type(self).__name__} must define forward_expected()')

    def generate_grad_grad_inputs(self, inputs_template):
        """Return gradients of the gradients of the inputs; random ones by default.

        Args:
            inputs_template (tuple of arrays): Arrays of the shapes and dtypes of the inputs.
        """
        return tuple([_random_like(x) for x in inputs_template])

    def check_forward_outputs(self, outputs, expected_outputs):
        """Compare the outputs with what is expected.

        Args:
            outputs (tuple of arrays): The outputs.
            expected_outputs (tuple of arrays): What is expected.

        Raises:
            FunctionTestError: If they differ.
        """
        _compare(outputs, expected_outputs, self.check_forward_options, FunctionTestError)

    def _forward(self, inputs, backend_config):
        with backend_config:
            outputs = self.forward(inputs, backend_config.device)
        _check_variables('forward', outputs, FunctionTestError)
        return outputs

    def _forward_expected(self, inputs):
        outputs = self.forward_expected(inputs)
        _check_arrays('forward_expected', outputs)
        return outputs

    def run_test_forward(self, backend_config):
        """Compare the outputs with those of :meth:`forward_expected`.

        Raises:
            FunctionTestError: If they differ, or an input was changed.
        """
        backend_config = self._begin('test_forward', backend_config)
        cpu_inputs = self._generate_inputs()
        kept = [x.copy() for x in cpu_inputs]
        inputs = self._send([x.copy() for x in cpu_inputs], backend_config)
        expected = self._forward_expected(cpu_inputs)
        outputs = self._forward(tuple([variable.Variable(x) for x in inputs]), backend_config)
        for where, arrays in (('forward_expected', cpu_inputs), ('forward', inputs)):
            for i, (x, before) in enumerate(zip(arrays, kept, strict=True)):
                x = _cpu.array_to_cpu(x)
                if not numpy.array_equal(x, before, equal_nan=before.dtype.kind in 'fc'):
                    raise FunctionTestError(
                        f'Input arrays have been modified during {where}.\n'
                        f'Input[{i}]:\nOriginal:\n{before}\nAfter {where}:\n{x}\n')
        self.check_forward_outputs(
            tuple([_cpu.array_to_cpu(y.array) for y in outputs]), expected)

    def run_test_backward(self, backend_config):
        """Compare the gradients with finite differences.

        Raises:
            FunctionTestError: If they differ.
        """
        backend_config = self._begin('test_backward', backend_config)

        def trial():
            cpu_inputs = self._generate_inputs()
            template = self._forward_expected(tuple([x.copy() for x in cpu_inputs]))
            gys = self._generate_grad_outputs(template)
            self._check(
                'backward', gradient_check.check_backward, backend_config,
                self._send(cpu_inputs, backend_config), self._send(gys, backend_config),
                self.check_backward_options)

        self._dodge(trial)

    def run_test_double_backward(self, backend_config):
        """Compare the gradients of the gradients with finite differences.

        Raises:
            FunctionTestError: If they differ.
        """
        backend_config = self._begin('test_double_backward', backend_config)

        def trial():
            cpu_inputs = self._generate_inputs()
            template = self._forward_expected(tuple([x.copy() for x in cpu_inputs]))
            gys = self._generate_grad_outputs(template)
            ggxs = self.generate_grad_grad_inputs(cpu_inputs)
            _check_tuple('generate_grad_grad_inputs', ggxs, TypeError)
            ggxs = [ggx for x, ggx in zip(cpu_inputs, ggxs, strict=True) if x.dtype.kind == 'f']
            self._check(
                'double backward', gradient_check.check_double_backward, backend_config,
                self._send(cpu_inputs, backend_config), self._send(gys, backend_config),
                self.check_double_backward_options, self._send(ggxs, backend_config))

        self._dodge(trial)

    def _check(self, what, check, backend_config, inputs, gys, options, *more):
        def f(*xs):
            return self._forward(xs, backend_config)

        options = {
            'dtype': self.numerical_grad_dtype,
            'detect_nondifferentiable': self.dodge_nondifferentiable, **options}
        try:
            with backend_config:
                check(f, inputs, gys, *more, **options)
        except AssertionError as e:
            raise FunctionTestError(f'{what} is not implemented correctly\n\n{e}') from e


class FunctionTestCase(FunctionTestBase, unittest.TestCase):
    """Test case of a function: forward, backward and double backward.

    A subclass defines :meth:`generate_inputs`, :meth:`forward` and :meth:`forward_expected`, and
    may override the rest.

    Attributes:
        check_forward_options (dict): Arguments of :func:`chainer.testing.assert_allclose`.
        check_backward_options (dict): Arguments of
            :func:`chainer.gradient_check.check_backward`.
        check_double_backward_options (dict): Arguments of
            :func:`chainer.gradient_check.check_double_backward`.
        skip_forward_test (bool): Whether ``test_forward`` is skipped; ``skip_backward_test`` and
            ``skip_double_backward_test`` likewise.
        dodge_nondifferentiable (bool): Whether new inputs are made, up to ten times, if the
            function has a corner near them.
        contiguous (str or None): ``'C'`` gives the function contiguous arrays, ``None`` others.
        numerical_grad_dtype: Dtype in which finite differences are computed.
        backend_config (BackendConfig): Where the test runs now.
        test_name (str): Which test runs now: ``'test_forward'`` and so on.

    .. doctest::

        >>> from chainer import testing
        >>> @testing.inject_backend_tests(None, [{}])
        ... class TestReLU(testing.FunctionTestCase):
        ...     dodge_nondifferentiable = True
        ...     def generate_inputs(self):
        ...         return np.random.uniform(-1, 1, (3, 2)).astype(np.float32),
        ...     def forward(self, inputs, device):
        ...         x, = inputs
        ...         return F.relu(x),
        ...     def forward_expected(self, inputs):
        ...         x, = inputs
        ...         return np.maximum(x, 0),
    """

    def test_forward(self, backend_config=None):
        """Tests forward computation."""
        self.run_test_forward(backend_config)

    def test_backward(self, backend_config=None):
        """Tests backward computation."""
        self.run_test_backward(backend_config)

    def test_double_backward(self, backend_config=None):
        """Tests double-backward computation."""
        self.run_test_double_backward(backend_config)


class _LinkBase(_Base):
    """What the test cases of links have."""

    param_names = ()

    def generate_params(self):
        """Return initial values or initializers, a tuple or list as :meth:`create_link` takes it.

        They are those of the parameters, in the order of ``param_names``; more may follow.
        """
        raise NotImplementedError(f'{type(self).__name__} must define generate_params()')

    def create_link(self, initializers):
        """Return a new link.

        Args:
            initializers (tuple or list): What :meth:`generate_params` returned.
        """
        raise NotImplementedError(f'{type(self).__name__} must define create_link()')

    def forward(self, link, inputs, device):
        """Call the link on a tuple of Variables; return a tuple of Variables.

        Args:
            link (chainer.Link): The link, on the device.
            inputs (tuple of Variable): The inputs, on the device.
            device (chainer.backend.Device): The device.
        """
        outputs = link(*inputs)
        return outputs if isinstance(outputs, tuple) else (outputs,)

    def _create_link(self, initial, backend_config):
        link = self.create_link(initial)
        link.to_device(backend_config.device)
        return link

    def _generate_params(self):
        params = self.generate_params()
        if not isinstance(params, (tuple, list)):
            raise TypeError(
                f'`generate_params()` must return a tuple or a list, not {type(params)}.')
        return params

    def _params(self, link):
        params = []
        for name in self.param_names:
            param = getattr(link, name, None)
            if param is None:
                raise LinkTestError(f'the link has no parameter {name!r}, which is in param_names')
            params.append(param)
        return tuple(params)

    def _forward(self, link, inputs, backend_config):
        with backend_config:
            outputs = self.forward(
                link, tuple([variable.Variable(x) for x in inputs]), backend_config.device)
        _check_variables('forward', outputs, LinkTestError)
        return outputs


class LinkTestCase(_LinkBase, unittest.TestCase):
    """Test case of a link: forward and backward.

    A subclass sets ``param_names``, defines :meth:`generate_params`, :meth:`create_link`,
    :meth:`generate_inputs` and :meth:`forward_expected`, and may override the rest.

    Attributes:
        param_names (tuple of str): Names of the parameters; their gradients are checked.
        check_forward_options (dict): Arguments of :func:`chainer.testing.assert_allclose`.
        check_backward_options (dict): Arguments of
            :func:`chainer.gradient_check.check_backward`.
        skip_forward_test (bool): Whether ``test_forward`` is skipped; ``skip_backward_test``
            likewise.
        dodge_nondifferentiable (bool): See :class:`FunctionTestCase`, as for the rest.

    .. doctest::

        >>> from chainer import testing
        >>> @testing.inject_backend_tests(None, [{}])
        ... class TestLinear(testing.LinkTestCase):
        ...     param_names = 'W', 'b'
        ...     def generate_params(self):
        ...         return (np.random.randn(2, 3).astype(np.float32),
        ...                 np.random.randn(2).astype(np.float32))
        ...     def create_link(self, initializers):
        ...         return L.Linear(3, 2, initialW=initializers[0], initial_bias=initializers[1])
        ...     def generate_inputs(self):
        ...         return np.random.randn(4, 3).astype(np.float32),
        ...     def forward_expected(self, link, inputs):
        ...         return inputs[0] @ link.W.array.T + link.b.array,
    """

    check_forward_options = None
    check_backward_options = None
    skip_forward_test = False
    skip_backward_test = False
    dodge_nondifferentiable = False
    _option_names = ('check_forward_options', 'check_backward_options')

    def forward_expected(self, link, inputs):
        """Return the outputs that are expected, a tuple of NumPy arrays.

        Args:
            link (chainer.Link): The link, on the CPU.
            inputs (tuple of arrays): The inputs, as NumPy arrays.
        """
        raise NotImplementedError(f'{type(self).__name__} must define forward_expected()')

    def check_forward_outputs(self, outputs, expected_outputs):
        """Compare the outputs with what is expected.

        Args:
            outputs (tuple of arrays): The outputs.
            expected_outputs (tuple of arrays): What is expected.

        Raises:
            LinkTestError: If they differ.
        """
        _compare(outputs, expected_outputs, self.check_forward_options, LinkTestError)

    def test_forward(self, backend_config=None):
        """Tests forward computation."""
        backend_config = self._begin('test_forward', backend_config)
        link = self._create_link(self._generate_params(), backend_config)
        cpu_inputs = self._generate_inputs()
        outputs = self._forward(
            link, self._send([x.copy() for x in cpu_inputs], backend_config), backend_config)
        link.to_device('@numpy')
        expected = self.forward_expected(link, cpu_inputs)
        _check_arrays('forward_expected', expected)
        self.check_forward_outputs(
            tuple([_cpu.array_to_cpu(y.array) for y in outputs]), expected)

    def test_backward(self, backend_config=None):
        """Tests backward computation."""
        backend_config = self._begin('test_backward', backend_config)
        initial = self._generate_params()

        def trial():
            link = self._create_link(initial, backend_config)
            cpu_inputs = self._generate_inputs()
            inputs = self._send(cpu_inputs, backend_config)
            # The first call tells the outputs, and initializes parameters of unknown shape.
            template = tuple([
                _cpu.array_to_cpu(y.array)
                for y in self._forward(link, inputs, backend_config)])
            gys = self._send(self._generate_grad_outputs(template), backend_config)

            params = self._params(link)

            def f(*xs):
                with backend_config:
                    return self.forward(link, xs, backend_config.device)

            options = {
                'dtype': self.numerical_grad_dtype,
                'detect_nondifferentiable': self.dodge_nondifferentiable,
                **self.check_backward_options}
            try:
                with backend_config:
                    gradient_check.check_backward(f, inputs, gys, params, **options)
            except AssertionError as e:
                raise LinkTestError(f'backward is not implemented correctly\n\n{e}') from e

        self._dodge(trial)


class InitializerArgument:
    """An initializer that is given to a link, and what it is to amount to.

    Args:
        argument_value: What is given to the link, ``None`` for example.
        expected_initializer: Initializer, array or scalar that describes the parameter then.
    """

    def __init__(self, argument_value, expected_initializer):
        if expected_initializer is None:
            raise ValueError('expected_initializer must not be None: it tells what None means')
        self.argument_value = argument_value
        self.expected_initializer = expected_initializer


class LinkInitializersTestCase(_LinkBase, unittest.TestCase):
    """Test case of the initializers of a link.

    Each parameter is initialized in each way that :meth:`get_initializers` tells, the others as
    :meth:`generate_params` tells, and compared with what the initializer makes by itself from
    the same state of NumPy's random generator.

    Attributes:
        param_names (tuple of str): Names of the parameters.
        check_initializers_options (dict): Arguments of :func:`chainer.testing.assert_allclose`.
    """

    check_initializers_options = None
    _option_names = ('check_initializers_options',)

    def get_initializers(self):
        """Return, for each parameter, a tuple or list of initializers to be tested.

        Each is an :class:`~chainer.Initializer`, an array, a scalar, or an
        :class:`InitializerArgument`.
        """
        raise NotImplementedError(f'{type(self).__name__} must define get_initializers()')

    def test_initializers(self, backend_config=None):
        """Tests that the parameters are initialized as told."""
        backend_config = self._begin('test_initializers', backend_config)
        tested = self.get_initializers()
        if len(tested) != len(self.param_names):
            raise ValueError(
                f'`get_initializers()` must return {len(self.param_names)} lists, one for each '
                f'of param_names, not {len(tested)}')
        for i, ways in enumerate(tested):
            for way in ways:
                self._test_one(i, way, backend_config)

    def _test_one(self, i, way, backend_config):
        if not isinstance(way, InitializerArgument):
            way = InitializerArgument(way, way)
        initial = list(self._generate_params())
        initial[i] = way.argument_value
        inputs = self._send(self._generate_inputs(), backend_config)
        state = numpy.random.get_state()
        link = self._create_link(tuple(initial), backend_config)
        self._forward(link, inputs, backend_config)
        param = _cpu.array_to_cpu(self._params(link)[i].array)
        after = numpy.random.get_state()
        numpy.random.set_state(state)
        expected = initializers.generate_array(
            initializers._get_initializer(way.expected_initializer), param.shape, numpy,
            param.dtype)
        numpy.random.set_state(after)
        try:
            _compare((param,), (expected,), self.check_initializers_options, LinkTestError)
        except LinkTestError as e:
            e.add_note(f'Parameter {self.param_names[i]} with the initializer '
                       f'{way.argument_value!r}')
            raise
