"""Warnings: define-by-run's, in its words and order, from its lines, by the filters of these."""

import gc
import linecache
import threading
import warnings
import weakref

import numpy as np
import pytest
from compare import pair
from open_loops import open_loops
from trust import CALLS, Base, check, table, total, variable

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.graph_optimizations import _warned

FAULTS, fault = table()
ACTIONS = "always", "error", "ignore"


def heard(forward, action="always"):
    """What makes chains whose steps tell what they have heard; now and then batches are smaller."""

    def make():
        class Model(Base):
            def __init__(self):
                super().__init__()
                self.running, self.told = np.zeros(4, "f"), 0

            def step(self, k):
                x = variable(k, 2 if k % 7 == 5 else 3, 4)
                with warnings.catch_warnings(record=True) as found:
                    warnings.simplefilter(action)
                    try:
                        y = self(x)
                        total(y).backward()
                    except RuntimeWarning as e:
                        y = str(e)
                told = [(w.category, str(w.message), w.filename, w.lineno) for w in found]
                return y, x, told

        Model.forward = forward
        return Model

    return make


def listed(forward):
    """The method, as one of the programs of this file."""
    FAULTS.append(forward)
    return forward


# -- Computed twice, told of once ------


@listed
def computations(self, x):
    """They are made once more while the method is read."""
    return self.a(x) + np.nan_to_num(np.sqrt(-abs(x.array)))


@listed
def computations_of_numbers(self, x):
    return self.a(x) * (1.0 if np.isnan(np.float32(-1) ** np.float32(0.5)) else 2.0)


@listed
def warnings_of_python_code(self, x):
    return self.a(x) * np.nan_to_num(x.array[x.array > 9].mean())


@listed
def functions_before_a_branch(self, x):
    """Where the branch is another one, the call goes with its Python, and computes it again."""
    h = F.log(self.a(x))
    return self.b(x) if np.isnan(h.array).sum() > 5 else self.a(x)


@listed
def computations_before_a_branch(self, x):
    return self.b(x) if np.isnan(np.log(x.array)).sum() > 5 else self.a(x)


@listed
def a_number_that_is_an_index(self, x):
    k = int(np.isnan(np.log(x.array)).sum())
    return self.b(x) * [1.0, 2.0, 3.0][k % 3]


@listed
def effects_after_it(self, x):
    """Where something has warned nothing has been set yet."""
    h = F.log(self.a(x))
    self.running += np.nan_to_num(h.array)[0]
    noise = np.random.rand(4).astype("f")
    self.told = self.told + 1
    return self.b(x) * self.running + noise if h.array[0, 0] > 0 else F.dropout(self.a(x), 0.3)


@listed
def gradients_inside(self, x):
    h = F.log(self.a(x))
    (g,) = chainer.grad([F.sum(h)], [x])
    return h * g.array if g.array[0, 0] > 0 else h + 1


# -- Filters that the method changes ------


@listed
def ignored_inside(self, x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        h = F.log(self.a(x))
    return self.b(x) + F.sqrt(h)


@listed
def ignored_after_it(self, x):
    h = F.log(self.a(x))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        self.told = float(F.exp(h).array.sum())
    return h * 2


@listed
def looked_at_where_others_are_ignored(self, x):
    h = F.log(self.a(x))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        self.told = float(h.array.sum())
    return h * (2 + len(found))


@listed
def listened_to_inside(self, x):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        h = F.log(self.a(x))
    self.told = [str(w.message) for w in found]
    return F.tanh(h) + self.b(x)


@listed
def ignored_now_and_then(self, x):
    """A way that is known is gone with other filters."""
    self.told += 1
    with warnings.catch_warnings():
        if self.told % 8 > 4:
            warnings.simplefilter("ignore")
        h = F.log(self.a(x))
    return self.b(x) + F.sqrt(h)


@listed
def not_changed_at_first(self, x):
    self.told += 1
    if self.told < 6:
        return F.sqrt(F.log(self.a(x)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        h = F.log(self.a(x))
    return F.sqrt(h)


@listed
def errors_inside(self, x):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return F.log(self.a(x))
    except RuntimeWarning as e:
        self.told = str(e)
        return self.b(x)


@listed
def errors_that_are_caught_late(self, x):
    h = F.tanh(self.a(x))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        g = F.log(h)
        return self.b(x) + g


# -- Programs compute by other ufuncs, in another order ------


@listed
def infinities_in_softmax(self, x):
    h = x / x.array[:, :1].clip(0, 1)
    return F.softmax(h) + F.log_softmax(self.a(h))


@listed
def several_errors_in_one_function(self, x):
    return F.rsqrt(x * x.array.clip(0, 1)) + F.arcsin(x * 2)


@listed
def powers(self, x):
    return (x * 1e-20) ** 3.5 + x.array.clip(0, 1) ** -x


@listed
def errors_of_products_and_sums(self, x):
    h = x * 2e38 + x * x - x
    return F.mean_squared_error(h, self.a(h))


@listed
def numbers_that_are_too_large(self, x):
    """They become arrays before a program runs, and once more for that of backward."""
    self.told = self.told + 3
    return F.tanh(self.a(x)) * 10.0**self.told


@listed
def errors_behind_statistics_that_are_written(self, x):
    """What has failed has written nothing; what is applied instead writes once."""
    return F.log(self.bn(self.a(x))) + F.dropout(x, 0.4)


@listed
def errors_in_backward_alone(self, x):
    return F.sqrt(F.relu(self.a(x)))


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("forward", FAULTS, ids=lambda f: f.__name__)
def test_warnings(forward, action):
    check(heard(forward, action), 2 * CALLS)


# -- Floating-point errors that are told to a function ------


class Log:
    """What ``numpy.errstate(all="log", call=...)`` writes to."""

    def __init__(self, told):
        self.write = told.append


def told(forward, how):
    """What makes chains whose steps tell which floating-point errors somebody was told of."""

    def make():
        Model = heard(forward)()

        def step(self, k):
            found = []
            listener = Log(found) if how == "log" else lambda text, flag: found.append(text)
            with np.errstate(all=how, call=listener):
                return *super(Model, self).step(k), found

        Model = type("Model", (Model,), {"step": step})
        return Model

    return make


@pytest.mark.parametrize("how", ["call", "log"])
@pytest.mark.parametrize("forward", FAULTS, ids=lambda f: f.__name__)
def test_errors_are_told_once(forward, how):
    check(told(forward, how), 2 * CALLS)


class _Wide(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a = L.Linear(4, 2000)

    def forward(self, x):
        return F.sum(F.sqrt(F.relu(self.a(x))))


@pytest.mark.parametrize("how", ["warn", "raise", "call", "log"])
def test_errors_of_functions_that_cannot_be_applied_again(how):
    """A large parameter has been written since: the program has the values, and its own words."""
    plain, static = pair(_Wide)
    for k in range(150):
        written = k == 149
        gave = []
        for model in plain, static:
            found = []
            listener = Log(found) if how == "log" else lambda text, flag, f=found: f.append(text)
            model.cleargrads()
            y = model(variable(k, 3, 4))
            if written:
                model.a.W.array[...] = 1
            errors = np.errstate(divide=how if written else "ignore", call=listener)
            with errors, warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                try:
                    y.backward()
                except FloatingPointError as e:
                    found.append(str(e))
            found += [str(w.message) for w in warned]
            gave.append((found, None if how == "raise" else model.a.W.grad.tobytes()))
        assert gave[0] == gave[1]
    assert "divide by zero" in gave[0][0][0]


def test_errors_keep_no_argument_alive():
    """Backward adds to the gradient of an argument as long as there is a Variable."""

    class Model(Base):
        @chainer.static_graph
        def forward(self, x):
            return F.sqrt(F.relu(F.log(self.a(x))))

    model = Model()

    def call(k):
        x = variable(k)
        total(model(x)).backward()
        return weakref.ref(x)

    gc.disable()
    try:
        with np.errstate(all="warn"), warnings.catch_warnings():
            warnings.simplefilter("default")
            assert [call(k)() for k in range(2 * CALLS)] == [None] * 2 * CALLS
    finally:
        gc.enable()


def test_calls_are_proved_where_errors_are_told_to_nobody():
    class Model(chainer.Chain):
        @chainer.static_graph
        def forward(self, x):
            return F.log(x) * 2

    model = Model()
    for how, proved in [("call", False), ("ignore", True)]:
        with np.errstate(all=how, call=lambda text, flag: None):
            for k in range(20):
                model(variable(k))
        assert (model.schedule_manager.report()[0].without_python > 10) is proved


# -- Who hears what ------


def test_what_is_heard_leaves_no_trace():
    before = list(warnings.filters)
    with _warned.Hearing() as hearing:
        warnings.warn("one", stacklevel=1)
        assert hearing.warned
    assert warnings.filters == before
    with pytest.warns(UserWarning, match="two"):
        warnings.warn("two", stacklevel=1)
    with pytest.raises(KeyError), _warned.Hearing():
        raise KeyError
    assert warnings.filters == before


def test_another_thread_is_heard_by_everybody():
    with pytest.warns(UserWarning, match="mine"), _warned.Hearing() as hearing:
        thread = threading.Thread(target=lambda: warnings.warn("mine", stacklevel=1))
        thread.start()
        thread.join()
    assert not hearing.warned


@pytest.mark.parametrize("ignored, told", [(UserWarning, False), (DeprecationWarning, True)])
def test_what_the_filters_ignore_is_no_warning(ignored, told):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ignored)
        with _warned.Hearing() as hearing:
            warnings.warn("one", stacklevel=1)
    assert hearing.warned is told


def test_ignored_warnings_cost_no_proof():
    """With the filters of many a notebook calls still go without their Python."""

    class Model(chainer.Chain):
        @chainer.static_graph
        def forward(self, x):
            h = F.log(x)
            return h * 2 if h.array[0, 0] != 99 else h

    model = Model()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(20):
            model(variable(k))
    assert model.schedule_manager.report()[0].without_python > 10


# -- What Python says of a text ------


SAID = '''
import chainer.functions as F
class Model(Base):
    def forward(self, x):
        h = x
        for k in range(self.turns):
            if k is 77:
                print("\\d")
            h = F.tanh(self.a(h))
        return h
'''


@pytest.mark.parametrize("action", ["always", "error"])
def test_opened_loops_say_nothing_that_was_said_of_their_text(action):
    name, space = "<said of a text>", {"Base": Base}
    linecache.cache[name] = len(SAID), None, SAID.splitlines(True), name
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        exec(compile(SAID, name, "exec"), space)
    assert len(said) == 2

    def outcomes(decorate):
        np.random.seed(0)
        model, found = type("Model", (space["Model"],), {"forward": decorate(
            space["Model"].forward)})(), []
        for k in range(40):
            model.turns = 4 + k % 5
            y = model(variable(k))
            total(y).backward()
            found.append(y.array.tobytes())
        return found

    with warnings.catch_warnings(record=True) as heard, open_loops():
        warnings.simplefilter(action, SyntaxWarning)
        assert outcomes(chainer.static_graph) == outcomes(lambda f: f)
    assert not heard


# -- Warned of by Python, not by arithmetic ------


@pytest.mark.parametrize("sizes", [[0] * 12, [3, 1, 4, 2, 5, 6, 3, 0, 4, 1, 0, 7, 2, 0]])
def test_batches_without_rows_warn_of_means_as_define_by_run_does(sizes):
    """Such a mean is no error of arithmetic, for which a program ends before anything is told."""

    class Plain(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.norm = L.BatchNormalization(4)

        def forward(self, x):
            return self.norm(F.tanh(x)) * 2

    class Compiled(Plain):
        forward = chainer.static_graph(Plain.forward)

    found = []
    for kind in (Plain, Compiled):
        model, steps = kind(), []
        for k, n in enumerate(3 * sizes):
            x = chainer.Variable(np.random.RandomState(k).rand(n, 4).astype("f"))
            with warnings.catch_warnings(record=True) as told, \
                    chainer.using_config("static_budget", None):
                warnings.simplefilter("always")
                model.cleargrads()
                F.sum(model(x)).backward()
            heard = [(str(w.message), w.filename, w.lineno) for w in told]
            steps.append((heard, x.grad.tobytes(), model.norm.gamma.grad.tobytes()))
        found.append(steps)
    assert found[0] == found[1]
    assert any("Mean of empty slice" in text for heard, *_ in found[0] for text, *_ in heard)
