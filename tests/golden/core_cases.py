"""Behaviour of the core that must be that of the original.

Read by record_core.py (under the original, Python 3.8) and by tests/chainer_api/test_as_original.py
(ours). A case is a function without arguments that returns what JSON can hold; exceptions are
recorded by the name of their class.
"""
import io
import re
import warnings

import numpy as np

import chainer
import chainer.computational_graph as computational_graph
import chainer.functions as F
from chainer import function_hooks, utils
from chainer.utils import type_check

CASES = []


def case(function):
    CASES.append(function)
    return function


def attempt(call, *arguments):
    """What a call returns, or the name of the (documented) class of its exception."""
    try:
        return call(*arguments)
    except type_check.InvalidType:
        return 'InvalidType'
    except Exception as e:
        bases = [c.__name__ for c in type(e).__mro__ if c.__module__ == 'builtins']
        return bases[0]


def plain(value):
    """Arrays and variables as nested lists of numbers."""
    if isinstance(value, chainer.Variable):
        value = value.array
    if isinstance(value, (np.ndarray, np.generic)):
        return [str(value.dtype), np.asarray(value, float).tolist()]
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    return value


def variable(*values, **kwargs):
    dtype = kwargs.pop('dtype', 'f')
    return chainer.Variable(np.array(values, dtype), **kwargs)


class Node(chainer.FunctionNode):
    """Sums its inputs into several outputs, and writes down its backward calls."""

    def __init__(self, name, log, n_out=1, without=()):
        self.name = name
        self.log = log
        self.n_out = n_out
        self.without = without

    def forward(self, inputs):
        total = np.asarray(sum(inputs), 'f')
        return tuple(total * (i + 1) + 0 for i in range(self.n_out))

    def backward(self, indexes, gys):
        self.log.append([self.name, list(indexes), [
            None if gy is None else gy.array.tolist() for gy in gys]])
        total = None
        for i, gy in enumerate(gys):
            if gy is not None:
                total = gy * (i + 1) if total is None else total + gy * (i + 1)
        return tuple(None if i in self.without else total for i in indexes)


class Network:
    """Applies :class:`Node` objects."""

    def __init__(self):
        self.log = []

    def __call__(self, name, *xs, **kwargs):
        ys = Node(name, self.log, **kwargs).apply(xs)
        return ys[0] if len(ys) == 1 else ys


def grads(*variables):
    return [plain(x.grad) for x in variables]


@case
def backward_chain():
    net, x = Network(), variable(1, 2)
    h = net('h', x)
    y = net('y', h)
    y.grad = np.array([3, 4], 'f')
    y.backward()
    return net.log, grads(x, h, y)


@case
def backward_retain_grad():
    net, x = Network(), variable(1, 2)
    h = net('h', x)
    y = net('y', h)
    y.grad = np.array([3, 4], 'f')
    y.backward(retain_grad=True)
    return net.log, grads(x, h, y)


@case
def backward_scalar_starts_with_one():
    net, x = Network(), variable(5)
    y = net('y', x)
    y.backward()
    return net.log, grads(x, y)


@case
def backward_without_gradient_runs_the_function():
    net, x = Network(), variable(1, 2)
    y = net('y', x)
    y.backward()
    return net.log, grads(x, y)


@case
def backward_from_leaf():
    x = variable(1)
    x.backward()
    return grads(x)


@case
def backward_twice_accumulates():
    net, x = Network(), variable(1)
    y = net('y', net('h', x))
    y.backward()
    y.backward()
    return net.log, grads(x)


@case
def backward_of_unneeded_inputs():
    net, x, w = Network(), variable(1, requires_grad=False), variable(2)
    h = net('h', x)
    y = net('y', h, w, x)
    y.backward()
    return net.log, grads(x, w, h), h.requires_grad, h.creator is not None, y.requires_grad


@case
def backward_where_nothing_is_needed():
    net, x = Network(), variable(1, requires_grad=False)
    y = net('y', x)
    y.backward()
    return net.log, grads(x, y)


@case
def backward_same_variable_several_times():
    net = Network()
    x = variable(1, grad=np.array([10], 'f'))
    y = net('y', x, x, x)
    y.backward()
    return net.log, grads(x)


@case
def backward_none_ends_a_way():
    net, x, w = Network(), variable(1), variable(1)
    h = net('h', x)
    y = net('y', h, w, without=(0,))
    y.backward()
    return net.log, grads(x, w)


@case
def backward_several_outputs():
    net, x = Network(), variable(1)
    a, b, c = net('m', x, n_out=3)
    del b
    y = net('y', a, c, a)
    y.backward()
    return net.log, grads(x)


@case
def backward_ranks():
    net, x = Network(), variable(1)
    a = net('a', x)
    b = net('b', a)
    c = net('c', b, x)
    y = net('y', a, c, b, x)
    y.backward()
    return net.log, grads(x), [v.rank for v in (x, a, b, c, y)]


@case
def backward_ignores_gradients_on_the_way():
    net, x = Network(), variable(1)
    h = net('h', x)
    h.grad = np.array([100], 'f')
    y = net('y', h)
    y.backward()
    return grads(x, h)


@case
def backward_loss_scale():
    net, x, w = Network(), variable(1), variable(2)
    h = net('h', x)
    y = net('y', h, w)
    y.backward(loss_scale=8.)
    return grads(x, w), x._loss_scale, h._loss_scale


@case
def backward_loss_scale_keeps_a_given_gradient():
    net, x = Network(), variable(1)
    y = net('y', x)
    y.grad = np.array([3], 'f')
    y.backward(loss_scale=8.)
    return grads(x)


@case
def backward_after_unchaining():
    net, x = Network(), variable(1)
    h = net('h', x)
    g = net('g', h)
    y = net('y', g)
    h.unchain_backward()
    y.backward()
    return net.log, grads(x, h, g), h.creator is None, g.creator is None


@case
def backward_after_mutation():
    x = variable(1, 1)
    y = x * x
    x.array = np.array([5, 5], 'f')
    y.grad = np.ones(2, 'f')
    y.backward()
    return grads(x)


@case
def backward_twice_differentiable():
    x = variable(2)
    y = x * x * x
    y.backward(enable_double_backprop=True)
    gx = x.grad_var
    x.cleargrad()
    gx.backward()
    return plain(gx), grads(x), y.grad is None


@case
def grad_partial():
    net, x = Network(), variable(1)
    a = net('a', x)
    b = net('b', x)
    c = net('c', b)
    y = net('y', a, c, b)
    return plain(chainer.grad([y], [c, b])), net.log, grads(x, a, b, c, y)


@case
def grad_inputs_and_outputs():
    net, x, w = Network(), variable(1), variable(2)
    h = net('h', x)
    y = net('y', h, w)
    return plain(chainer.grad([y], [x, w, h, y, variable(3)])), net.log


@case
def grad_set_and_retain():
    net, x = Network(), variable(1, grad=np.array([7], 'f'))
    h = net('h', x)
    y = net('y', h)
    return plain(chainer.grad([y], [x], set_grad=True, retain_grad=True)), grads(x, h, y)


@case
def grad_set():
    net, x = Network(), variable(1, grad=np.array([7], 'f'))
    h = net('h', x)
    y = net('y', h)
    return plain(chainer.grad([y], [x], set_grad=True)), grads(x, h, y)


@case
def grad_given():
    net, x = Network(), variable(1, 2)
    y = net('y', net('h', x))
    return plain(chainer.grad([y], [x], [variable(3, 4)], [variable(10, 20)])), grads(x, y)


@case
def grad_default_is_ones():
    net, x = Network(), variable(1, 2)
    y = net('y', x)
    return (plain(chainer.grad([y], [x])), plain(chainer.grad([y], [x], [None])),
            plain(chainer.grad([y], [x], loss_scale=4.)),
            plain(chainer.grad([y], [x], [variable(1, 1)], loss_scale=4.)))


@case
def grad_of_several_outputs():
    net, x = Network(), variable(1)
    y = net('y', x)
    z = net('z', y)
    a, b = net('m', z, n_out=2)
    return plain(chainer.grad([y, z, b], [x, y, a])), net.log


@case
def grad_where_not_required():
    net, x = Network(), variable(1, requires_grad=False)
    return plain(chainer.grad([net('y', x)], [x]))


def ways_of_gradients():
    """Graphs in which some variables require no gradient: outputs, and what is asked for."""
    def variables():
        return (variable(1, 2), variable(1, 2, requires_grad=False),
                variable(3, 1, requires_grad=False), variable(2, 1))

    w, x, u, z = variables()
    yield 'product', [F.sum(w * x)], ([x], [x, w], [w, x])
    w, x, u, z = variables()
    yield 'alone', [x * x], ([x],)
    w, x, u, z = variables()
    h = x * 3
    yield 'computed', [F.sum(w * h)], ([h], [x], [x, w], [h, w])
    w, x, u, z = variables()
    h = w * x
    yield 'longer', [F.sum(h ** 2)], ([x], [x, h], [x, w])
    w, x, u, z = variables()
    yield 'beside', [F.sum(w * x * z)], ([x, z], [x, w], [x])
    w, x, u, z = variables()
    yield 'results', [x * u, w * x], ([x], [x, w], [u, x])
    w, x, u, z = variables()
    h = x * z
    yield 'twice', [F.sum((h + x) * w)], ([x, z], [x], [x, w])
    w, x, u, z = variables()
    h = w * x
    yield 'behind', [F.sum(h * u)], ([u, x, h], [h], [u], [u, w])
    w, x, u, z = variables()
    yield 'parts', [F.sum(F.split_axis(w * x, 2, 0)[0])], ([x, w], [x])
    w, x, u, z = variables()
    yield 'choice', [F.sum(F.where(np.array([True, False]), x, w))], ([x], [x, w])


@case
def grad_where_some_do_not_require_one():
    found = {}
    for name, outputs, asked in ways_of_gradients():
        found[name] = [plain(chainer.grad(outputs, inputs)) for inputs in asked]
    w, x = variable(1, 2), variable(1, 2, requires_grad=False)
    y = F.sum(w * x)
    found['given'] = plain(chainer.grad([y], [x], grad_inputs=[variable(1, 1)]))
    found['set'] = [plain(chainer.grad([y], [x], set_grad=True)), grads(w, x)]
    gw, = chainer.grad([F.sum((w * x) ** 2)], [w], enable_double_backprop=True)
    found['second'] = [plain(chainer.grad([F.sum(gw)], inputs)) for inputs in ([x], [x, w])]
    return found


@case
def grad_none():
    net, x = Network(), variable(1)
    h = net('h', x)
    y = net('y', h, without=(0,))
    return plain(chainer.grad([net('z', y)], [x])), plain(chainer.grad([x], [x])), net.log


@case
def grad_errors():
    x = variable(1)
    y = x + 1
    return [attempt(call) for call in (
        lambda: chainer.grad(y, [x]), lambda: chainer.grad([y], x),
        lambda: chainer.grad([y], [x], [x, x]), lambda: chainer.grad([y], [x], None, [x, x]),
        lambda: chainer.grad([y], [x], np.ones(1)))]


@case
def backward_of_many():
    net, x = Network(), variable(1)
    y = net('y', x)
    y.grad = np.array([5], 'f')
    chainer.backward([y])
    first = grads(x, y)
    z = net('z', x)
    z.grad = np.array([9], 'f')
    chainer.backward([z, y], [variable(2), variable(4)])
    return first, grads(x, y, z), net.log


@case
def wrong_results():
    class Wrong(chainer.FunctionNode):
        def __init__(self, output, gradient=None):
            self.output = output
            self.gradient = gradient

        def forward(self, inputs):
            return self.output

        def backward(self, indexes, gys):
            return self.gradient

    one = np.ones(1, 'f')
    wrong_outputs = [one, [one], (np.float32(1),), (1.0,), None, (variable(1),)]
    wrong_gradients = [(variable(1, 2),), (variable(1, dtype='d'),), (variable(1), variable(2)),
                       ()]
    return (
        [attempt(lambda output=output: Wrong(output).apply((variable(1),)))
         for output in wrong_outputs],
        [attempt(lambda g=gradient: Wrong((one,), g).apply((variable(1),))[0].backward())
         for gradient in wrong_gradients],
        attempt(lambda: plain(Wrong((one,), [variable(3)]).apply((variable(1),)))),
        attempt(lambda: chainer.FunctionNode().apply((variable(1),))),
        attempt(lambda: chainer.FunctionNode()(variable(1))))


@case
def nan_in_debug_mode():
    class Nan(chainer.FunctionNode):
        def forward(self, inputs):
            return np.asarray(inputs[0]) * 1,

        def backward(self, indexes, gys):
            return chainer.Variable(np.array([float('nan')], 'f')),

    with chainer.using_config('debug', True):
        x = variable(1)
        y = F.identity(x)
        return (attempt(lambda: F.identity(variable(float('nan')))),
                attempt(lambda: Nan().apply((x,))[0].backward()),
                attempt(lambda: plain(F.identity(variable(float('inf'))))),
                y.creator.stack is not None)


@case
def old_style_functions():
    log = []

    class Old(chainer.Function):
        def __init__(self, retain=None):
            self.retain = retain

        def forward(self, inputs):
            if self.retain is not None:
                self.retain_inputs(self.retain)
                self.retain_outputs((1,))
            return inputs[0] * inputs[1], inputs[0] + inputs[1]

        def backward(self, inputs, gys):
            log.append([[plain(x) for x in inputs], [plain(gy) for gy in gys]])
            if self.retain is not None:
                log.append([plain(y) for y in self.output_data])
            gy = gys[0] if gys[0] is not None else gys[1]
            return gy, None

    x, w = variable(2), variable(3)
    f = Old()
    a, b = f(x, w)
    a.backward()
    g = Old((1,))
    c, d = g(x, w.array)
    d.backward()
    return (grads(x, w), log, f.rank, f.label, a.creator is f, a.creator_node.label,
            len(f.inputs), len(f.outputs), attempt(lambda: f.output_data))


@case
def old_style_functions_are_differentiable_once():
    class Square(chainer.Function):
        def forward(self, inputs):
            return inputs[0] * inputs[0],

        def backward(self, inputs, gys):
            return 2 * inputs[0] * gys[0],

    x = variable(3)
    y = Square()(x)
    y.backward(enable_double_backprop=True)
    gx = x.grad_var
    z = gx * x
    once = plain(gx)
    x.cleargrad()
    return once, attempt(z.backward), attempt(lambda: chainer.grad([z], [x]))


@case
def old_style_wrong_results():
    class Wrong(chainer.Function):
        def __init__(self, gradient):
            self.gradient = gradient

        def forward(self, inputs):
            return inputs[0] * 1,

        def backward(self, inputs, gys):
            return self.gradient

    one = np.ones(1, 'f')
    return [attempt(lambda g=gradient: Wrong(g)(variable(1)).backward())
            for gradient in (one, (one, one), (np.ones(2, 'f'),), (None,))]


@case
def retained_outputs_come_back():
    class Twice(chainer.FunctionNode):
        def forward(self, inputs):
            self.retain_outputs((0, 1))
            return inputs[0] * 2, inputs[0] * 3

        def backward(self, indexes, gys):
            a, b = self.get_retained_outputs()
            self.seen = (a.creator_node is self, b.creator_node is self, plain(a), plain(b),
                         a.rank, b.requires_grad)
            return a + b,

    x = variable(1, 2)
    a, b = Twice().apply((x,))
    node = b.creator_node
    del a
    b.grad = np.ones(2, 'f')
    b.backward()
    return grads(x), list(node.seen), [y is None for y in node.output_data]


@case
def accumulating_functions():
    log = []

    class Sum(chainer.FunctionNode):
        def forward(self, inputs):
            return sum(inputs[1:], inputs[0]),

        def backward_accumulate(self, indexes, gys, gxs):
            log.append([plain(gx) for gx in gxs])
            return tuple(gys[0] if gx is None else gx + gys[0] for gx in gxs)

    x, w = variable(1, grad=np.array([5], 'f')), variable(2)
    y, = Sum().apply((x, w, x))
    z, = Sum().apply((y, w))
    z.backward()
    return grads(x, w), log


@case
def lazy_gradients():
    rng = np.random.RandomState(0)
    x = chainer.Variable(rng.uniform(-1, 1, 5).astype('f'))
    ys = [F.sum(x * float(k) ** 3) for k in rng.uniform(-9, 9, 6)]
    with chainer.using_config('lazy_grad_sum', True):
        (ys[0] + ys[1] * ys[2] + ys[3] + ys[4] * ys[5]).backward()
    return [round(float(g), 2) for g in x.grad]


class Log(chainer.FunctionHook):
    def __init__(self, name, log):
        self.name = name
        self.log = log

    def _add(self, event, function, in_data=(), out_grad=()):
        label = None if function is None else function.label
        self.log.append([self.name, event, label, [
            None if x is None else list(x.shape) for x in tuple(in_data) + tuple(out_grad)]])

    def added(self, function):
        self._add('added', function)

    def deleted(self, function):
        self._add('deleted', function)

    def forward_preprocess(self, function, in_data):
        self._add('forward', function, in_data)

    def forward_postprocess(self, function, in_data):
        self._add('after forward', function, in_data)

    def backward_preprocess(self, function, in_data, out_grad):
        self._add('backward', function, in_data, out_grad)

    def backward_postprocess(self, function, in_data, out_grad):
        self._add('after backward', function, in_data, out_grad)


@case
def hooks_of_a_thread():
    log, x = [], variable(1, 2)
    with Log('outer', log):
        y = x * 3 + x
        with Log('inner', log):
            z = F.sum(y * x)
        z.backward()
    x + 1
    return log


@case
def hooks_of_a_function():
    class Double(chainer.FunctionNode):
        def forward(self, inputs):
            return inputs[0] * 2,

        def backward(self, indexes, gys):
            return gys[0] * 2,

    log, x, f = [], variable(1), Double()
    f.add_hook(Log('a', log))
    f.add_hook(Log('b', log), name='c')
    names = list(f.local_function_hooks)
    errors = [attempt(lambda: f.add_hook(Log('a', log))), attempt(lambda: f.add_hook(3)),
              attempt(lambda: f.delete_hook('b'))]
    with Log('thread', log):
        y, = f.apply((x,))
    f.delete_hook('a')
    y.backward()
    return log, names, errors


@case
def hook_names_are_unique():
    log = []

    def twice():
        with Log('a', log):
            with Log('a', log):
                pass

    return attempt(twice), log, list(chainer.get_function_hooks())


def without_addresses(text):
    return re.sub('0x[0-9a-f]+', '0x', text)


@case
def print_hook():
    out, x = io.StringIO(), variable(1, 2)
    with function_hooks.PrintHook(file=out, end='|\n'):
        y = F.sum(x * 3)
        y.backward()
    return without_addresses(out.getvalue())


@case
def timer_hook():
    x, hook = variable(1, 2), function_hooks.TimerHook()
    with hook:
        y = F.sum(x * 3 + x)
        y.backward()
    summary = hook.summary()
    total, parts = hook.total_time(), sum(seconds for _, seconds in hook.call_history)
    hook.call_history = [('A', 1.5), ('LongerName', 0.0025), ('A', 2.), ('B', 3e-6), ('C', 5e-9)]
    out = io.StringIO()
    hook.print_report(unit='ms', file=out)
    return ([name for name, _ in hook.call_history],
            {k: v['occurrence'] for k, v in summary.items()},
            0 < total < parts, hook.summary(), out.getvalue())


@case
def texts_of_variables():
    values = [np.arange(3, dtype='f'), np.array(1.5), np.zeros(0, 'f'), np.zeros((0, 3), 'f'),
              np.arange(6).reshape(2, 3), np.arange(2000.), np.array([True]), None]
    texts = []
    for value in values:
        for name in (None, 'x'):
            v = chainer.Variable(value, name=name)
            texts.append([repr(v), str(v), without_addresses(v.summary()),
                          without_addresses(v.debug_print()), value is None or v.label])
    v = chainer.Variable(np.ones((2, 2)), grad=np.full((2, 2), 2.))
    return texts, without_addresses(v.debug_print())


@case
def texts_of_constants():
    x = variable(1, 2)
    return [y.creator.label for y in (
        x + 1.5, x + (-1.5), 1.5 - x, -2 - x, x - 3, x - (-3), x * np.float32(2), x * -1e-10,
        x + np.array([2.], 'f'), x ** 2.0, x ** -1, 2 ** x, x / 4, 3 / x, -x, abs(x), x + x,
        x - x, x * x, x / x, x ** x, x[0], x[1:], x.T, x.reshape(1, 2), x + True)]


@case
def graphs():
    def parsed(graph):
        head, _, text = graph.dump().partition(';')
        labels = dict(re.findall(r'(\d+) \[label="(.*?)"', text))
        edges = re.findall(r'(\d+) -> (\d+)', text)
        return (head, sorted(re.findall(r'\[label=.*?\];', text)),
                sorted([labels[a], labels[b]] for a, b in edges))

    x, y = variable(1, 2, name='x'), variable(3, 4)
    z = F.sum(x * 2 + y)
    z.name = 'z'
    a, b = F.identity(x, y)
    w = a * b
    build = computational_graph.build_computational_graph
    graphs = [
        build([z]), build([z, w]), build([z, w], remove_variable=True), build([x]),
        build([z], variable_style={'color': 'red'}, function_style=None, rankdir='LR',
              show_name=False),
        build([z.creator]), build([z.node]), build([x * x])]
    sizes = [(len(g.nodes), len(g.edges)) for g in graphs]  # the original's dump changes edges
    return ([parsed(g) for g in graphs], sizes,
            [attempt(lambda: build([z], rankdir='XX')), attempt(lambda: graphs[0].dump('png')),
             attempt(lambda: build([z], remove_split=False))])


@case
def type_check_texts():
    n = type_check.Variable(3, 'n')
    types = type_check.get_types((np.zeros((2, 3), 'f'), np.zeros(4, 'i')), 'in_types', False)
    a, b = types
    length = type_check.Variable(len, 'len')
    expressions = [
        types.size() == 2, a.ndim, a.shape[0] + 1, 1 + a.shape[0], -a.ndim, +a.ndim, ~a.ndim,
        a.shape[0] * (b.ndim + 1), (a.ndim + 1) * 2, a.ndim - (b.ndim - 1), a.ndim - b.ndim - 1,
        a.ndim // 2, 7 // a.ndim, a.ndim / 2, 7 / a.ndim, a.ndim % 2, 7 % a.ndim, 7 - a.ndim,
        a.ndim | 4, 4 | a.ndim, a.ndim & 3, 3 & a.ndim, a.ndim ^ 3, 3 ^ a.ndim, a.ndim << 1,
        8 >> a.ndim, a.shape[:2], a.shape[1:], a.shape[-1], a.shape[::2], a.dtype, a.dtype.kind,
        a.dtype == np.float32, a.dtype.kind == 'f', a.shape == (2, 3), a.ndim != 2, 2 == a.ndim,
        2 < a.ndim, 1 <= a.ndim, n == a.shape[1], length(a.shape) + n, type_check.prod(a.shape),
        type_check.make_variable(5, 'k') * 2, a.ndim + n == b.ndim * 5]
    texts = [[str(e), plain(e.eval()) if not isinstance(e.eval(), np.dtype) else str(e.eval())]
             for e in expressions]
    failures = []
    for condition in (
            a.ndim == 3, a.ndim != 2, a.ndim < 2, a.ndim <= 1, a.ndim > 2, a.ndim >= 3,
            a.dtype == b.dtype, n == a.shape[0], a.shape == (1, 2),
            type_check.prod(a.shape) == 7, types.size() == 3):
        try:
            type_check.expect(condition)
        except type_check.InvalidType as e:
            failures.append([str(e), e.expect, e.actual])
    type_check._argname(types, ('x', 'W'))
    return (texts, failures, str(a.ndim == b.shape[0]),
            [attempt(lambda: bool(a.ndim == 2)), attempt(lambda: type_check.expect(a.ndim == 2)),
             attempt(lambda: type_check._argname(types, ('x',))),
             attempt(lambda: type_check.expect_broadcast_shapes(a.shape, b.shape)),
             attempt(lambda: type_check.expect_broadcast_shapes(a.shape, a.shape[1:])),
             type_check.same_types(np.zeros(1), np.zeros(2)), type_check.same_types()])


@case
def type_checks_of_functions():
    class Checked(chainer.FunctionNode):
        def __init__(self, check):
            self.check = check

        def check_type_forward(self, in_types):
            self.check(in_types)

        def forward(self, inputs):
            return inputs

    def evaluated(in_types):
        if type_check.eval(in_types[0].ndim) != 2:
            raise type_check.InvalidType('a matrix', 'something else')

    def named(in_types):
        type_check._argname(in_types, ('x',))
        n = type_check.make_variable(2, 'n')
        type_check.expect(in_types[0].ndim == n)

    checks = [
        lambda types: type_check.expect(types.size() == 1, types[0].ndim == 2),
        lambda types: type_check.expect(
            types[0].shape[1] == type_check.make_variable(3, 'n_in')),
        lambda types: type_check.expect(types[0].dtype.kind == 'i'), evaluated, named]
    texts = []
    for check in checks:
        for shape in ((2,), (2, 3), (2, 4)):
            try:
                Checked(check).apply((np.zeros(shape, 'f'),))
                texts.append('')
            except Exception as e:
                texts.append(type(e).__name__ + ': ' + str(e).replace("'", ''))
    with chainer.using_config('type_check', False):
        texts.append(attempt(lambda: len(Checked(checks[0]).apply((np.zeros(3), np.zeros(3))))))
    return texts


@case
def convolution_sizes():
    settings = [(s, k, st, p, c, d) for s in (1, 5, 6) for k in (1, 2, 3) for st in (1, 2, 3)
                for p in (0, 1) for c in (False, True) for d in (1, 2)]
    return ([utils.get_conv_outsize(*s) for s in settings],
            [utils.get_deconv_outsize(*s) for s in settings])


@case
def windows():
    rng = np.random.RandomState(0)
    x = rng.uniform(-1, 1, (2, 2, 5, 6)).astype('f')
    results = []
    for settings in ((2, 3, 1, 2, 0, 1), (3, 3, 2, 2, 1, 1), (1, 2, 1, 1, 0, 0)):
        for cover_all in (False, True):
            for dilation in (1, 2):
                col = utils.conv.im2col_cpu(
                    x, *settings, pval=0.5, cover_all=cover_all, dy=dilation, dx=dilation)
                back = utils.conv.col2im_cpu(col, *settings[2:], h=5, w=6, dy=dilation, dx=dilation)
                results.append([list(col.shape), plain(col.sum((0, 1, 4, 5))), plain(back[1, 1])])
    col = utils.conv_nd.im2col_nd_cpu(x[:, :, 0], (2,), (2,), (1,), pval=-1, cover_all=True)
    results.append([plain(col[0]), plain(utils.conv_nd.col2im_nd_cpu(col, (2,), (1,), (6,))[0])])
    return results


@case
def alias_sampler():
    results = []
    for weights in ([1, 2, 3], [0.1, 0.2, 0.3, 0.4], [1, 1], [5], [3, 0, 1], list(range(10))):
        sampler = utils.WalkerAlias(weights)
        np.random.seed(0)
        results.append([plain(sampler.sample((2, 5))), plain(sampler.sample(3)),
                        plain(sampler.threshold), plain(sampler.values)])
    return results


@case
def sparse_matrices():
    x = np.array([[1, 0, 2], [0, 0, 3]], 'f')
    results = []
    for m in (utils.to_coo(x), utils.to_coo(x, 5), utils.to_coo(x, 2),
              utils.to_coo(np.stack([x, x[::-1]]), requires_grad=True),
              utils.to_coo(np.stack([x, np.zeros_like(x)]))):
        results.append([plain(m.data), plain(m.row), plain(m.col), list(m.shape), m.order,
                        plain(m.to_dense()), m.data.requires_grad])
    orders = [utils.get_order(np.array(r), np.array(c)) for r, c in (
        ([0, 0, 1], [0, 1, 0]), ([0, 1, 0], [0, 0, 1]), ([0, 1, 0], [1, 0, 0]), ([1, 0], [1, 0]))]
    one, two = np.zeros(1), np.zeros(2)
    return results, orders, [attempt(call) for call in (
        lambda: utils.CooMatrix(one, two, one, (2, 2)),
        lambda: utils.CooMatrix(one, one, one, (2, 2), 'foo'),
        lambda: utils.CooMatrix(np.zeros((1, 1, 1)), one, one, (2, 2)),
        lambda: utils.to_coo(np.zeros(3)))]


@case
def statistics():
    results = []
    for values in ([1., 2., 4.], [1, 2], [np.float32(1.1), np.float32(2.7), np.float32(-3.3)],
                   [np.array(1.5, 'f'), np.array(2.5, 'f')], [np.float16(60000), np.float16(60000)],
                   [7.], [float('inf'), 1.], [True, False]):
        summary = chainer.Summary()
        for value in values:
            summary.add(value)
        results.append([float(summary.compute_mean())] + [
            float(v) for v in summary.make_statistics()])
    summary = chainer.Summary()
    summary.add(1., weight=3)
    summary.add(np.array(5.), weight=np.array(0.5))
    results.append([float(v) for v in summary.make_statistics()])
    return repr(results)


@case
def statistics_of_dictionaries():
    summary = chainer.DictSummary()
    summary.add({
        'float': 1., 'array': np.array(2.), 'variable': chainer.Variable(np.array(3.)),
        'none': None, 'vector': np.zeros(3), 'weighted': (2., 3), 'list': [1], 'integer': 3,
        'weighted_variable': (chainer.Variable(np.array(3.)), np.array(2.)), 'one': np.zeros(1)})
    summary.add({'float': 3., 'weighted': (6., 1), 'late': np.float32(4)})
    return ({k: float(v) for k, v in summary.compute_mean().items()},
            {k: float(v) for k, v in summary.make_statistics().items()},
            attempt(lambda: summary.add({'x': (1., np.zeros(2))})))


@case
def reports():
    reporter, observer, other = chainer.Reporter(), object(), object()
    reporter.add_observer('main', observer)
    reporter.add_observers('more/', [('other', other)])
    chainer.report({'nowhere': 1})
    first, second, third = {}, {}, {}
    with reporter:
        chainer.report({'loss': 1}, observer)
        with chainer.report_scope(first):
            chainer.report({'loss': 2}, other)
            with reporter.scope(second):
                chainer.report({'loss': 3})
            with chainer.Reporter().scope(third):
                chainer.report({'loss': 4})
            chainer.report({'late': 5}, observer)
    x = variable(1) * 2
    with reporter.scope({}):
        chainer.report({'x': x})
        cut = reporter.observation['x'].creator is None
        with chainer.using_config('keep_graph_on_report', True):
            chainer.report({'x': x})
        kept = reporter.observation['x'] is x
        error = attempt(lambda: chainer.report({'x': 1}, object()))
    return reporter.observation, first, second, third, cut, kept, error


@case
def settings():
    out = io.StringIO()
    chainer.global_config.show(file=out)
    # Our own entries are no part of the comparison.
    lines = [line for line in out.getvalue().splitlines(True) if not line.startswith('static_')]
    results = [''.join(lines), str(chainer.get_dtype()), str(chainer.get_dtype('d')),
               str(chainer.get_dtype(chainer.mixed16)),
               str(chainer.get_dtype(chainer.mixed16, 'f'))]
    with chainer.using_config('dtype', chainer.mixed16):
        results += [str(chainer.get_dtype()), str(chainer.get_dtype(map_mixed16=np.float32)),
                    str(chainer.get_dtype('f', map_mixed16=np.float16))]
    with chainer.using_config('user_setting', 1):
        results.append(chainer.config.user_setting)
    results += [attempt(lambda: chainer.config.user_setting),
                attempt(lambda: delattr(chainer.config, 'user_setting'))]
    return results


def _parameter(p):
    return [plain(p.array), plain(p.grad), p.name, p.is_initialized]


@case
def parameters():
    results = []
    for p in (chainer.Parameter(3, (2,)), chainer.Parameter(np.float64(3), 2, 'p'),
              chainer.Parameter(None, (2,)), chainer.Parameter(np.arange(3.)),
              chainer.Parameter(np.arange(2.), (3, 2)),
              chainer.Parameter(lambda a: a.fill(4), (2,))):
        results.append(_parameter(p))
    for prepare in ('cleargrad', 'zerograd'):
        p = chainer.Parameter(2.)
        getattr(p, prepare)()
        p.initialize((2,))
        results.append(_parameter(p))
    p = chainer.Parameter(2.)
    p.initialize(3)
    results.append(_parameter(p))
    p.array[...] = 7
    p.initialize((2,))
    results.append(_parameter(p))
    return results


@case
def copying_data_and_gradients():
    x = chainer.Variable(np.full(3, 9, 'f'), grad=np.ones(3, 'f'))
    y = chainer.Variable(np.zeros(3, 'f'))
    y.addgrad(x)
    y.addgrad(x)
    y.addgrad(chainer.Variable(np.zeros(3, 'f')))
    y.copydata(x)
    results = [plain(y), plain(y.grad)]
    p = chainer.Parameter(1.)
    p.copydata(x)
    q = chainer.Parameter(1.)
    q.addgrad(x)
    r = chainer.Parameter(5.)
    z = chainer.Variable(np.zeros(2, 'f'))
    z.copydata(r)
    results += [_parameter(p)[0], q.is_initialized, plain(z), plain(r)]
    x.zerograd()
    results.append(plain(x.grad))
    x.cleargrad()
    results.append(plain(x.grad))
    return results


@case
def refused_values_of_variables():
    x = variable(1, 2, 3)
    return [attempt(call) for call in (
        lambda: chainer.Variable([1]), lambda: chainer.Variable(np.float32(1)),
        lambda: chainer.Variable(x), lambda: chainer.Variable(np.zeros(1), volatile=True),
        lambda: chainer.Variable(np.zeros(1), foo=1), lambda: chainer.Variable(np.zeros(1), 'x'),
        lambda: setattr(x, 'grad', np.zeros(2, 'f')), lambda: setattr(x, 'grad', np.zeros(3)),
        lambda: setattr(x, 'grad', [1]), lambda: setattr(x, 'grad_var', variable(1)),
        lambda: setattr(variable(), 'grad', 1.), lambda: x == x, lambda: x != x, lambda: x < 1,
        lambda: x <= 1, lambda: x > 1, lambda: x >= 1, lambda: bool(x), lambda: float(x),
        lambda: x.item(), lambda: len(chainer.Variable(np.array(1.))), lambda: x.to_gpu(),
        lambda: x.to_chx(), lambda: x.to_intel64(), lambda: x.chx_array,
        lambda: chainer.Variable().shape, lambda: chainer.as_variable(1))]


@case
def devices():
    def name(spec):
        return str(chainer.get_device(spec))

    return [attempt(lambda spec=spec: name(spec)) for spec in (
        '@numpy', -1, np.int64(-1), '@cupy:0', 0, '@cupy', '@foo', '@numpy:0', 'native:0', None,
        1.5, ('@cupy', 0))]


@case
def gradients_set_on_other_outputs():
    def both(retain_grad, use):
        x = chainer.Variable(np.array([1., 2.]))
        a, b = F.split_axis(x * 2, 2, 0)
        b.grad = np.full_like(b.array, 5)
        y = F.sum(use(a, b))
        y.backward(retain_grad=retain_grad)
        return plain(x.grad), plain(b.grad)

    x = chainer.Variable(np.array([1., 2.]))
    a, b = F.identity(x, x + 1)
    a.grad, b.grad = np.ones_like(a.array), np.full_like(a.array, 5)
    a.backward()
    return (grads(x, a, b), both(False, lambda a, b: a * 3), both(True, lambda a, b: a * 3),
            both(False, lambda a, b: a * 3 + b), both(True, lambda a, b: a * 3 + b))


@case
def grad_counts_variables_once():
    def ten_times(k):
        return variable(*[10. ** k] * 2)

    found = []
    for outputs, inputs, gys, gxs in [
            ('yy', 'x', None, None), ('yy', 'x', (0, 1), None), ('yy', 'x', (None, 1), None),
            ('yy', 'x', (1, None), None), ('yy', 'xx', None, (1, 2)), ('yzy', 'x', (0, 1, 2), None),
            ('y', 'xx', None, (1, None)), ('y', 'xx', None, (None, 1)), ('xx', 'xx', None, None),
            ('x', 'x', (1,), (2,)), ('y', 'yx', (1,), (2, 3)), ('z', 'yx', None, (2, 3)),
            ('zy', 'yx', (0, 1), (2, 3)), ('aab', 'x', None, None), ('aba', 'x', (0, 1, 2), (3,))]:
        x = variable(2, 3)
        y = x * x
        a, b = F.split_axis(x, 2, 0)
        there = {'x': x, 'y': y, 'z': y * y, 'a': a, 'b': b}
        gys, gxs = [
            ks and [k if k is None else ten_times(k) for k in ks] for ks in (gys, gxs)]
        if outputs[0] == 'a' and gys:
            gys = [gy[:1] for gy in gys]
        found.append(plain(chainer.grad(
            [there[name] for name in outputs], [there[name] for name in inputs], gys, gxs)))
    x = variable(2, 3)
    y = x * x
    gx, = chainer.grad([y, y], [x], set_grad=True, retain_grad=True, enable_double_backprop=True)
    found.append([plain(gx), grads(x, y), plain(chainer.grad([gx, gx], [x]))])
    return found


@case
def backward_adds_variables_that_stand_twice():
    found = []
    for kept, gys in [(None, (1, 10)), (None, (1, None)), (None, (None, 10)), (5, None),
                      (5, (1, 10)), (5, (None, None))]:
        for function in (lambda x: x * x, lambda x: x):
            x = variable(2, 3)
            y = function(x)
            if kept is not None:
                y.grad = np.full(2, kept, 'f')
            chainer.backward([y, y], gys and [
                gy if gy is None else variable(gy, gy) for gy in gys])
            found.append(grads(x, y))
    return found


@case
def outputs_of_backward_without_gradients():
    def backward(outputs, gradients, *given):
        x = variable(1, 2)
        y = x * x
        for v, g in zip((x, y), gradients):
            v.grad = None if g is None else np.full(2, g, 'f')
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter('always')
            chainer.backward([(x, y)[k] for k in outputs], *given)
        told = [w.category.__name__ for w in caught if 'output' in str(w.message)]
        return told, grads(x, y)

    one = variable(1, 1)
    return [
        backward([0], [None, None]), backward([0], [3, None]), backward([1], [None, 3]),
        backward([0, 1], [None, 3]), backward([0, 1], [3, 3]), backward([1, 1], [None, 3]),
        backward([1], [None, None], [one]), backward([0, 0], [None, None], [one, one])]


@case
def gradients_that_require_a_gradient():
    def required(function, *options, **more):
        x = variable(1, 2)
        gx, = chainer.grad([function(x)], [x], *options, **more)
        return gx.requires_grad

    def nothing(x):
        return x

    return [
        required(function, *options, enable_double_backprop=twice)
        for function in (F.relu, F.exp, F.square, nothing)
        for options in ((), ([variable(1, 1)],))
        for twice in (False, True)]


@case
def functions_without_gradients():
    class New(chainer.FunctionNode):
        def forward(self, inputs):
            return inputs[0] * 2,

    class Old(chainer.Function):
        def forward(self, inputs):
            return inputs[0] * 2,

    class Nones(New):
        def backward(self, indexes, gys):
            return None,

    class Nothing(New):
        def backward(self, indexes, gys):
            return None

    def apply(kind, x):
        function = kind()
        return function(x) if kind is Old else function.apply((x,))[0]

    def run(kind, middle, way):
        x = variable(1, 2)
        y = apply(kind, x * 1.5 if middle else x)
        if way == 'grad':
            return plain(chainer.grad([y], [x]))
        y = y if way == 'set' else F.sum(y)
        y.grad = np.ones_like(y.array)
        y.backward()
        return grads(x)

    return [attempt(run, kind, middle, way) for kind in (New, Old, Nones, Nothing)
            for middle in (False, True) for way in ('set', 'sum', 'grad')]


@case
def wrong_gradients():
    class New(chainer.FunctionNode):
        def __init__(self, change):
            self.change = change

        def forward(self, inputs):
            return inputs[0] * 2,

        def backward(self, indexes, gys):
            return self.change(gys[0]),

    class Old(chainer.Function):
        def __init__(self, change):
            self.change = change

        def forward(self, inputs):
            return inputs[0] * 2,

        def backward(self, inputs, gys):
            return self.change(gys[0]),

    def run(kind, change, middle, between):
        x = variable(1, 2)
        h = x * 1.5 if middle else x
        y = kind(change)(h) if kind is Old else kind(change).apply((h,))[0]
        if between:
            return plain(chainer.grad([y], [x]))
        y.grad = np.ones(2, 'f')
        y.backward()
        return grads(x)

    changes = [
        (New, lambda g: F.cast(g, 'e')), (New, F.sum), (New, lambda g: chainer.Variable(None)),
        (Old, lambda g: g.astype('e')), (Old, lambda g: g.astype('i')),
        (Old, lambda g: g.sum(keepdims=True)), (Old, chainer.Variable), (Old, lambda g: 2.0)]
    found = []
    for debug in (False, True):
        with chainer.using_config('debug', debug):
            found.append([
                attempt(run, kind, change, middle, between) for kind, change in changes
                for middle in (False, True) for between in (False, True)])
    return found


@case
def no_gradients_through_integers():
    def run(function):
        x = variable(1, 2, 3)
        y = function(x)
        gx, = chainer.grad([y], [x])
        F.sum(y).backward()
        return plain(y), plain(gx), grads(x)

    def back(x):
        return F.cast(x, 'f')

    found = [run(function) for function in [
        lambda x: back(F.cast(x, 'i')), lambda x: back(F.cast(x, 'int8')),
        lambda x: back(F.cast(x, '?')), lambda x: back(F.cast(x, 'e')),
        lambda x: back(F.cast(x, 'i') * 2), lambda x: x * back(F.cast(x, 'i')),
        lambda x: back(F.reshape(F.cast(x, 'i'), (3, 1)))]]
    x = variable(1, 2, dtype='i')
    F.sum(back(x)).backward()
    return found, grads(x)


@case
def sums_of_many():
    rng = np.random.RandomState(0)
    arrays = [(rng.standard_normal(50) * 10. ** rng.randint(-3, 3, 50)).astype('f')
              for _ in range(7)]
    return plain(F.add(*arrays))


def run(function):
    return jsonable(function())


def jsonable(value):
    if isinstance(value, dict):
        return {k: jsonable(v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return [jsonable(v) for v in value]
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, float) and value != value:
        return 'nan'
    return value
