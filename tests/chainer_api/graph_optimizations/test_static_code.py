"""static_code, profilers, threads, and other surroundings of a compiled call."""

import cProfile
import sys
import threading

import numpy as np
import pytest
from compare import check, pair, x32

import chainer
import chainer.functions as F
import chainer.links as L


class SideEffect(chainer.Chain):
    def __init__(self):
        super().__init__()
        self.seen = []
        with self.init_scope():
            self.l1 = L.Linear(4, 5)

    @chainer.static_code
    def note(self, x):
        self.seen.append(float(x.array.sum()))

    @chainer.static_code
    def shift(self, x):
        return x - x.mean()

    @chainer.static_code
    def fill(self, inputs, outputs):
        outputs[0][...] = 3 * inputs[0]

    def forward(self, x):
        self.note(x)
        h = self.l1(x)
        self.note(h)
        out = np.empty(h.shape, h.dtype)
        self.fill(inputs=[h.array], outputs=[out])
        return h * self.shift(h.array) + out


def test_static_code_runs_in_every_call():
    plain, static = pair(SideEffect)
    check(plain, static, x32(3, 4), iterations=5)
    assert plain.seen == static.seen and len(static.seen) == 10


SEEN = []


@chainer.static_code
def note_globally(x):
    print("noted")
    SEEN.append(float(x.sum()))


def test_static_code_may_change_globals_and_print(capsys):
    class Noting(SideEffect):
        def forward(self, x):
            h = self.l1(x)
            note_globally(h.array)
            return h

    plain, static = pair(Noting)
    check(plain, static, x32(3, 4), iterations=4)
    assert SEEN[0::2] == SEEN[1::2] and len(SEEN) == 8
    assert capsys.readouterr().out == "noted\n" * 8


def test_static_code_refuses_what_it_cannot_decorate():
    with pytest.raises(TypeError, match="no option speed"):
        chainer.static_code(speed=3)
    with pytest.raises(TypeError, match="a function to decorate"):
        chainer.static_code(1)
    with pytest.raises(TypeError, match="decorates a function or method"):
        chainer.static_code()(3)
    assert chainer.static_code(func_name="x")(len)([1]) == 1


class Declared(chainer.FunctionNode):
    """A user's function that says it may be recorded, written as the documentation shows."""

    _supports_static_optimizations = True

    @chainer.static_code
    def static_forward(self, inputs, outputs):
        x = inputs[0]
        y = outputs[0]
        y *= 0.0
        y[:] = 3.0 * x

    def forward(self, inputs):
        x, = inputs
        xp = chainer.backend.get_array_module(x)
        y = xp.ones(x.shape).astype(x.dtype)
        self.static_forward(inputs=[x], outputs=[y])
        return y,

    def backward(self, indexes, gys):
        return gys[0] * 3.0,


class NotReally(Declared):
    """Says so, and looks at values all the same."""

    def forward(self, inputs):
        x, = inputs
        return x * (2 if float(x.sum()) > 0 else 5),

    def backward(self, indexes, gys):
        return gys[0] * 3.0,


class PlainBackward(Declared):
    """Computes with a plain array in backward, which no recording can see."""

    def forward(self, inputs):
        x, = inputs
        self.mask = x > 0
        return x * self.mask,

    def backward(self, indexes, gys):
        return gys[0] * (2 * self.mask).astype("f"),


class Looks(Declared):
    """Decides by values what it does, which is against the rules."""

    def __init__(self, w):
        pass

    def forward(self, inputs):
        self.retain_inputs((0,))
        self.retain_outputs((0,))
        return inputs[0] * 2,

    def backward(self, indexes, gys):
        return gys[0] * (2.0 if float(self.look(gys[0]).sum()) > 0 else 5.0),


class AtAnInput(Looks):
    def look(self, gy):
        return self.get_retained_inputs()[0].array


class AtData(Looks):
    def look(self, gy):
        return self.get_retained_inputs()[0].data


class AtTheVariable(Looks):
    def look(self, gy):
        return np.float32(self.get_retained_inputs()[0][0, 0].item())


class AtAnOutput(Looks):
    def look(self, gy):
        return self.get_retained_outputs()[0].array


class AtTheNode(Looks):
    def look(self, gy):
        return self.inputs[0].data


class AtAGradient(Looks):
    def look(self, gy):
        return gy.array


class WithAnArray(Looks):
    def __init__(self, w):
        self.w = w

    def look(self, gy):
        return self.w


class WithArrays(Looks):
    def __init__(self, w):
        self.ws = [None, w]

    def look(self, gy):
        return self.ws[1]


class WithAnArrayInForward(WithAnArray):
    def forward(self, inputs):
        return inputs[0] * (2 if float(self.w.sum()) > 0 else 5),

    def backward(self, indexes, gys):
        return gys[0] * 3.0,


class WithAnotherInBackward(Looks):
    def backward(self, indexes, gys):
        return WithAnArrayInForward(self.get_retained_inputs()[0].array).apply(gys)


@pytest.mark.parametrize("check", ["spaced", "never"])
@pytest.mark.parametrize("function", [
    AtAnInput, AtData, AtTheVariable, AtAnOutput, AtTheNode, AtAGradient, WithAnArray, WithArrays,
    WithAnArrayInForward, WithAnotherInBackward])
def test_what_a_function_decides_by_values_is_not_frozen(function, check):
    class Chain(chainer.Chain):
        def forward(self, x, w):
            return F.tanh(function(w).apply((F.sin(x),))[0])

    class Compiled(Chain):
        forward = chainer.static_graph(Chain.forward)

    models = Chain(), Compiled()
    with chainer.using_config("static_check", check):
        for k in range(12):
            sign, found = (-1.0) ** k, []
            for model in models:
                x = chainer.Variable(np.full((3, 4), sign, "f"))
                y = model.forward(x, np.full(3, sign, "f"))
                (F.sum(y) * sign).backward()
                found.append([x.grad.tolist(), y.array.tolist()])
            assert found[0] == found[1], k


def test_plain_array_code_in_backward_is_not_frozen():
    class Chain(SideEffect):
        def forward(self, x):
            return PlainBackward().apply((self.l1(x),))[0]

    plain, static = pair(Chain)
    check(plain, static, x32(3, 4), iterations=6)


@pytest.mark.parametrize(("function", "recorded"), [(Declared, True), (NotReally, False)])
def test_functions_that_declare_themselves(function, recorded):
    class Chain(SideEffect):
        def forward(self, x):
            return F.tanh(function().apply((self.l1(x),))[0])

    plain, static = pair(Chain)
    check(plain, static, x32(3, 4), iterations=6)
    programs = static.schedule_manager.programs
    assert any("setitem" in str(p.recorded) for p in programs) == recorded


class MLP(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(None, 5)

    def forward(self, x):
        return F.relu(self.l1(x))


def test_lazy_parameters_are_initialized_in_the_traced_call():
    plain, static = pair(MLP)
    check(plain, static, x32(3, 4))


def test_a_trace_under_a_profiler():
    plain, static = pair(MLP)
    profile = cProfile.Profile()
    profile.enable()
    try:
        check(plain, static, x32(3, 4))
    finally:
        profile.disable()
    calls = []

    def profiler(frame, event, arg):
        calls.append(event)

    plain, static = pair(MLP)
    sys.setprofile(profiler)
    try:
        check(plain, static, x32(3, 4))
        assert sys.getprofile() is profiler
    finally:
        sys.setprofile(None)
    assert calls


def test_threads():
    plain, static = pair(MLP)
    x = np.random.RandomState(0).randn(3, 4).astype("f")
    with chainer.no_backprop_mode():
        np.random.seed(0)
        expected = plain(x).array
        np.random.seed(0)
        static(x)
    wrong = []

    def run():
        with chainer.no_backprop_mode():
            for k in range(50):
                scale = np.float32(1 + k % 3)
                y = static(x[: 1 + k % 3] * scale).array
                want = np.maximum(x[: 1 + k % 3] * scale @ plain.l1.W.array.T, 0)
                if not np.allclose(y, want, rtol=1e-5, atol=1e-6):
                    wrong.append(k)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    with chainer.no_backprop_mode():
        assert (static(x).array == expected).all()


def test_debug_mode_and_grad_inside():
    class Penalty(MLP):
        def forward(self, x):
            y = F.sum(F.tanh(self.l1(x)) ** 2)
            gx, = chainer.grad([y], [x], enable_double_backprop=True)
            return y + F.sum(gx * gx)

    plain, static = pair(Penalty)
    check(plain, static, x32(3, 4))
    with chainer.using_config("debug", True):
        check(plain, static, x32(3, 4), iterations=2)


class MyVariable(chainer.Variable):
    pass


class Unhashable:
    __hash__ = None

    def __eq__(self, other):
        return True


@pytest.mark.parametrize(
    "make", [lambda: MyVariable(np.ones((3, 4), "f")), lambda: np.ones((3, 4), "f").view(np.matrix)]
)
def test_arguments_that_cannot_be_compared(make):
    class Plain(MLP):
        def forward(self, x):
            return F.sum(self.l1(chainer.Variable(np.asarray(getattr(x, "array", x)))))

    plain, static = pair(Plain)
    for _ in range(3):
        np.random.seed(0)
        a = plain(make())
        np.random.seed(0)
        b = static(make())
        assert a.array == b.array
