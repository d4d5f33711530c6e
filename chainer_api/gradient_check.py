"""Comparison of gradients with finite differences."""
import numpy

import chainer
from chainer import backend, functions, utils, variable
from chainer.backends import _cpu, cuda
from chainer.testing.array import assert_allclose as assert_allclose
from chainer.utils import _errors

_ARRAYS = (numpy.ndarray, cuda.ndarray)

# Five equidistant points: what no parabola can follow, an orthonormal basis of it.
_ROUGHNESS = numpy.array([[-1, 2, 0, -2, 1], [1, -4, 6, -4, 1]]) / numpy.sqrt([[10], [70]])


class NondifferentiableError(Exception):
    """A function has no derivative where :func:`numerical_grad` was asked for it."""


def numerical_grad(
        f, inputs, grad_outputs, eps=1e-3, detect_nondifferentiable=False, diff_atol=0,
        diff_rtol=1e-2, center_outputs=None):
    """Compute gradients by finite differences.

    Each element of each input in turn is set to ``x - eps`` and ``x + eps`` in place, and the
    function is called; afterwards the inputs are as they were. The error is of second order in
    ``eps``.

    Args:
        f (callable): Function without arguments that computes a tuple of arrays, or numbers, from
            the arrays ``inputs``. Type checks are off meanwhile, so that it may be called with
            other dtypes than its parameters have.
        inputs (tuple of arrays): Floating point arrays, which ``f`` reads.
        grad_outputs (tuple of arrays or scalars): Gradients with respect to the outputs; ``None``
            where an output does not count.
        eps (float): Step of the differences.
        detect_nondifferentiable (bool): If ``True``, five points are evaluated instead of two
            and those that do not lie on a smooth curve raise an error. It makes the gradients
            more precise, too.
        diff_atol (float): Absolute deviation from a parabola that is tolerated.
        diff_rtol (float): The same, relative to the range of the five values.
        center_outputs (tuple of arrays): What ``f()`` gives at ``inputs``, if it is known; used
            for the five points only.

    Returns:
        tuple of arrays: Gradients, of the shapes and dtypes of ``inputs``.

    Raises:
        NondifferentiableError: If ``detect_nondifferentiable`` is set and the function has a
            corner, a jump or the border of its domain near ``inputs``.
        RuntimeError: If an input is no array of floating point numbers.
        ValueError: If outputs and ``grad_outputs`` do not match in number or shape.

    .. doctest::

        >>> x = np.array([1.0, 2.0])
        >>> gx, = chainer.gradient_check.numerical_grad(
        ...     lambda: (x ** 3,), (x,), (np.ones(2),))
        >>> gx.round(3)
        array([ 3., 12.])
    """
    if not eps > 0:
        raise ValueError(f'eps must be positive, not {eps}')
    for name, value in (('inputs', inputs), ('grad_outputs', grad_outputs)):
        if not isinstance(value, (tuple, list)):
            raise TypeError(f'{name} must be a tuple of arrays, not {type(value)}')
    for x in inputs:
        if x.dtype.kind != 'f':
            raise RuntimeError(
                f'The dtype of input arrays must be kind of float, not {x.dtype}')

    def outputs_here():
        with chainer.using_config('type_check', False):
            return _checked_outputs(f(), grad_outputs)

    if detect_nondifferentiable:
        steps = (-eps, -eps / 2, 0, eps / 2, eps)
        center = (outputs_here() if center_outputs is None
                  else _checked_outputs(center_outputs, grad_outputs))
    else:
        steps = (-eps, eps)
        center = None

    gxs = tuple([numpy.zeros(x.shape, numpy.float64) for x in inputs])
    for i_in, (x, gx) in enumerate(zip(inputs, gxs, strict=True)):
        for index in numpy.ndindex(x.shape):
            points = []
            origin = x[index].copy()
            try:
                for step in steps:
                    if step == 0:
                        points.append(center)
                        continue
                    x[index] = origin + step
                    points.append(outputs_here())
            finally:
                x[index] = origin
            for i_out, gy in enumerate(grad_outputs):
                if gy is None:
                    continue
                ys = [outputs[i_out] for outputs in points]
                if detect_nondifferentiable:
                    _check_smooth(
                        ys, diff_atol, diff_rtol, eps, f'i_in: {i_in}\ni_out: {i_out}\nx: {x}\n'
                        f'index on x: {index}')
                gx[index] += float((_slope(ys, eps) * gy).sum())
    return tuple([
        backend.get_device_from_array(x).send(gx.astype(x.dtype))
        for x, gx in zip(inputs, gxs, strict=True)])


def _slope(ys, eps):
    """Return the derivative in the middle of two or five points between ``-eps`` and ``eps``."""
    ys = [y.astype(numpy.float64) for y in ys]
    if len(ys) == 2:
        return (ys[1] - ys[0]) / (2 * eps)
    # Exact for polynomials up to the fourth degree.
    return (ys[0] - ys[4] + 8 * (ys[3] - ys[1])) / (6 * eps)


def _checked_outputs(outputs, grad_outputs):
    """Return copies of the outputs, ``None`` for those that do not count."""
    if not isinstance(outputs, (tuple, list)):
        raise TypeError(f'the function must return a tuple of arrays, not {type(outputs)}')
    if len(outputs) != len(grad_outputs):
        raise _errors.AssertedValueError(
            f'the function returned {len(outputs)} outputs, but there are {len(grad_outputs)} '
            'gradients of outputs')
    result = []
    for i, (y, gy) in enumerate(zip(outputs, grad_outputs, strict=True)):
        if gy is None:
            result.append(None)
            continue
        if y is None:
            raise _errors.AssertedValueError(
                f'output {i} is None: its gradient must be None, too')
        if isinstance(y, variable.Variable):
            raise TypeError(f'output {i} is a Variable: return its array (y.array)')
        if not isinstance(y, _ARRAYS):
            y = numpy.asarray(y)
        if getattr(gy, 'shape', ()) not in ((), y.shape):
            raise _errors.AssertedValueError(
                f'output {i} has the shape {y.shape}, but its gradient the shape {gy.shape}')
        result.append(y.copy())
    return result


def _check_smooth(ys, atol, rtol, eps, where):
    """Raise an error if five equidistant values do not lie on a parabola, more or less."""
    precision = max([numpy.finfo(y.dtype).eps for y in ys if y.dtype.kind == 'f'], default=0)
    ys = numpy.stack([_cpu.array_to_cpu(y) for y in ys]).astype(numpy.float64)
    finite = numpy.isfinite(ys)
    deviation = spread = tolerance = None
    rough = (finite.any(axis=0) & ~finite.all(axis=0)).any()
    if not rough:
        ys_finite = numpy.where(finite, ys, 0)
        deviation = numpy.sqrt(
            (numpy.tensordot(_ROUGHNESS, ys_finite, 1) ** 2).sum(axis=0) / len(ys))
        spread = ys_finite.max(axis=0) - ys_finite.min(axis=0)
        # Less than that is the error of rounding.
        tolerance = atol + rtol * spread + 2 * precision * abs(ys_finite).max(axis=0)
        rough = (deviation > tolerance).any()
    if not rough:
        return
    lines = ['Tried to compute the numeric gradient on a non-differentiable point.', '', where,
             f'eps: {eps}']
    if deviation is not None:
        lines += [
            f'diff_rtol: {rtol}', f'diff_atol: {atol}',
            f'tolerance (diff_atol + diff_rtol * (ymax - ymin) + rounding): {tolerance}',
            f'deviation from a parabola: {deviation}']
    for name, y in zip(('-eps  ', '-eps/2', '      ', '+eps/2', '+eps  '), ys, strict=True):
        lines.append(f'y[x{name}]: {y}')
    raise NondifferentiableError('\n'.join(lines))


def _as_tuple(x):
    if isinstance(x, tuple):
        return x
    if isinstance(x, list):
        return tuple(x)
    return x,


def _check_arrays(name, arrays, none_allowed=False):
    for i, x in enumerate(arrays):
        if x is None and none_allowed or isinstance(x, _ARRAYS):
            continue
        raise TypeError(f'{name}[{i}] must be an array, not {type(x)}')


def _describe(arrays):
    return ', '.join(['None' if x is None else f'{x.shape}:{x.dtype}' for x in arrays])


def _dump(name, arrays):
    return [f'{name}[{i}]:\n{x}' for i, x in enumerate(arrays)]


def _output_gradients(ys, gys, is_loss=False):
    """Check the gradients given for the outputs ``ys``; a loss gets a gradient of 1."""
    if is_loss:
        if len(ys) != 1 or ys[0].shape != ():
            shapes = ', '.join([str(y.shape) for y in ys])
            raise ValueError(
                'y_grad argument cannot be omitted if the target function is not a loss function, '
                f'which has a single output with shape ().\nActual output shapes: {shapes}')
        return ys[0].xp.ones((), ys[0].dtype),
    given = (f'\nOutput shapes and dtypes         : {_describe(ys)}'
             f'\nOutput gradient shapes and dtypes: {_describe(gys)}')
    if len(ys) != len(gys):
        raise ValueError(
            'Output gradients must contain equally as many elements as the number of output '
            f'elements.{given}')
    for y, gy in zip(ys, gys, strict=True):
        if gy is not None and (y.shape != gy.shape or y.dtype != gy.dtype):
            raise ValueError(
                f'Shapes and/or dtypes of outputs and output gradients do not match.{given}')
    return gys


def _random_directions(arrays):
    """Return arrays of random numbers, none of them close to 0, of the norm 1 in all."""
    directions = [
        numpy.random.choice([-1.0, 1.0], x.shape) * numpy.random.uniform(0.2, 1, x.shape)
        for x in arrays]
    norm = numpy.sqrt(sum([numpy.square(d).sum() for d in directions]))
    return [
        backend.get_device_from_array(x).send(numpy.asarray(d / norm))
        for x, d in zip(arrays, directions, strict=True)]


def _moved(x, direction, distance):
    return utils.force_array(x + distance * direction, x.dtype)


def _direction_as_moved(x, direction, eps):
    """Return the direction in which ``x`` really moves, between two rounded points."""
    ends = [_moved(x, direction, distance).astype(numpy.float64) for distance in (-eps, eps)]
    with numpy.errstate(invalid='ignore'):
        moved = (ends[1] - ends[0]) / (2 * eps)
    # What is not finite does not move; it may be there if the function ignores it.
    xp = backend.get_array_module(moved)
    return xp.where(xp.isfinite(moved), moved, direction)


class _Check:
    """One comparison of the gradients of a function with finite differences."""

    def __init__(self, func, x_data, y_grad, params, no_grads, dtype):
        self.func = func
        self.given = _as_tuple(x_data)
        _check_arrays('x_data', self.given)
        # The function gets the arrays themselves once, in their layout; what it writes to them
        # does not reach the copies.
        self.x_data = tuple([x.copy() for x in self.given])
        self.is_loss = y_grad is None
        self.y_grad = _as_tuple(y_grad)
        _check_arrays('y_grad', self.y_grad, none_allowed=True)
        self.params = _as_tuple(params)
        for i, p in enumerate(self.params):
            if not isinstance(p, variable.Variable):
                raise TypeError(f'params[{i}] must be a Variable, not {type(p)}')
        self.dtype = None if dtype is None else numpy.dtype(dtype)
        if self.dtype is not None and self.dtype.kind != 'f':
            raise ValueError(f'`dtype` is allowed only float type, not {self.dtype}')
        if no_grads is None:
            no_grads = [x.dtype.kind != 'f' for x in self.x_data]
        elif len(no_grads) != len(self.x_data):
            raise ValueError(
                'Length of no_grads param and xs should be same.\n'
                f'Actual: {len(no_grads)} != {len(self.x_data)}')
        self.no_grads = no_grads

    def call(self, xs):
        """Call the function on variables; each output is a variable of its own."""
        ys = _as_tuple(self.func(*xs))
        for y in ys:
            if not isinstance(y, variable.Variable):
                raise TypeError(
                    f'func must return a Variable or a tuple of Variables, not {type(y)}')
        return tuple([functions.identity(y) for y in ys])

    def gradients(self):
        """Return the outputs, their gradients, and those that backward computes.

        The latter are a list over the inputs that are to have gradients, and the parameters;
        ``None`` stands for zeros.
        """
        xs = [variable.Variable(x) for x in self.given]
        for p in self.params:
            p.cleargrad()
        ys = self.call(xs)
        gys = _output_gradients(ys, self.y_grad, self.is_loss)
        seeds = [(y, chainer.as_variable(gy)) for y, gy in zip(ys, gys, strict=True)
                 if gy is not None and y.creator is not None]
        if seeds:
            chainer.backward([y for y, _ in seeds], [gy for _, gy in seeds])
        for i, (x, skip) in enumerate(zip(xs, self.no_grads, strict=True)):
            if skip and x.grad is not None:
                raise RuntimeError(
                    f'gradient of int variable must be None, and of all inputs with no_grads: '
                    f'input {i} has one')
        grads = [x.grad for x, skip in zip(xs, self.no_grads, strict=True) if not skip]
        for p in self.params:
            grads.append(p.grad)
            p.cleargrad()
        return [y.array for y in ys], gys, grads

    def cast(self, array):
        if self.dtype is None or array.dtype.kind != 'f':
            return array
        return array.astype(self.dtype, copy=False)

    def numeric_slope(self, ys, gys, directions, eps, atol, rtol, detect):
        """Return the derivative of the outputs, weighted by ``gys``, along ``directions``."""
        origins = [self.cast(x) for x in self.x_data]
        param_origins = [self.cast(p.array) for p in self.params]
        moved = [i for i, skip in enumerate(self.no_grads) if not skip]
        delta = numpy.array(0.0)

        def step():
            arrays = list(origins)
            distance = float(delta)
            for i, direction in zip(moved, directions, strict=False):
                arrays[i] = _moved(origins[i], direction, distance)
            for p, x, direction in zip(
                    self.params, param_origins, directions[len(moved):], strict=True):
                p.array = _moved(x, direction, distance)
            outputs = self.call([variable.Variable(x.copy()) for x in arrays])
            return tuple([y.array for y in outputs])

        kept = [p.array for p in self.params]
        try:
            gx, = numerical_grad(
                step, (delta,), gys, eps=eps, detect_nondifferentiable=detect,
                diff_atol=0, diff_rtol=rtol,
                center_outputs=ys if self.dtype is None else None)
        finally:
            for p, array in zip(self.params, kept, strict=True):
                p.array = array
        return float(gx)

    def run(self, eps, atol, rtol, detect):
        ys, gys, grads = self.gradients()
        arrays = [x for x, skip in zip(self.x_data, self.no_grads, strict=True) if not skip]
        arrays += [p.array for p in self.params]
        if not arrays:
            return
        directions = _random_directions(arrays)
        backward = sum([
            float((_direction_as_moved(self.cast(x), direction, eps) * g).sum())
            for x, direction, g in zip(arrays, directions, grads, strict=True)
            if g is not None], 0.0)
        numeric = self.numeric_slope(ys, gys, directions, eps, atol, rtol, detect)
        try:
            assert_allclose(numeric, backward, atol=atol, rtol=rtol)
        except AssertionError as e:
            raise AssertionError('\n'.join([
                f'check_backward failed (eps={eps} atol={atol} rtol={rtol})',
                *_dump('inputs', self.x_data), *_dump('params', [p.array for p in self.params]),
                *_dump('grad_outputs', gys), *_dump('directions', directions),
                f'gradients (numeric):  {numeric}', f'gradients (backward): {backward}', '',
                f'x: numeric gradient, y: backward gradient{e}'])) from None


def check_backward(
        func, x_data, y_grad, params=(), eps=1e-3, atol=1e-5, rtol=1e-4, no_grads=None,
        dtype=None, detect_nondifferentiable=False):
    """Compare the gradients that backward computes with finite differences.

    Instead of each element by itself, one directional derivative along a random direction through
    the space of all inputs and parameters is compared; a wrong element of a gradient changes it
    (with probability 1). The function is called three times, or six with
    ``detect_nondifferentiable``, and must give the same outputs for the same inputs each time.

    Args:
        func (callable): Function of Variables that returns a Variable or a tuple of them, also
            a :class:`~chainer.Link`.
        x_data (array or tuple of arrays): Inputs.
        y_grad (array or tuple of arrays or None): Gradients with respect to the outputs, of
            their shapes and dtypes. ``None`` in a tuple: the output does not count. ``None`` alone
            is 1 for the only output of shape ``()`` of a loss function.
        params (Variable or tuple of Variable): Parameters that ``func`` uses, to be checked as
            well.
        eps (float): Length of the step of the differences.
        atol (float): Absolute tolerance, see :func:`chainer.testing.assert_allclose`.
        rtol (float): Relative tolerance.
        no_grads (list of bool): Which inputs are to have no gradient, which is checked. The
            default: those that are no floating point numbers.
        dtype: Floating point dtype to which floating point inputs and the parameters are cast
            when the differences are computed: ``numpy.float64`` is far more precise.
        detect_nondifferentiable (bool): Whether corners and jumps of the function near the
            inputs raise an error.

    Raises:
        AssertionError: If the gradients differ.
        NondifferentiableError: See ``detect_nondifferentiable``.
        RuntimeError: If an input of ``no_grads`` has a gradient.
        ValueError: If ``y_grad`` or ``no_grads`` does not match, or ``dtype`` is no floating point
            type.

    .. doctest::

        >>> x = np.random.randn(3, 2).astype(np.float32)
        >>> gy = np.random.randn(3, 2).astype(np.float32)
        >>> chainer.gradient_check.check_backward(F.tanh, x, gy, dtype=np.float64)

    .. seealso:: :func:`numerical_grad`
    """
    _Check(func, x_data, y_grad, params, no_grads, dtype).run(
        eps, atol, rtol, detect_nondifferentiable)


def check_double_backward(
        func, x_data, y_grad, x_grad_grad, params=(), params_grad_grad=(), eps=1e-3, atol=1e-4,
        rtol=1e-3, no_grads=None, dtype=None, detect_nondifferentiable=False):
    """Compare the gradients of gradients with finite differences.

    The function that is differenced computes the gradients of ``func``, with backward, from its
    inputs and ``y_grad``; whether these are right is not checked (see :func:`check_backward`).

    Args:
        func (callable): See :func:`check_backward`.
        x_data (array or tuple of arrays): Inputs.
        y_grad (array or tuple of arrays): Gradients with respect to the outputs. ``None`` in a
            tuple: the output does not count.
        x_grad_grad (array or tuple of arrays): Gradients with respect to the gradients of the
            inputs; for the inputs without ``no_grads`` only. ``None`` in a tuple: that gradient
            does not count.
        params (Variable or tuple of Variable): Parameters that ``func`` uses.
        params_grad_grad (array or tuple of arrays): Gradients with respect to the gradients of
            the parameters.
        eps (float): See :func:`check_backward`, as for all that follow.
        atol (float): Absolute tolerance.
        rtol (float): Relative tolerance.
        no_grads (list of bool): Which inputs have no gradient.
        dtype: Floating point dtype for the differences.
        detect_nondifferentiable (bool): Whether corners and jumps raise an error.

    Raises:
        AssertionError: If the gradients differ.
        RuntimeError: If backward gives one of the inputs or parameters no gradient at all.

    .. doctest::

        >>> x, gy, ggx = np.random.randn(3, 3, 2)
        >>> chainer.gradient_check.check_double_backward(F.tanh, x, gy, ggx)
    """
    # Checks the arguments, too.
    first = _Check(func, x_data, y_grad, params, no_grads, dtype)
    given_gys = tuple([gy for gy in first.y_grad if gy is not None])
    if not given_gys:
        raise ValueError('y_grad has no gradient of any output, so that there is none of an input')
    n_x = len(first.x_data)
    names = [f'input {i}' for i, skip in enumerate(first.no_grads) if not skip]
    names += [f'parameter {i}' for i in range(len(first.params))]
    grad_grads = _as_tuple(x_grad_grad) + _as_tuple(params_grad_grad)

    def first_order_grad(*inputs):
        xs, gys = inputs[:n_x], list(inputs[n_x:])
        gys = [None if gy is None else gys.pop(0) for gy in first.y_grad]
        ys = first.call(xs)
        _output_gradients(
            [y.array for y in ys], tuple([None if gy is None else gy.array for gy in gys]))
        targets = [x for x, skip in zip(xs, first.no_grads, strict=True) if not skip]
        targets += first.params
        for target in targets:
            target.cleargrad()
        seeds = [(y, gy) for y, gy in zip(ys, gys, strict=True)
                 if gy is not None and y.creator is not None]
        chainer.backward(
            [y for y, _ in seeds], [gy for _, gy in seeds], enable_double_backprop=True)
        missing = [name for name, target in zip(names, targets, strict=True)
                   if target.grad_var is None]
        if missing:
            raise RuntimeError(
                'gradients of some arguments are not calculated, so that there is nothing to '
                f'differentiate again: {", ".join(missing)}. Leave them out: no_grads for inputs, '
                'fewer params')
        gxs = tuple([functions.identity(target.grad_var) for target in targets])
        for target in targets:
            target.cleargrad()
        return gxs

    try:
        check_backward(
            first_order_grad, first.given + given_gys, grad_grads, params, eps, atol, rtol,
            list(first.no_grads) + [False] * len(given_gys), dtype, detect_nondifferentiable)
    except AssertionError as e:
        raise AssertionError('\n'.join([
            f'check_double_backward failed (eps={eps} atol={atol} rtol={rtol})',
            *_dump('input', first.x_data), *_dump('grad_output', first.y_grad),
            *_dump('grad_grad_input', grad_grads), '', str(e)])) from e
