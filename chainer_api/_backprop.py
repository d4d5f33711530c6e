"""The backward engine.

Functions run in the order of decreasing rank, those of equal rank the last applied first: so the
order within a part of the graph does not depend on the rest of it. The gradients of a variable
are added in the order in which they arrive; the gradient that a leaf has from before comes first.
All sums are made by functions, so that they are recorded where gradients are.
"""
import contextlib
import heapq
import operator
import threading
import warnings

import numpy

import chainer
from chainer import _tracing, configuration, function_hook, variable
from chainer.backends import cuda
from chainer.function_node import FunctionNode, check_nan

_Variable = variable.Variable
_backward_method = _Variable.backward
_ndarray = numpy.ndarray
_peek = configuration.peek
_hook_state = function_hook._thread_local
_default_accumulate = FunctionNode.backward_accumulate
_heappush = heapq.heappush
_heappop = heapq.heappop
_add = numpy.add
_make_gradient = variable._make_gradient


class _Watch(threading.local):
    tell = None
    least = 0


_watch = _Watch()


@contextlib.contextmanager
def watching(tell, least=1 << 20):
    """Context in which backward tells of gradients of leaves as soon as nothing can change them.

    It does not tell of all: a leaf of which some use has no gradient is left out, for example.

    Args:
        tell: Called with the node of a leaf and its gradient, a Variable.
        least (int): Bytes of gradients for which the backward of a compiled method stops to tell.
    """
    before = _watch.tell, _watch.least
    _watch.tell, _watch.least = tell, least
    try:
        yield
    finally:
        _watch.tell, _watch.least = before


# Gradients on their way are kept in a dict: node -> list of variables whose sum is the gradient.


class _Sum(list):
    """Gradients of which the first is a sum that nobody has seen: the next are added into it."""


def _sum(gradients, plainly=False):
    """Return the sum of gradients, ``plainly`` if nobody is to see the functions that add them."""
    total = gradients[0]
    if len(gradients) == 1:
        return total
    if not plainly:
        return chainer.functions.add(*gradients)
    mine = type(gradients) is _Sum
    for other in gradients[1:]:
        x, y = total._array, other._array
        if type(x) is not _ndarray or type(y) is not _ndarray or x.ndim == 0 or (
                x.shape != y.shape or x.strides != y.strides or x.dtype != y.dtype):
            total, mine = chainer.functions.add(total, other), False
            continue
        requires_grad = total._requires_grad or other._requires_grad
        total = _make_gradient(_add(x, y, x if mine else None), requires_grad)
        mine = True
    return total


def _nobody_sees_sums():
    """Return whether sums of gradients are numbers alone: no graph, no hooks, no record."""
    return not (
        _hook_state.function_hooks or _peek('debug') or _peek('enable_backprop')
        or _tracing.state.run is not None or _tracing.state.trace is not None)


def _describe(func):
    lines = [f'  function={type(func).__name__} ({func.label})']
    for i, x in enumerate(func.inputs):
        lines.append(f'    input {i}: shape={x.shape} dtype={x.dtype}')
    for i, ref in enumerate(func.outputs):
        y = ref()
        lines.append(f'    output {i}: ' + (
            'not available' if y is None else f'shape={y.shape} dtype={y.dtype}'))
    if func.stack is not None:
        lines.append(_stack(func))
    return '\n'.join(lines)


def _stack(func):
    return 'Stacktrace of the application:\n' + ''.join(func.stack.format()).rstrip()


def _tell_stack(func, error):
    """Put into the message of an error in backward where ``func`` was applied."""
    if error.args and isinstance(error.args[0], str):
        error.args = (f'{error.args[0]}\n{_stack(func)}', *error.args[1:])


class _NoVariable(TypeError, ValueError):
    """A gradient of a wrong type: a ``ValueError`` in Chainer's debug mode, else a TypeError."""


def _wrong_number(func, gxs, expected):
    raise ValueError(
        f'number of gradients returned from backward is incorrect: {len(gxs)} != expected '
        f'{expected}\n{_describe(func)}')


def _wrong_gradient(func, i, gx):
    """Say what is wrong with ``gx`` as the gradient of input ``i``."""
    node = func.inputs[i]
    if not isinstance(gx, _Variable):
        raise _NoVariable(
            f'type of gradients returned from backward is incorrect: input-index={i}, '
            f'actual {type(gx)} != expected Variable (chainer.as_variable makes one of an array)\n'
            f'{_describe(func)}')
    array = gx._array
    if array.shape != node.shape:
        raise ValueError(
            f'shape of gradients returned from backward is incorrect: input-index={i}, '
            f'actual {array.shape} != expected {node.shape}\n{_describe(func)}')
    raise TypeError(
        f'dtype of gradients returned from backward is incorrect: input-index={i}, '
        f'actual {array.dtype} != expected {node.dtype}\n{_describe(func)}')


def _gradients(func, targets, gys, grads, order=None):
    """Return the gradients of the inputs ``targets``, as ``func`` computes them."""
    if type(func).backward_accumulate is _default_accumulate:
        gxs = func.backward(targets, gys)
        if len(gxs) != len(targets):
            if len(gxs) != len(func.inputs):
                _wrong_number(func, gxs, len(targets))
            gxs = [gxs[i] for i in targets]
        return gxs
    # What has arrived at an input goes in at its first position, and comes back in the sum.
    olds = []
    for i in targets:
        node = func.inputs[i]
        arrived = grads.pop(node, None)
        olds.append(_total(node, arrived, order) if arrived else None)
    gxs = func.backward_accumulate(targets, gys, tuple(olds))
    if len(gxs) != len(targets):
        _wrong_number(func, gxs, len(targets))
    return gxs


class _Order:
    """Has gradients added in the order of define-by-run, where programs stand for functions.

    There each gradient comes from one function, and functions run in the order of their rank and
    number. A piece runs when the last of its functions would, so its gradients may be late: they
    wait, with what says where they belong, until nothing can come before them any more.
    """

    def __init__(self, grads, plainly):
        self._grads, self._plainly = grads, plainly
        self._places = {}  # node -> places of the gradients in its list
        self._waiting = {}  # pieces that are to run, and what waits -> their highest rank
        self._unsorted = set()  # nodes with gradients that have come before earlier ones
        self._to_come = None  # leaves -> places of gradients that may come, the next one last
        self.longer = {}  # nodes whose lists have grown -> the lists
        self.late = {}  # what runs later than its rank says -> (its place, what waits for it)

    def pushed(self, func):
        """A piece is going to run."""
        self._waiting[func] = func.highest_rank

    def waits(self, func):
        """Return the key with which ``func`` has to wait in the heap, ``None`` if it runs now.

        A piece may have a result of lower rank than the inputs of others of its functions. It
        waits for whatever may use that result; what comes before something that waits does so,
        too, and as it may have waited for something else already, it is asked again.
        """
        places = []
        if func._is_piece:
            lowest = func.lowest_rank
            if lowest <= func.rank:
                places.append((0.5 - lowest, 0))
        for (rank, level), before in self.late.values():
            if func in before:
                places.append((rank, level + 1))
        known, _ = self.late.get(func, ((-func.rank, 0), None))
        place = max(places, default=known)
        if place <= known:
            return None
        self.late[func] = place, _functions_before(func)
        self._waiting[func] = func.highest_rank if func._is_piece else func.rank
        return (*place, -func.rank, -func.number, func)

    def runs(self, func):
        """``func`` runs now."""
        if self._waiting:
            self._waiting.pop(func, None)
        if func in self.late:
            self.late[func] = self.late[func][0], frozenset()

    def next_place(self, heap):
        """Return the first place that gradients of others than what runs may still have."""
        places = [(-rank, -float('inf')) for rank in self._waiting.values()]
        if heap:
            places.append((heap[0][0], heap[0][3]))
        return min(places, default=(float('inf'), 0))

    def arrived(self, node, gradients, place):
        """A gradient was put at the end of the list of ``node``."""
        places = self._places.get(node)
        if places is None:  # there may be several from the beginning
            places = self._places[node] = [_FIRST] * (len(gradients) - 1)
        if place < places[-1]:
            self._unsorted.add(node)
        places.append(place)
        if self._to_come is not None:
            self.does_not_come(node, place)

    def begins(self, node, place):
        """The list of ``node`` begins with a gradient."""
        self._places[node] = [place]
        if self._to_come is not None:
            self.does_not_come(node, place)

    def does_not_come(self, node, place):
        """The gradient of that place has come, or does not come at all."""
        places = self._to_come and self._to_come.get(node)
        if places and places[-1] == place:
            places.pop()
        elif places and place in places:
            places.remove(place)

    def fold(self, heap):
        """Add what nothing can come between any more; ``heap`` holds what is to run."""
        longer, self.longer = self.longer, {}
        first = self.next_place(heap)
        for node, gradients in longer.items():
            if node in self._unsorted:
                self._grads[node] = gradients = self._sorted(node, gradients)
            places = self._places[node]
            if places[-1][:2] < first or self._are_next(node, places, heap):
                self._grads[node] = _Sum((_sum(gradients, self._plainly),))
                del places[:-1]

    def _are_next(self, node, places, heap):
        """Whether the graph says that no gradient of a leaf can come between these any more.

        All that belong behind those of later functions would have to wait otherwise, such as those
        of the weights which a recurrent network multiplies its inputs with.
        """
        if node._creator_node is not None:
            return False
        if self._to_come is None:
            self._to_come = _places_of_leaves([entry[4] for entry in heap])
        others = self._to_come.get(node)
        return not others or places[-1] < others[-1]

    def total(self, node, gradients):
        """Return the sum of all."""
        if node in self._unsorted:
            gradients = self._sorted(node, gradients)
        return _sum(gradients, self._plainly)

    def _sorted(self, node, gradients):
        self._unsorted.remove(node)
        places = self._places[node]
        order = sorted(range(len(places)), key=places.__getitem__)
        places[:] = [places[k] for k in order]
        there = [gradients[k] for k in order]
        return there if order[0] else type(gradients)(there)  # a sum of ours stays the first


def _with_piece(order, func, grads, plainly):
    """Return the order of gradients, now that a piece is going to run: before it there is none."""
    if order is None:
        order = _Order(grads, plainly)
    order.pushed(func)
    return order


def _places_of_leaves(funcs):
    """Return the places of the gradients of each leaf that come from ``funcs``, and before them."""
    found = {}
    seen, stack = set(funcs), list(funcs)
    while stack:
        func = stack.pop()
        inputs, leaves = func.inputs, []
        for i, x in enumerate(inputs):
            creator = x._creator_node
            if creator is None:
                if x._requires_grad:
                    leaves.append(i)
            elif creator not in seen:
                seen.add(creator)
                stack.append(creator)
        for i, place in zip(leaves, func._gradient_places(leaves), strict=True):
            found.setdefault(inputs[i], []).append(place)
    for places in found.values():
        places.sort(reverse=True)
    return found


_FIRST = (-float('inf'), 0, 0)  # the place of a gradient that is there from the beginning


def _functions_before(func):
    """Return the functions on which the inputs of ``func`` depend."""
    found = set()
    stack = [func]
    while stack:
        for x in stack.pop().inputs or ():
            creator = x._creator_node
            if creator is not None and creator not in found:
                found.add(creator)
                stack.append(creator)
    return found


def _key(func):
    """Return where a function stands in the heap: the order of define-by-run."""
    return -func.rank, 0, 0, -func.number, func


def _order_matters():
    """Return whether gradients may arrive in another order than define-by-run's.

    They do from where the first piece is going to run. What has arrived by then comes before all of
    it: its functions have lower ranks than those that use its results, which have run since.
    """
    return FunctionNode._pieces_exist and not (
        function_hook.functions_are_watched() or _peek('debug'))


def _step(func, targets, gys, grads, check, debug, lazy, order, plainly):
    """Run the backward computation of ``func`` and add its results to ``grads``.

    Args:
        func (FunctionNode): The function.
        targets (tuple of int): Indexes of the inputs whose gradients are wanted.
        gys (tuple): Gradients of the outputs.
        grads (dict): Gradients on their way.
        check (bool): Whether shapes and dtypes of the results are checked.
        debug (bool): Whether shapes are in any case, and values for NaN.
        lazy (bool): Whether gradients wait until all of them can be added in one go.
        order (_Order): The order in which they are added, if it is not that of arrival.
        plainly (bool): Whether nobody sees how they are added.
    """
    inputs = func.inputs
    hooks = _hook_state.function_hooks
    if (hooks or func._local_function_hooks) and not func._is_piece:
        hooks = func._all_hooks(hooks)
        in_data = tuple([x._data for x in inputs])
        gy_data = tuple([None if g is None else g._array for g in gys])
        for hook in hooks:
            hook.backward_preprocess(func, in_data, gy_data)
    else:
        hooks = None
    try:
        if cuda.available:
            with cuda.get_device_from_array(*[g._array for g in gys if g is not None]):
                gxs = _gradients(func, targets, gys, grads, order)
        else:
            gxs = _gradients(func, targets, gys, grads, order)
    except Exception as error:
        if func.stack is not None:
            _tell_stack(func, error)
        raise

    longer = None
    places = None
    if order is not None:
        places = func._gradient_places(targets)
    for k, i in enumerate(targets):
        gx, node = gxs[k], inputs[i]
        array = None
        if gx is not None:
            array = gx._array if isinstance(gx, _Variable) else _wrong_gradient(func, i, gx)
        if array is None:
            if places is not None:
                order.does_not_come(node, places[k])
            continue
        if (check or debug) and node.shape is not None and (
                array.shape != node.shape or check and array.dtype != node.dtype):
            _wrong_gradient(func, i, gx)
        if debug:
            check_nan(func, (array,), 'backward')
        arrived = grads.get(node)
        if arrived is None:
            grads[node] = [gx]
            if places is not None:
                order.begins(node, places[k])
        else:
            arrived.append(gx)
            if longer is None:
                longer = {}
            longer[node] = arrived
            if places is not None:
                order.arrived(node, arrived, places[k])
    if longer is not None and not lazy:
        if order is not None:
            order.longer.update(longer)
        else:
            for node, arrived in longer.items():
                grads[node] = _Sum((_sum(arrived, plainly),))
    if not plainly and func._static_account is not None and _peek('enable_backprop'):
        func._static_account.was_differentiated()
    if hooks is not None:
        for hook in hooks:
            hook.backward_postprocess(func, in_data, gy_data)


def _ones(var, loss_scale, requires_grad):
    """Return a gradient of ones for a variable."""
    array = var._array
    if type(array) is _ndarray and array.ndim == 0:
        ones = numpy.array(1, array.dtype)
    else:
        with cuda.get_device_from_array(array):
            ones = chainer.backend.get_array_module(array).ones_like(array)
    if loss_scale is not None:
        ones *= loss_scale
    return _make_gradient(ones, requires_grad)


def _warn_of_one_element():
    warnings.warn(
        'Treating a variable with only one element as a scalar in Variable.backward is '
        'deprecated. Give it the shape () (reshape, F.squeeze or F.sum), or set its grad.',
        DeprecationWarning, stacklevel=4)


def backward_from_variable(var, retain_grad, enable_double_backprop, loss_scale):
    """Do what :meth:`chainer.Variable.backward` says."""
    if not retain_grad and not enable_double_backprop and loss_scale is None and (
            backward_of_piece(var)):
        return
    node = var._node
    _tracing.settle('backward')
    with _tracing.aside():
        _backward_from(var, node, retain_grad, enable_double_backprop, loss_scale)


def backward_of_piece(var):
    """Do what ``var.backward()`` does, where a compiled method alone has made the variable.

    Return False where that takes more, or where nobody knows beforehand whose code is going to run.
    """
    if type(var) is not _Variable or _Variable.backward is not _backward_method or (
            _tracing.state.run is not None):
        return False
    array = var._array
    if type(array) is not _ndarray or array.ndim or not _nobody_watches():
        return False
    func = var.__dict__.get('_made_by')  # nobody has asked for its node
    if func is not None and func._of_loss is not None:
        give, one = func._of_loss
        # A gradient may be a view of it, and belongs to whoever looks at it.
        if array.dtype is one.dtype and give(func, one.copy()):
            return True
    node = var._node
    func = node._creator_node
    if func is None or not func._is_piece or node._grad_var is not None:
        return False
    return func._give_gradients(node, _make_gradient(numpy.array(1, array.dtype), True))


def _backward_from(var, node, retain_grad, enable_double_backprop, loss_scale):
    gy = node._grad_var
    if gy is None:
        if var._array is not None and var._array.size == 1:
            if var._array.ndim:
                _warn_of_one_element()
            node._grad_var = gy = _ones(var, loss_scale, True)
    if node._creator_node is None:
        if node._old_style_grad_generator is not None:
            _refuse_old_style(node)
        return
    # Without a gradient to start with, the functions tell what is wrong.
    _show_functions([node], gy is None, retain_grad)
    func = node._creator_node
    node._grad_var = None
    if func._is_piece and gy is not None and not retain_grad and not enable_double_backprop and (
            loss_scale is None and _nobody_watches() and func._give_gradients(node, gy)):
        return
    # What configuration.using_config('enable_backprop', ...) does, in less time.
    entries = configuration.local_entries.__dict__
    old = entries.get('enable_backprop', entries)
    entries['enable_backprop'] = enable_double_backprop
    try:
        if gy is not None and not (retain_grad or enable_double_backprop) and loss_scale is None:
            chain = _chain_behind(func)
            if chain is not None:
                _backward_through(chain, func, node, gy)
                return
        # Functions run even without a gradient: some make one of their own.
        _backward_to_leaves({} if gy is None else {node: [gy]}, [node], retain_grad, loss_scale)
    finally:
        if old is entries:
            del entries['enable_backprop']
        else:
            entries['enable_backprop'] = old


def _show_functions(nodes, all_of_them=False, retain_grad=False):
    """Dissolve the pieces before ``nodes`` where single functions matter.

    They do to hooks, and where several functions draw random numbers when they run. Where gradients
    of results on the way matter, those pieces do that have results computed from others of theirs.
    Where gradients are to be differentiated again, it is seen on the way (see _goes_on).
    """
    watched = function_hook.functions_are_watched()
    if all_of_them or watched or _peek('debug') or (
            FunctionNode._some_draw_in_backward and FunctionNode._pieces_exist
            and _several_draw(nodes)):
        _dissolve(nodes, operator.attrgetter('_is_piece'))
    elif retain_grad and FunctionNode._pieces_exist:
        _dissolve(nodes, operator.attrgetter('_has_inner_results'))


def _several_draw(nodes):
    """Return whether several of the functions before ``nodes`` draw random numbers in backward."""
    found = set()
    for node in nodes:
        func = node._creator_node
        if func is not None:
            found.update([func], _functions_before(func))
    return sum([func._draws_in_backward for func in found]) > 1


def _dissolve(nodes, matters):
    """Dissolve the pieces before ``nodes`` for which ``matters`` gives true."""
    seen = set()
    stack = list(nodes)
    while stack:
        node = stack.pop()
        func = node._creator_node
        if func is not None and matters(func):
            func._dissolve()
            func = node._creator_node
        if func is not None and func not in seen and func.inputs is not None:
            seen.add(func)
            stack.extend(func.inputs)


def _nobody_watches():
    """Return whether nobody wants to see how backward goes."""
    return not (
        _hook_state.function_hooks or cuda.available or _peek('debug') or _peek('lazy_grad_sum')
        or _watch.tell is not None)


def _chain_behind(func):
    """Return the inputs, by their numbers, through which backward goes down from ``func``.

    ``None`` if it has more than one way, or if somebody wants to see how it goes.
    """
    if not _nobody_watches():
        return None
    chain = []
    while True:
        if func._local_function_hooks or (
                type(func).backward_accumulate is not _default_accumulate):
            return None
        if func._is_piece and func._is_reformed():
            return None
        if len(func.outputs) > 1 and _has_set_gradients(_outputs(func)):
            return None
        computed, leaves = [], False
        for i, x in enumerate(func.inputs):
            if x._creator_node is not None:
                computed.append(i)
            elif x._old_style_grad_generator is not None:
                return None
            elif x._requires_grad:
                leaves = True
        if not computed:
            return chain
        if leaves or len(computed) > 1 or not func.inputs[computed[0]]._requires_grad:
            return None
        chain.append(computed[0])
        func = func.inputs[computed[0]]._creator_node


def _gradients_of_one(func, targets, node, gy):
    """Return the gradients of ``func``, of whose outputs only ``node`` has one."""
    if func._adds_inside:
        set_ones = {x for x in func.inputs if x._creator_node is None and x.grad_var is not None}
        func._prepare_backward(set_ones, (float('inf'), 0))
    return _gradients(func, targets, (gy,) if len(func.outputs) == 1 else tuple(
        [gy if y() is node else None for y in func.outputs]), {})


def checked(func, i, gx):
    """Return the gradient of an input, ``None`` if there is none."""
    node = func.inputs[i]
    array = gx._array if isinstance(gx, _Variable) else _wrong_gradient(func, i, gx)
    if array is None:
        return None
    if (array.shape != node.shape or array.dtype != node.dtype) and node.shape is not None:
        _wrong_gradient(func, i, gx)
    return gx


def _backward_through(chain, func, node, gy):
    """Backward where one function comes after the other, down to one with leaves only."""
    for i in chain:
        gx, = _gradients_of_one(func, (i,), node, gy)
        gy = None if gx is None else checked(func, i, gx)
        if gy is None:
            return
        node = func.inputs[i]
        func = node._creator_node
    if not (chain and func._is_piece and func._give_gradients(node, gy)):
        _backward_one(func, node, gy)


def _backward_one(func, node, gy):
    """Backward through ``func`` alone: its gradients are those of leaves."""
    inputs = func.inputs
    targets = tuple([i for i, x in enumerate(inputs) if x._requires_grad])
    if not targets:
        return
    gxs = _gradients_of_one(func, targets, node, gy)
    positions = range(len(targets))
    if func._is_piece and len({*inputs}) < len(inputs):  # a leaf is used several times
        positions = sorted(positions, key=func._gradient_places(targets).__getitem__)
    for k in positions:
        gx = gxs[k]
        if gx is None:
            continue
        i = targets[k]
        x = inputs[i]
        if not func._is_piece and checked(func, i, gx) is None:
            continue  # those of a piece are right by construction
        old = x.grad_var
        x.grad_var = gx if old is None else _sum([old, gx], _nobody_sees_sums())


def backward(outputs, grad_outputs=None, *, enable_double_backprop=False):
    """Compute the gradients of all variables that several variables were computed from.

    It does what :meth:`Variable.backward` does, for several variables in one go, and makes no
    gradient by itself: an output without a gradient is ignored, with a warning.

    Args:
        outputs (tuple or list of Variable): Where backward starts.
        grad_outputs (tuple or list of Variable or array): Their gradients (``None`` for none); by
            default those that they have, which are used up.
        enable_double_backprop (bool): Whether gradients can be differentiated.

    .. doctest::

        >>> x = chainer.Variable(np.array(3.0))
        >>> one = chainer.Variable(np.array(1.0))
        >>> chainer.backward([x * 2, x * x], [one, one])
        >>> x.grad
        array(8.)
    """
    _check_variables(outputs=outputs)
    nodes = [y._node for y in outputs]
    _tracing.settle('backward')
    with _tracing.aside():
        _show_functions(nodes)
        _backward(outputs, grad_outputs, enable_double_backprop)


def _backward(outputs, grad_outputs, enable_double_backprop):
    if grad_outputs is None:
        grad_outputs = list(map(_used_up_gradient, outputs))
    grad_outputs = _gradients_or_none('grad_outputs', grad_outputs, len(outputs))
    _check_lengths(outputs=outputs, grad_outputs=grad_outputs)
    grads = {}
    for y, gy in zip(outputs, grad_outputs, strict=True):
        if y._node._old_style_grad_generator is not None:
            _refuse_old_style(y._node)
        if gy is not None:
            grads.setdefault(y._node, []).append(gy)
    with configuration.using_config('enable_backprop', enable_double_backprop):
        _backward_to_leaves(grads, list(grads), False, None)


def _put_together(node, firsts, grads, plainly):
    """Add the gradient of a node to the sum that it is a part of."""
    if not firsts:
        firsts.append(node)
    elif node is not firsts[0]:
        first = firsts[0]
        arrived = grads[first]
        arrived.extend(grads.pop(node))
        grads[first] = _Sum((_sum(arrived, plainly),))


def _used_up_gradient(var):
    """Take away the gradient of a variable. A leaf keeps its own: it starts the sum there."""
    if var.grad_var is None:
        warnings.warn(
            'an output of chainer.backward has no grad, or stands there twice; chainer.backward '
            'makes no gradients of outputs by itself', RuntimeWarning, stacklevel=4)
    if var.creator_node is None:
        return None
    gy, var.grad_var = var.grad_var, None
    return gy


def _backward_to_leaves(grads, start, retain_grad, loss_scale):
    """Propagate gradients from the nodes ``start`` to all leaves."""
    heap = []
    seen = set()
    leaves = {}
    order, matters, plainly = None, _order_matters(), _nobody_sees_sums()

    def push(func):
        nonlocal order
        if func is not None and func not in seen:
            seen.add(func)
            _heappush(heap, _key(func))
            if func._is_piece and matters:
                order = _with_piece(order, func, grads, plainly)

    for node in start:
        if node._creator_node is None:
            leaves[node] = None
            if node.grad_var is not None:
                grads[node].insert(0, node.grad_var)
        push(node._creator_node)
    debug = _peek('debug')
    lazy = _peek('lazy_grad_sum')
    twice = FunctionNode._pieces_exist and _peek('enable_backprop')
    uses = None if _watch.tell is None else _uses_of_leaves(start)

    def push_functions():
        """What stood for several functions does not any more."""
        for y in list(grads):
            push(y._creator_node)

    while heap:
        if twice and order is not None and _dissolve_those_beside_others(heap, order):
            push_functions()
        func = _heappop(heap)[4]
        if order is not None and (func._is_piece or order.late):
            key = order.waits(func)
            if key is not None:
                _heappush(heap, key)
                continue
        if func._is_piece and (
                func._is_reformed() or order is not None and func._adds_in_between(grads)):
            if order is not None:
                order.runs(func)
            func._dissolve()
            push_functions()
            continue
        inputs = func.inputs
        targets = []
        for i, x in enumerate(inputs):
            if not x._requires_grad:
                continue
            targets.append(i)
            if x._creator_node is None and x not in leaves:
                leaves[x] = None
                if x._old_style_grad_generator is not None:
                    _refuse_old_style(x)
                gv = x.grad_var
                if gv is not None:
                    grads[x] = [gv]
        if len(func.outputs) > 1:
            _use_set_gradients(func, grads, retain_grad)
        if order is not None:
            order.runs(func)
            if func._is_piece:
                if func._adds_inside:
                    func._prepare_backward(grads, order.next_place(heap))
                if uses is not None:
                    func._watched = _watch.least, _teller(inputs, uses, grads)
        gys = []
        for y in _outputs(func):
            arrived = None if y is None else grads.pop(y, None)
            if arrived is None:
                gys.append(None)
                continue
            gy = arrived[0] if len(arrived) == 1 else _total(y, arrived, order, plainly)
            gys.append(gy)
            if retain_grad:
                y.grad_var = gy
        if not targets:
            continue
        if twice and not _goes_on(func, targets, gys, grads):
            push_functions()
            continue
        _step(func, tuple(targets), tuple(gys), grads, True, debug, lazy, order, plainly)
        for x in inputs:
            creator = x._creator_node
            if creator is not None and creator not in seen and x in grads:
                push(creator)
        if order is not None and order.longer:
            order.fold(heap)
        if uses is not None:
            _tell_of_leaves(inputs, uses, grads)

    for x in leaves:
        arrived = grads.get(x)
        if arrived is not None:
            x.grad_var = arrived[0] if len(arrived) == 1 else _total(x, arrived, order, plainly)
            if loss_scale is not None:
                leaf = x.get_variable_or_none()
                if leaf is not None:
                    leaf._loss_scale = loss_scale


def _dissolve_those_beside_others(heap, order):
    """Dissolve the pieces in ``heap``, and take them out, if anything else is there; give if any.

    Gradients that are differentiated again are values of functions, whose order matters in turn: it
    is that of define-by-run where nothing else runs before the last of a piece's functions would.
    """
    pieces = [entry[4] for entry in heap if entry[4]._is_piece] if len(heap) > 1 else ()
    for func in pieces:
        order.runs(func)
        func._why_dissolved = 'gradients that are differentiated come from several calls at once'
        func._dissolve()
    if pieces:
        heap[:] = [entry for entry in heap if not entry[4]._is_piece]
        heapq.heapify(heap)
    return bool(pieces)


def _goes_on(func, targets, gys, grads):
    """Return whether backward goes on through ``func``, where gradients are differentiated again.

    If not, its own functions are in its place, and have the gradients that have reached it.
    """
    if func._goes_on_with_graph(tuple(targets), tuple(gys)):
        return True
    grads.update({y: [gy] for y, gy in zip(_outputs(func), gys, strict=True) if gy is not None})
    func._dissolve()
    return False


def _outputs(func):
    """Return the output nodes of a function: ``None`` for those that are gone, or unchained."""
    nodes = [ref() for ref in func.outputs]
    return [y if y is not None and y._creator_node is func else None for y in nodes]


def _uses_of_leaves(start):
    """Return how often the functions before ``start`` read each leaf."""
    uses = {}
    seen = set()
    stack = [node._creator_node for node in start if node._creator_node is not None]
    while stack:
        func = stack.pop()
        if func in seen:
            continue
        seen.add(func)
        for x in func.inputs:
            if x._creator_node is None:
                uses[x] = uses.get(x, 0) + 1
            else:
                stack.append(x._creator_node)
    return uses


def _tell_of_leaves(inputs, uses, grads):
    """Tell of the gradients to which no other comes any more, now that a function has run."""
    for x in inputs:
        if x._creator_node is not None:
            continue
        uses[x] -= 1
        arrived = grads.get(x)
        if uses[x] == 0 and arrived is not None and len(arrived) == 1:
            _watch.tell(x, arrived[0])


def _teller(inputs, uses, grads):
    """Return what tells of the gradient of an input, by its number, while its function runs."""
    def tell(i, gradient):
        x = inputs[i]
        if x._creator_node is None and x._requires_grad and uses[x] == 1 and x not in grads:
            uses[x] = 0  # it is not told of again
            _watch.tell(x, gradient)

    return tell


def _total(node, gradients, order, plainly=False):
    return _sum(gradients, plainly) if order is None else order.total(node, gradients)


def _has_set_gradients(nodes):
    return any([y is not None and y.grad_var is not None for y in nodes])


def _use_set_gradients(func, grads, retain_grad):
    """Take the gradients that are set on outputs which none has reached."""
    nodes = _outputs(func)
    if not _has_set_gradients(nodes):
        return
    reached = [y in grads for y in nodes]
    for k in func.siblings_of(reached):
        y = nodes[k]
        if y is not None and y.grad_var is not None:
            grads[y] = [y._grad_var]
            if not retain_grad:
                y._grad_var = None


def _refuse_old_style(node):
    raise RuntimeError(
        f'cannot twice-differentiate an old-style Function "{node._old_style_grad_generator}": its '
        'backward works on arrays; make it a chainer.FunctionNode')


def _check_variables(**sequences):
    for name, sequence in sequences.items():
        if not isinstance(sequence, (tuple, list)):
            raise TypeError(
                f'{name} must be a tuple or a list of Variables, not {type(sequence)}')
        for x in sequence:
            if not isinstance(x, _Variable):
                raise TypeError(f'{name} must contain Variables only, not {type(x)}')


def _gradients_or_none(name, gradients, length):
    """Return a list of Variables and ``None``, as the user has given it."""
    if gradients is None:
        return [None] * length
    if not isinstance(gradients, (tuple, list)):
        raise TypeError(
            f'{name} must be None or a tuple or a list of Variables, not {type(gradients)}')
    gradients = [
        _Variable(g, requires_grad=False) if isinstance(g, (_ndarray, cuda.ndarray)) else g
        for g in gradients]
    _check_variables(**{name: [g for g in gradients if g is not None]})
    return gradients


def _check_lengths(**sequences):
    (first, values), *others = sequences.items()
    for name, sequence in others:
        if len(sequence) != len(values):
            raise ValueError(
                f'{name} has {len(sequence)} elements, but {first} has {len(values)}; '
                'they must correspond')


def grad(
        outputs, inputs, grad_outputs=None, grad_inputs=None, set_grad=False, retain_grad=False,
        enable_double_backprop=False, loss_scale=None):
    """Compute gradients of ``outputs`` with respect to ``inputs``, and of nothing else.

    Unlike :meth:`Variable.backward`, it returns the gradients, and leaves ``grad`` of all
    variables as it is unless told otherwise. Only functions on ways from ``inputs`` to
    ``outputs`` are differentiated. An input that does not require a gradient gets one from those
    of these functions that use it; it is the beginning of no way itself, unless a function that
    has made one of the ``outputs`` uses it.

    A variable counts once: where one stands several times in ``outputs``, or in ``inputs``, the
    last gradient given for it is taken, not their sum.

    Args:
        outputs (tuple or list of Variable): What is differentiated.
        inputs (tuple or list of Variable): With respect to what.
        grad_outputs (tuple or list of Variable or array): Gradients of ``outputs``; ones by
            default, also for each ``None`` in it.
        grad_inputs (tuple or list of Variable or array): What is added to the gradients that
            arrive from functions; it replaces that of ``grad_outputs``.
        set_grad (bool): Whether ``grad_var`` of ``inputs`` is set.
        retain_grad (bool): Whether ``grad_var`` of the variables on the way is set.
        enable_double_backprop (bool): Whether the returned gradients can be differentiated.
        loss_scale (float): Factor for the gradients of ``outputs`` made by default.

    Returns:
        list of Variable: The gradients, ``None`` for inputs on which no output depends, or on
        no such way.

    .. doctest::

        >>> x = chainer.Variable(np.array([1.0, 2.0]))
        >>> gx, = chainer.grad([x ** 3], [x], enable_double_backprop=True)
        >>> gx
        variable([ 3., 12.])
        >>> chainer.grad([gx], [x])
        [variable([ 6., 12.])]
    """
    _check_variables(outputs=outputs, inputs=inputs)
    grad_outputs = _gradients_or_none('grad_outputs', grad_outputs, len(outputs))
    grad_inputs = _gradients_or_none('grad_inputs', grad_inputs, len(inputs))
    _check_lengths(outputs=outputs, grad_outputs=grad_outputs)
    _check_lengths(inputs=inputs, grad_inputs=grad_inputs)

    output_nodes = [y._node for y in outputs]
    input_nodes = [x._node for x in inputs]
    _tracing.settle('chainer.grad')
    with _tracing.aside():
        # Between results of one piece there is no way.
        matters = retain_grad or any(
            [node._creator_node is not None and node._creator_node._has_inner_results
             for node in input_nodes])
        _show_functions(output_nodes, retain_grad=matters)
        results = _grad(outputs, input_nodes, grad_outputs, grad_inputs, retain_grad,
                        enable_double_backprop, loss_scale)
    if set_grad:
        for x, gx in zip(inputs, results, strict=True):
            x.grad_var = gx
    return results


def _grad(outputs, input_nodes, grad_outputs, grad_inputs, retain_grad, enable_double_backprop,
          loss_scale):
    wanted = _nodes_between([y._node for y in outputs], input_nodes)
    grads = {}
    with configuration.using_config('enable_backprop', enable_double_backprop):
        for y, gy in zip(outputs, grad_outputs, strict=True):
            if gy is None:
                gy = _ones(y, loss_scale, False)
            grads[y._node] = [gy]
        for node, gx in zip(input_nodes, grad_inputs, strict=True):
            if gx is not None:
                grads[node] = [gx]
        return _backward_between(grads, [y._node for y in outputs], wanted, input_nodes,
                                 retain_grad)


def _nodes_between(output_nodes, input_nodes):
    """Return the set of the nodes on ways from ``input_nodes`` to ``output_nodes``."""
    # Of each node the functions that read it, among those that the outputs depend on. One that
    # stands for several has outputs that do not depend on all of its inputs: it comes with each.
    users = {}
    for node in output_nodes:
        if node._old_style_grad_generator is not None:
            _refuse_old_style(node)
    stack, seen = list(output_nodes), set()
    while stack:
        node = stack.pop()
        func = node._creator_node
        if func is None:
            continue
        here = node if func._is_piece else func
        if here in seen:
            continue
        seen.add(here)
        for x in func._inputs_behind(node) if func._is_piece else func.inputs:
            users.setdefault(x, []).append(here)
            if x._old_style_grad_generator is not None:
                _refuse_old_style(x)
            stack.append(x)
    between = set()
    stack = list(input_nodes)
    while stack:
        node = stack.pop()
        if node in between:
            continue
        between.add(node)
        # What depends on an input that requires no gradient, and on nothing else, has none.
        for user in users.get(node, ()) if node._requires_grad else ():
            if isinstance(user, FunctionNode):
                stack.extend([y for y in _outputs(user) if y is not None])
            else:
                stack.append(user)
    return between


def _backward_between(grads, start, wanted, input_nodes, retain_grad, together=None):
    """Propagate gradients from the nodes ``start`` through the nodes ``wanted``.

    ``together`` has inputs whose gradients are parts of one sum, by their nodes: a list for each
    sum, empty at first. The sum is that of the input which gets a gradient first, and others have
    none then: so there are never more than two of them.
    """
    heap = []
    seen = set()
    inputs_left = set(input_nodes)
    results = {}
    order, matters, plainly = None, _order_matters(), _nobody_sees_sums()
    debug = _peek('debug')
    lazy = _peek('lazy_grad_sum')
    twice = FunctionNode._pieces_exist and _peek('enable_backprop')

    def push(node):
        nonlocal order
        func = node._creator_node
        if func is not None and func not in seen and any([x in wanted for x in func.inputs]):
            seen.add(func)
            _heappush(heap, _key(func))
            if func._is_piece and matters:
                order = _with_piece(order, func, grads, plainly)

    def push_functions():
        """What stood for several functions does not any more."""
        nonlocal wanted
        wanted = _nodes_between(start, input_nodes)
        for y in list(grads):
            push(y)

    for node in start:
        push(node)
    while heap:
        if twice and order is not None and _dissolve_those_beside_others(heap, order):
            push_functions()
        func = _heappop(heap)[4]
        if order is not None and (func._is_piece or order.late):
            key = order.waits(func)
            if key is not None:
                _heappush(heap, key)
                continue
        targets = tuple([i for i, x in enumerate(func.inputs) if x in wanted])
        if func._is_piece and (not func._gives_gradients(targets) or func._is_reformed() or
                               order is not None and func._adds_in_between(grads)):
            if order is not None:
                order.runs(func)
            func._dissolve()
            push_functions()
            continue
        if order is not None:
            order.runs(func)
            if func._adds_inside:
                func._prepare_backward(grads, order.next_place(heap))
        gys = []
        for y in _outputs(func):
            arrived = None if y is None else grads.pop(y, None)
            gy = None if arrived is None else _total(y, arrived, order, plainly)
            gys.append(gy)
            if gy is not None:
                if y in inputs_left:
                    results[y] = gy
                if retain_grad:
                    y.grad_var = gy
        if twice and not _goes_on(func, targets, gys, grads):
            push_functions()
            continue
        _step(func, targets, tuple(gys), grads, False, debug, lazy, order, plainly)
        for i in targets:
            x = func.inputs[i]
            if x in grads:
                push(x)
                if together and x in together:
                    _put_together(x, together[x], grads, plainly)
        if order is not None and order.longer:
            order.fold(heap)
    for node in input_nodes:
        if node not in results:
            arrived = grads.get(node)
            results[node] = None if arrived is None else _total(node, arrived, order, plainly)
    return [results[node] for node in input_nodes]
