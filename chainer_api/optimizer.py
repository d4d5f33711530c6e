"""Base classes of optimizers."""
import copy
import inspect
import math
import warnings
from typing import Any, Self

import numpy

import chainer
from chainer import _backprop, _tracing, configuration, optimizer_hooks, utils, variable
from chainer import link as link_module
from chainer import serializer as serializer_module
from chainer.backends import _chainerx

_TIMINGS = ('pre', 'post', 'auto')
_cleargrads = link_module.Link.cleargrads
_all_params = link_module._all_params


class Hyperparameter:
    """Set of hyperparameters, each an attribute, with a parent that provides the missing ones.

    Each update rule has a set whose parent is the set of its optimizer: a change there holds for
    all parameters, and a change in the set of a rule for one.

    Args:
        parent (Hyperparameter): Set to ask for what this one lacks.

    Example:
        >>> from chainer.optimizer import Hyperparameter
        >>> common = Hyperparameter()
        >>> common.lr = 0.1
        >>> own = Hyperparameter(common)
        >>> own.lr
        0.1
        >>> own.lr = 0.5
        >>> own, common
        (Hyperparameter(lr=0.5), Hyperparameter(lr=0.1))
    """

    def __init__(self, parent=None):
        self._parent = parent

    def __getattr__(self, name):
        # Called only for what this object lacks itself, in unpickling even for its parent.
        parent = self.__dict__.get('_parent')
        if parent is None:
            raise AttributeError(f'there is no hyperparameter {name!r}')
        return getattr(parent, name)

    def __repr__(self):
        entries = ', '.join(f'{key}={value}' for key, value in sorted(self.get_dict().items()))
        return f'Hyperparameter({entries})'

    def _nearest(self):
        """Returns the first of this set and its parents that has a hyperparameter of its own."""
        found = self
        while len(found.__dict__) == 1 and found._parent is not None:
            found = found._parent
        return found

    @property
    def parent(self):
        """Parent set, or ``None``."""
        return self._parent

    def get_dict(self):
        """Returns a dict of all hyperparameters, those of the parent among them."""
        entries = {} if self._parent is None else self._parent.get_dict()
        entries.update((key, value) for key, value in vars(self).items() if key != '_parent')
        return entries


def _set_given(hyperparam, **values):
    """Sets the hyperparameters whose values are not ``None``."""
    for name, value in values.items():
        if value is not None:
            setattr(hyperparam, name, value)


class HyperparameterProxy:
    """Descriptor that makes an attribute of an optimizer stand for one of its ``hyperparam``.

    Args:
        attr_name (str): Name of the hyperparameter.

    Example:
        >>> import chainer
        >>> class MySGD(chainer.GradientMethod):
        ...     lr = chainer.optimizer.HyperparameterProxy('lr')
        >>> optimizer = MySGD()
        >>> optimizer.lr = 0.5
        >>> optimizer.hyperparam
        Hyperparameter(lr=0.5)
    """

    def __init__(self, attr_name):
        self._attr_name = attr_name
        self.__doc__ = f'Alias to ``self.hyperparam.{attr_name}``'

    def __get__(self, obj, type=None) -> Any:
        if obj is None:
            return self
        return getattr(obj.hyperparam, self._attr_name)

    def __set__(self, obj, value):
        setattr(obj.hyperparam, self._attr_name, value)


class _Hookable:
    """Holder of named hooks of two timings, in the order in which they were added."""

    _pre_update_hooks = None
    _post_update_hooks = None

    def _clear_hooks(self):
        self._pre_update_hooks = {}
        self._post_update_hooks = {}

    def __setstate__(self, state):
        state = dict(state)
        # In pickles of Chainer 7 the hooks are those of another object.
        hookable = state.pop('_hookable', None)
        self.__dict__.update(state)
        if hookable is not None:
            self._pre_update_hooks = hookable._pre_update_hooks
            self._post_update_hooks = hookable._post_update_hooks

    def _add_hook(self, hook, name, timing):
        if not callable(hook):
            raise TypeError('hook function must be callable')
        if timing not in _TIMINGS:
            raise ValueError(f'timing must be one of {_TIMINGS}. Actual: {timing!r}')
        if timing == 'auto':
            timing = getattr(hook, 'timing', 'pre')
            if timing not in ('pre', 'post'):
                warnings.warn(
                    f"Hook timing attribute {timing!r} is neither 'pre' nor 'post'; "
                    "taking 'pre'.", stacklevel=3)
                timing = 'pre'
        if name is None:
            name = getattr(hook, 'name', getattr(hook, '__name__', None))
            if name is None:
                raise ValueError(
                    'the name of the hook function is not specified; pass it as add_hook(hook, '
                    'name=...)')
        if name in self._pre_update_hooks or name in self._post_update_hooks:
            raise KeyError(f'hook "{name}" already exists')
        hooks = self._pre_update_hooks if timing == 'pre' else self._post_update_hooks
        hooks[name] = hook

    def _remove_hook(self, name):
        hooks = self._pre_update_hooks
        del (hooks if name in hooks else self._post_update_hooks)[name]


_OptimizerHookable = _Hookable  # another name in pickles of Chainer 7


class UpdateRule(_Hookable):
    """Base class of update rules, which update one parameter each.

    :meth:`GradientMethod.setup` gives a rule to each parameter, as its attribute
    ``update_rule``. A child class implements :meth:`update_core`, or
    :meth:`update_core_cpu` and :meth:`update_core_gpu`; and :meth:`init_state` if it keeps arrays
    from one update to the next.

    Args:
        parent_hyperparam (Hyperparameter): Where missing hyperparameters come from.

    Attributes:
        enabled (bool): Whether :meth:`update` does anything.
        hyperparam (Hyperparameter): Hyperparameters of this rule.
        t (int): Number of updates so far.

    Example:
        >>> import numpy as np, chainer
        >>> class HalfStep(chainer.UpdateRule):
        ...     def update_core(self, param):
        ...         param.array -= 0.5 * param.grad
        >>> param = chainer.Parameter(np.ones(2, np.float32))
        >>> param.grad = np.ones(2, np.float32)
        >>> param.update_rule = HalfStep()
        >>> param.update()
        >>> param.array
        array([0.5, 0.5], dtype=float32)
    """

    # Whether each number is updated on its own, so that parameters may be joined or split.
    is_elementwise = False

    def __init__(self, parent_hyperparam=None):
        self._state = None
        self._clear_hooks()
        self._use_fp32_update = False
        self._fp32_param = None
        self.enabled = True
        self.hyperparam = Hyperparameter(parent_hyperparam)
        self.t = 0

    @property
    def state(self):
        """Dict of what the rule keeps between updates; ``None`` before the first update."""
        return self._state

    def add_hook(self, hook, name=None, timing='auto'):
        """Adds a hook that is called in each update of the parameter.

        Args:
            hook (callable): Takes the update rule and the parameter.
            name (str): Name of the hook. The default is its attribute ``name`` or ``__name__``.
            timing (str): ``'pre'``: before the update; ``'post'``: after it; ``'auto'``: what
                the attribute ``timing`` of the hook says, and ``'pre'`` if there is none.

        Raises:
            TypeError: ``hook`` is not callable.
            ValueError: There is no name, or ``timing`` is another one.
            KeyError: There is a hook of this name.
        """
        self._add_hook(hook, name, timing)

    def remove_hook(self, name):
        """Removes a hook.

        Raises:
            KeyError: There is no hook of this name.
        """
        self._remove_hook(name)

    def update(self, param):
        """Calls the hooks and updates the parameter.

        Nothing happens if the rule is disabled. For a parameter without an array only
        :meth:`update_core` is called, which does nothing unless a child class overrides it.

        Args:
            param (chainer.Parameter): Parameter, with its gradient.
        """
        if not self.enabled:
            return
        self.t += 1
        if param.array is None:
            self.update_core(param)
            return
        if self._use_fp32_update and param.dtype == numpy.float16:
            self._update_in_fp32(param)
        else:
            _unscale_grad(param)
            self._update(param)

    def _update(self, param):
        self._init_states(param)
        for hook in self._pre_update_hooks.values():
            hook(self, param)
        self.update_core(param)
        for hook in self._post_update_hooks.values():
            hook(self, param)

    def _update_in_fp32(self, param):
        wide = self._fp32_param
        if wide is None:
            wide = self._fp32_param = variable.Parameter(
                param.array.astype(numpy.float32), name=param.name)
        if param.grad is None:
            wide.cleargrad()
        else:
            wide.grad = param.grad.astype(numpy.float32)
        wide._loss_scale = param._loss_scale
        _unscale_grad(wide)
        self._update(wide)
        param.array[...] = wide.array
        wide.cleargrad()

    def _init_states(self, param):
        if self._state is None:
            try:
                self._state = {}
                with chainer.using_device(param.device):
                    self.init_state(param)
            except BaseException:  # a timeout, say: the next update begins anew
                self._state = None
                raise
            return
        on_cpu = type(param.array) is numpy.ndarray
        for name, value in self._state.items():
            # A state that was loaded, or whose parameter moved, may be on another device.
            if not (on_cpu and type(value) is numpy.ndarray) and \
                    isinstance(value, chainer.backend.get_array_types()):
                self._state[name] = param.device.send(value)

    def update_core(self, param):
        """Updates the parameter: :meth:`update_core_cpu` or :meth:`update_core_gpu`.

        Args:
            param (chainer.Parameter): Parameter, with its gradient.
        """
        if param.array is None:
            return
        if isinstance(param.array, numpy.ndarray):
            self.update_core_cpu(param)
        else:
            with chainer.using_device(param.device):
                self.update_core_gpu(param)

    def update_core_cpu(self, param):
        """Updates a parameter on the CPU.

        Args:
            param (chainer.Parameter): Parameter, with its gradient.
        """
        raise NotImplementedError(
            f'{type(self).__name__} implements neither update_core nor update_core_cpu')

    def update_core_gpu(self, param):
        """Updates a parameter on a GPU.

        Args:
            param (chainer.Parameter): Parameter, with its gradient.
        """
        raise NotImplementedError(
            f'{type(self).__name__} implements neither update_core nor update_core_gpu')

    def update_core_chainerx(self, param):
        """Updates a parameter of ChainerX; never called, as there are none.

        Args:
            param (chainer.Parameter): Parameter, with its gradient.
        """
        _chainerx.not_available()

    def init_state(self, param):
        """Sets up ``self.state`` (an empty dict) at the first update.

        Args:
            param (chainer.Parameter): Parameter, which tells shapes and types.
        """

    def serialize(self, serializer):
        """Saves or loads ``t`` and the state; not the parameter, which the link saves.

        Args:
            serializer (chainer.AbstractSerializer): Serializer or deserializer.

        Raises:
            KeyError: The file has no state for a rule that is enabled and was updated.
        """
        self.t = serializer('t', self.t)
        if isinstance(serializer, serializer_module.Deserializer):
            self._fp32_param = None
            if self.t == 0:
                self._state = None
            elif self._state is None:
                self._state = self._load_new_state(serializer)
                return
        for key in self._state or ():
            self._state[key] = serializer(key, self._state[key])

    def _load_new_state(self, serializer):
        # Names and types of the entries are known from the first update on only.
        state = {}
        for key in self._state_keys():
            try:
                value = serializer(key, None)
            except KeyError:
                if self.enabled:
                    raise
                return None
            if value is None:
                return None
            state[key] = copy.copy(value)
        return state

    def _state_keys(self):
        self._state = {}
        try:
            self.init_state(variable.Variable(numpy.empty(1, numpy.float32)))
            return list(self._state)
        finally:
            self._state = None

    def use_fp32_update(self, flag=True):
        """Makes the rule update a float16 parameter in float32.

        The rule then keeps a float32 copy of the parameter, updates that with the gradient
        converted to float32, and converts the result to float16 each time.

        Args:
            flag (bool): Whether to do so.
        """
        self._use_fp32_update = flag


class _StepRule(UpdateRule):
    """Base class of update rules whose update is one function of arrays and numbers.

    A child class implements ``_numbers(dtype)``, which computes a tuple of numbers from
    hyperparameters and counts, and the static method ``_step(xp, array, grad, state, numbers)``,
    which writes to ``array`` and to the arrays of the dict ``state``, each number on its own. What
    it does may depend on which numbers are ``None``, but on no other value: the same lines run on
    arrays and are recorded for native code.

    Args:
        parent_hyperparam (Hyperparameter): Where missing hyperparameters come from.

    Example:
        >>> import numpy as np, chainer
        >>> class HalfStep(chainer.optimizer._StepRule):
        ...     def _numbers(self, dtype):
        ...         return 0.5,
        ...     @staticmethod
        ...     def _step(xp, array, grad, state, numbers):
        ...         array -= numbers[0] * grad
        >>> param = chainer.Parameter(np.ones(2, np.float32))
        >>> param.grad = np.ones(2, np.float32)
        >>> param.update_rule = HalfStep()
        >>> param.update()
        >>> param.array
        array([0.5, 0.5], dtype=float32)
    """

    is_elementwise = True
    # Names of attributes, besides hyperparam and t, that the numbers depend on.
    _own_numbers = ()

    def _numbers(self, dtype):
        raise NotImplementedError(f'{type(self).__name__} does not implement _numbers')

    @staticmethod
    def _step(xp, array, grad, state, numbers):
        raise NotImplementedError('an update rule does not implement _step')

    def update_core_cpu(self, param):
        grad = param.grad
        if grad is None:
            return
        xp = chainer.backend.get_array_module(grad)
        self._step(xp, param.array, grad, self.state, self._numbers(grad.dtype))

    update_core_gpu = update_core_cpu


_update = None


def _native_updates_wanted():
    """Whether the settings ask for native updates, whose module is loaded then."""
    global _update
    if configuration.peek('static_target') == 'numpy' or not configuration.peek('static_step'):
        return False
    if _update is None:
        from chainer.graph_optimizations import _update
    return True


def _unscale_grad(param):
    scale = param._loss_scale
    if scale is None:
        return
    param._loss_scale = None
    if param.grad is not None:
        # Not in place, for backward may have set a read-only array.
        param.grad = utils.force_array(param.grad / param.dtype.type(scale))


class Optimizer(_Hookable):
    """Base class of optimizers, which minimize a loss by changing the parameters of a link.

    :meth:`setup` sets the link; a child class implements :meth:`update`. Hooks may be
    called in each update; one with a true attribute ``call_for_each_param`` is called for each
    parameter. Methods that use one gradient per update are better derived from
    :class:`GradientMethod`.

    Attributes:
        target (chainer.Link): Link whose parameters are optimized.
        t (int): Number of updates so far.
        epoch (int): Number of epochs so far, see :meth:`new_epoch`.
        use_auto_new_epoch (bool): Whether the updater calls :meth:`new_epoch`.
    """

    target = None
    t = 0
    epoch = 0
    use_auto_new_epoch = False

    _updates = None

    _loss_scale = None
    _loss_scale_max = 65504  # the largest float16
    _loss_scaling_is_dynamic = False
    _loss_scaling_multiplier = 2.0
    _loss_scaling_isnan_ever = False
    _loss_scaling_isnan = False

    def setup(self, link) -> Self:
        """Sets the target, and forgets hooks, states and counts.

        Args:
            link (chainer.Link): Target.

        Returns:
            self

        Raises:
            TypeError: ``link`` is not a link.
        """
        if not isinstance(link, link_module.Link):
            raise TypeError(f'optimization target must be a link. Actual type: {type(link)}')
        self.target = link
        self.t = 0
        self.epoch = 0
        self._clear_hooks()
        return self

    def update(self, lossfun=None, *args, **kwds):
        """Updates the parameters of the target.

        Args:
            lossfun (callable): Function that returns the loss. Without it, gradients must have
                been computed.
            args, kwds: Arguments of ``lossfun``.
        """
        raise NotImplementedError(f'{type(self).__name__} does not implement update')

    def new_epoch(self, auto=False):
        """Counts a new epoch.

        Args:
            auto (bool): Whether the caller is an updater, which then has to have set
                ``use_auto_new_epoch``.

        Raises:
            RuntimeError: ``auto`` and ``use_auto_new_epoch`` differ.
        """
        if auto and not self.use_auto_new_epoch:
            raise RuntimeError(
                'invalid new_epoch call with auto=True.\n'
                'Fix the updater to set optimizer.use_auto_new_epoch = True.')
        if self.use_auto_new_epoch and not auto:
            raise RuntimeError(
                'duplicated new_epoch with the updater.\n'
                'Pass auto_new_epoch=False to the updater or stop calling new_epoch outside '
                'the updater.')
        self.epoch += 1

    def _check_set_up(self):
        if self._pre_update_hooks is None:
            raise RuntimeError('Optimizer is not set up. Call `setup` method.')

    def add_hook(self, hook, name=None, timing='auto'):
        """Adds a hook that is called in each update.

        Args:
            hook (callable): Takes the optimizer; or, with a true attribute
                ``call_for_each_param``, an update rule and its parameter.
            name (str): Name of the hook. The default is its attribute ``name`` or ``__name__``.
            timing (str): ``'pre'``: before the update; ``'post'``: after it; ``'auto'``: what
                the attribute ``timing`` of the hook says, and ``'pre'`` if there is none.

        Raises:
            RuntimeError: The optimizer is not set up.
            TypeError: ``hook`` is not callable.
            ValueError: There is no name, or ``timing`` is another one.
            KeyError: There is a hook of this name.
        """
        self._check_set_up()
        self._add_hook(hook, name, timing)

    def remove_hook(self, name):
        """Removes a hook.

        Raises:
            RuntimeError: The optimizer is not set up.
            KeyError: There is no hook of this name.
        """
        self._check_set_up()
        self._remove_hook(name)

    def call_hooks(self, timing='pre'):
        """Calls the hooks of a timing (``'pre'`` or ``'post'``) in the order of registration.

        Raises:
            RuntimeError: The optimizer is not set up.
            ValueError: ``timing`` is another one.
        """
        self._check_set_up()
        if timing not in ('pre', 'post'):
            raise ValueError(f"timing must be either 'pre' or 'post'. Actual: {timing!r}")
        hooks = self._pre_update_hooks if timing == 'pre' else self._post_update_hooks
        for hook in hooks.values():
            self.call_hook(hook)
            self._grads_after_hook()

    def call_hook(self, hook):
        """Calls one hook, once or for each parameter."""
        if getattr(hook, 'call_for_each_param', False):
            params = list(self.target.params())
            if not (_native_updates_wanted() and self._native_updates().hook(hook, params)):
                for param in params:
                    hook(param.update_rule, param)
        else:
            hook(self)

    def _grads_after_hook(self):
        """What a kind of optimizers does after each hook."""

    def _native_updates(self):
        if self._updates is None:
            self._updates = _update.Updates()
        return self._updates

    def serialize(self, serializer):
        """Saves or loads the counts and the states of all update rules.

        The parameters are not among them; save the link as well.

        Args:
            serializer (chainer.AbstractSerializer): Serializer or deserializer.

        Raises:
            RuntimeError: The optimizer is not set up.
        """
        if self.target is None:
            raise RuntimeError('Optimizer is not set up. Call `setup` method.')
        self.t = serializer('t', self.t)
        self.epoch = serializer('epoch', self.epoch)
        for name, param in self.target.namedparams():
            rule = getattr(param, 'update_rule', None)
            if rule is None:
                continue
            try:
                rule.serialize(serializer[name])
            except KeyError:
                if param.array is not None:
                    raise
                # A parameter without an array counts its updates, but has no state yet.

    def loss_scaling(self, interval=1000, scale=None):
        """Scales the loss, and the gradients back, so that float16 gradients do not vanish.

        Without ``scale`` the factor is dynamic: it starts with 1 and doubles in each update until
        a gradient is not finite; that update is skipped and the factor halved. From then on the
        factor doubles in ``interval`` updates.

        Args:
            interval (int): Number of updates in which a dynamic factor doubles.
            scale (float): Fixed factor: whatever gradients are, parameters are updated by them.

        Raises:
            ValueError: ``interval`` is less than one, or ``scale`` not positive.
        """
        if scale is not None:
            if scale <= 0:
                raise ValueError(f'loss_scale must be a positive number. Actual: {scale}')
            self._loss_scaling_is_dynamic = self._loss_scaling_isnan = False
            self._loss_scale = scale
            return
        if interval < 1:
            raise ValueError(
                f'interval must be greater than or equal to 1. Actual: {interval}')
        self._loss_scale = 1.0
        self._loss_scaling_is_dynamic = True
        self._loss_scaling_multiplier = math.pow(2.0, 1.0 / interval)
        self._loss_scaling_isnan_ever = False

    def set_loss_scale(self, loss_scale):
        """Sets a fixed factor of the loss; ``None`` makes it dynamic, see :meth:`loss_scaling`.

        Raises:
            ValueError: ``loss_scale`` is not positive.
        """
        self.loss_scaling(scale=loss_scale)

    def check_nan_in_grads(self):
        """Looks for gradients that are not finite, and warns of each."""
        self._loss_scaling_isnan = False
        for name, param in self.target.namedparams():
            grad = param.grad if param.array is not None else None
            if grad is None:
                continue
            xp = chainer.backend.get_array_module(grad)
            if not xp.isfinite(grad).all():
                self._loss_scaling_isnan = True
                self._loss_scaling_isnan_ever = True
                warnings.warn(
                    f'Non finite number found in param.grad of {name} '
                    f'(iteration: {self.t}, loss_scale: {self._loss_scale})', stacklevel=2)

    def is_safe_to_update(self):
        """Returns whether the last :meth:`check_nan_in_grads` found finite gradients only."""
        return not self._loss_scaling_isnan

    def update_loss_scale(self):
        """Changes a dynamic loss scale after an update, as :meth:`loss_scaling` tells."""
        if not self._loss_scaling_is_dynamic:
            return
        multiplier = self._loss_scaling_multiplier if self._loss_scaling_isnan_ever else 2.0
        if self._loss_scaling_isnan:
            multiplier = 0.5
        self._loss_scale = max(1., min(self._loss_scale_max, self._loss_scale * multiplier))


def _fill_missing_grads(params):
    """Makes a gradient of zeros for each parameter that has an array and no gradient.

    Returns whether there was one.
    """
    found = False
    for param in params:
        grad = param._node._grad_var  # param.grad, quickly
        if (grad is None or grad._array is None) and (array := param.array) is not None:
            found = True
            if type(array) is numpy.ndarray:
                param._node.grad_var = variable._make_gradient(numpy.zeros_like(array), True)
                continue
            with chainer.using_device(param.device):
                param.grad = chainer.backend.get_array_module(array).zeros_like(array)
    return found


class GradientMethod(Optimizer):
    """Base class of optimizers that use one gradient per update.

    A child class implements :meth:`create_update_rule`, and mentions each hyperparameter in a
    :class:`HyperparameterProxy`.

    Attributes:
        hyperparam (Hyperparameter): Hyperparameters; each update rule has a set of its own whose
            parent this is.

    Example:
        >>> import numpy as np, chainer
        >>> link = chainer.Link()
        >>> link.add_param('x', initializer=np.array([3.0]))
        >>> optimizer = chainer.optimizers.SGD(lr=0.25).setup(link)
        >>> link.x.grad = np.array([2.0])
        >>> optimizer.update()
        >>> link.x.array
        array([2.5])
    """

    _use_cleargrads = True

    def __init__(self):
        super().__init__()
        self.hyperparam = Hyperparameter()
        self._use_fp32_update = False

    def setup(self, link) -> Self:
        super().setup(link)
        for param in link.params():
            param.update_rule = self.create_update_rule()
            if self._use_fp32_update:
                param.update_rule.use_fp32_update()
        return self

    def reallocate_cleared_grads(self):
        """Makes a gradient of zeros for each parameter that has none.

        It is called before hooks; a child class that does not need it overrides it.
        """
        _fill_missing_grads(self.target.params(False))

    def _grads_after_hook(self):
        self.reallocate_cleared_grads()

    def update(self, lossfun=None, *args, **kwds):
        """Updates the parameters of the target.

        Args:
            lossfun (callable): Function that returns the loss, whose gradients are computed then.
                Without it, gradients must have been computed.
            args, kwds: Arguments of ``lossfun``.
        """
        if self.target is None:
            self._check_set_up()
        params = None
        _tracing.settle('parameters are updated')
        _tracing.settle_late(None, 'parameters are updated')
        if lossfun is not None:
            loss = _tracing.as_whole(lossfun, self.target)(*args, **kwds)
            params = self._backward(loss)
            del loss
        plain = type(self).reallocate_cleared_grads is GradientMethod.reallocate_cleared_grads
        if params is None:
            again = None if self._updates is None else self._updates.again(self.target)
            params = _all_params(self.target) if again is None else again.params
        if plain and self._is_updated_again(params):
            return
        if plain:
            if _fill_missing_grads(params) and self._is_updated_again(params):
                return
        else:
            self.reallocate_cleared_grads()
        if self._loss_scaling_is_dynamic:
            self.check_nan_in_grads()
        self.call_hooks('pre')
        self.t += 1
        if self._pre_update_hooks or not plain:
            params = _all_params(self.target)  # of which there may be others now
        if self.is_safe_to_update():
            if not (_native_updates_wanted() and self._native_updates().run(params)):
                for param in params:
                    param.update()
        if plain:
            _fill_missing_grads(params)
        else:
            self.reallocate_cleared_grads()
        self.call_hooks('post')
        self.update_loss_scale()

    def _is_updated_again(self, params):
        """Update all parameters as in the last update; return False if more is to be done."""
        if (self._pre_update_hooks or self._post_update_hooks or self._loss_scale is not None
                or type(self).call_hooks is not Optimizer.call_hooks
                or self._updates is None or not _native_updates_wanted()
                or not self.is_safe_to_update()):
            return False
        self.t += 1
        if not self._updates.run_again(params):
            self.t -= 1
            return False
        self.update_loss_scale()
        return True

    def _backward(self, loss):
        """Compute gradients; return the parameters, where nothing can have changed them since."""
        target, params = self.target, None
        _tracing.settle('backward')
        if not self._use_cleargrads:
            target.zerograds()
        elif type(target).cleargrads is _cleargrads and 'cleargrads' not in target.__dict__:
            again = None if self._updates is None else self._updates.again(target)
            if again is not None:
                params = again.params
                for node in again.nodes:
                    node._grad_var = None
            else:
                params = _all_params(target)
                for param in params:
                    param.cleargrad()
            if self._loss_scale is None and _backprop.backward_of_piece(loss):
                return params
        else:
            target.cleargrads()
        loss.backward(loss_scale=self._loss_scale)
        return None

    def use_cleargrads(self, use=True):
        """Sets whether :meth:`update` clears gradients, or else fills them with zeros.

        .. deprecated:: v2.0
            Clearing is the default.
        """
        warnings.warn(
            'GradientMethod.use_cleargrads is deprecated.', DeprecationWarning, stacklevel=2)
        self._use_cleargrads = use

    def create_update_rule(self):
        """Returns a new update rule, for one parameter.

        Raises:
            NotImplementedError: The child class does not implement it.
        """
        raise NotImplementedError(f'{type(self).__name__} does not implement create_update_rule')

    def use_fp32_update(self, flag=True):
        """Makes all rules update float16 parameters in float32.

        See :meth:`UpdateRule.use_fp32_update`.

        Args:
            flag (bool): Whether to do so.
        """
        self._use_fp32_update = flag
        if self.target is not None:
            for param in self.target.params():
                if param.update_rule is not None:
                    param.update_rule.use_fp32_update(flag)


def _old_name(hook_class):
    """Returns the class that stands for a hook under its name of before Chainer 4."""
    name = hook_class.__name__

    def __init__(self, *args, **kwargs):
        warnings.warn(
            f'chainer.optimizer.{name} is deprecated from v4. '
            f'Use chainer.optimizer_hooks.{name} instead.', DeprecationWarning, stacklevel=2)
        hook_class.__init__(self, *args, **kwargs)

    doc = f"""Old name of :class:`chainer.optimizer_hooks.{name}`.

    .. deprecated:: v4.0.0
    """
    __init__.__signature__ = inspect.signature(hook_class.__init__)
    return type(name, (hook_class,), {'__init__': __init__, '__doc__': doc, '__module__': __name__})


WeightDecay = _old_name(optimizer_hooks.WeightDecay)
Lasso = _old_name(optimizer_hooks.Lasso)
GradientClipping = _old_name(optimizer_hooks.GradientClipping)
GradientHardClipping = _old_name(optimizer_hooks.GradientHardClipping)
GradientNoise = _old_name(optimizer_hooks.GradientNoise)
