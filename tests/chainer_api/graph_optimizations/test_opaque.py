"""Python code that a replay calls back, and all other ways in which values reach Python code."""

import ast
import copy
import pathlib

import numpy as np
import pytest
from compare import check, hits, pair, x32

import chainer
import chainer.functions as F
import chainer.links as L


class Chain(chainer.Chain):
    def __init__(self):
        super().__init__()
        self.table = np.linspace(0, 1, 4).astype("f")
        with self.init_scope():
            self.l1 = L.Linear(4, 4)


def runs(forward, make_inputs=None, **options):
    """Compare a method with its decorated form."""
    cls = type(forward.__name__, (Chain,), {"forward": forward})
    plain, static = pair(cls)
    check(plain, static, make_inputs or x32(3, 4), **options)
    return plain, static


class Old(chainer.Function):
    """Keeps an output, a mask and no input."""

    def forward(self, inputs):
        (x,) = inputs
        self.retain_inputs(())
        self.retain_outputs((0,))
        self.mask = x > np.median(x)
        return (np.exp(x) * self.mask,)

    def backward(self, inputs, grads):
        assert inputs == (None,)
        return (self.output_data[0] * grads[0] * self.mask,)


class New(chainer.FunctionNode):
    def forward(self, inputs):
        (x,) = inputs
        self.mask = (x > np.median(x)).astype(x.dtype)
        self.masks = [self.mask]
        self.biggest = float(x.max())
        return (x * self.mask,)

    def backward(self, indexes, gys):
        return (gys[0] * self.mask,)


@pytest.mark.parametrize("kind", [Old, New])
def test_calls_under_way_keep_apart_what_a_function_holds(kind):
    def forward(self, x):
        return kind()(x) if kind is Old else kind().apply((x,))[0]

    def twice(chain, x, y):
        a, b = chain(x), chain(y)
        return a, b * 2

    make = lambda r: tuple(chainer.Variable(r.randn(3, 4).astype("f")) for _ in range(2))
    runs(forward, make, call=twice)


def use_mask_of_new(self, x):
    func = New()
    (y,) = func.apply((x,))
    return y * 2 + x * func.mask


def use_mask_of_old(self, x):
    func = Old()
    return func(x) * 2 + x * func.mask.astype("f")


def compute_with_mask(self, x):
    func = New()
    (y,) = func.apply((x,))
    return y + (1 - func.mask) * self.table


def compute_with_mask_of_dropout(self, x):
    y, mask = F.dropout(x, 0.5, return_mask=True)
    return y + (mask > 1) * x.array


@pytest.mark.parametrize(
    "forward",
    [use_mask_of_new, use_mask_of_old, compute_with_mask, compute_with_mask_of_dropout],
)
def test_arrays_that_a_function_leaves_are_those_of_the_call(forward):
    runs(forward)


def read_number(self, x):
    func = New()
    (y,) = func.apply((x,))
    return y * func.biggest


def read_list(self, x):
    func = New()
    (y,) = func.apply((x,))
    return y * func.masks[0]


def look_at_mask_of_dropout(self, x):
    y, mask = F.dropout(x, 0.5, return_mask=True)
    return y * float(mask.sum())


def look_at_indexes(self, x):
    func = F.pooling.max_pooling_2d.MaxPooling2D(2, 2)
    (y,) = func.apply((x[None, None],))
    return y * float(func.indexes.sum())


@pytest.mark.parametrize(
    "forward", [read_number, read_list, look_at_mask_of_dropout, look_at_indexes]
)
def test_numbers_that_a_function_leaves_end_the_recording(forward):
    runs(forward)


class InPlace(chainer.FunctionNode):
    """Computes in a buffer that it is made with."""

    def __init__(self, where):
        self.buffer, self.log, self.where = np.zeros((40, 40), "f"), [], where

    def note(self, x):
        self.buffer[:3, :4] = x
        self.log.append(1)

    def forward(self, inputs):
        if self.where == "forward":
            self.note(inputs[0])
        return (inputs[0] * 2,)

    def backward(self, indexes, gys):
        if self.where == "backward":
            self.note(gys[0].array)
        return (gys[0] * 2 + self.buffer[:3, :4],)


@pytest.mark.parametrize("where", ["forward", "backward"])
def test_a_function_that_changes_its_attributes_in_place_is_not_replayed(where):
    _, static = runs(lambda self, x: InPlace(where).apply((x,))[0])


class Weighted(chainer.FunctionNode):
    """Takes arrays that are no inputs, in several forms."""

    def __init__(self, weights):
        self.weights = weights

    def plain(self):
        w = self.weights
        while isinstance(w, (list, tuple)):
            w = w[0]
        if isinstance(w, dict):
            w = w["w"]
        return w.array if isinstance(w, chainer.Variable) else w

    def forward(self, inputs):
        return (inputs[0] * self.plain(),)

    def backward(self, indexes, gys):
        return (gys[0] * self.plain(),)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda self, x: x.array + 1,
        lambda self, x: [(x.array + 1, 3)],
        lambda self, x: {"w": x.array + 1},
        lambda self, x: chainer.Variable(x.array + 1),
        lambda self, x: F.tanh(x),
        lambda self, x: self.table,
        lambda self, x: (self.table,),
        lambda self, x: self.l1.b,
    ],
    ids=["array", "nested", "dict", "Variable", "result", "attribute", "in tuple", "parameter"],
)
def test_arrays_that_a_function_is_made_with_are_those_of_the_call(wrap):
    def call(chain, x):
        chain.table = chain.table + x.array[0]
        chain.l1.b.array[...] = x.array[1]
        return chain(x)

    runs(lambda self, x: Weighted(wrap(self, x)).apply((x,))[0], call=call)


def test_a_boolean_index_is_that_of_the_call():
    def make(random):
        x = np.arange(12, dtype="f").reshape(3, 4)
        return (chainer.Variable(random.permutation(x.ravel()).reshape(3, 4)),)

    runs(lambda self, x: x[x.array > 4] * 2, make)


def test_an_index_that_selects_another_number_is_define_by_run():
    forward = lambda self, x: F.dropout(F.sum(x[x.array > 0]) * F.dropout(x))
    _, static = runs(forward)


def doubly(chain, x):
    """Gradients of gradients, through the define-by-run graph."""
    (g,) = chainer.grad([F.sum(chain(x) ** 2)], [x], enable_double_backprop=True)
    return g * g


def test_indexes_of_the_call_stay_with_its_graph():
    runs(lambda self, x: x[:, np.argsort(x.array[0])] * self.table, call=doubly)


class Sometimes(chainer.FunctionNode):
    """Draws, and gives as many rows as it happens to choose."""

    def forward(self, inputs):
        (x,) = inputs
        self.rows = np.random.rand(len(x)) > 0.5
        return (x[self.rows],)

    def backward(self, indexes, gys):
        gx = np.zeros((len(self.rows), 4), "f")
        gx[self.rows] = gys[0].array
        return (chainer.Variable(gx),)


def test_a_function_with_outputs_of_other_shapes_is_define_by_run():
    def forward(self, x):
        return F.dropout(Sometimes().apply((F.dropout(self.l1(x)),))[0])

    _, static = runs(forward, x32(12, 4))


class Fickle(chainer.FunctionNode):
    """Gives more outputs, or no gradient, where the input is large."""

    def __init__(self, mode):
        self.mode = mode

    def forward(self, inputs):
        self.large = bool(inputs[0][0, 0] > 3)
        return inputs * 2 if self.large and self.mode == "outputs" else inputs

    def backward(self, indexes, gys):
        return (None if self.large and self.mode == "gradients" else gys[0],)


@pytest.mark.parametrize("mode", ["outputs", "gradients"])
def test_functions_that_change_their_form_are_define_by_run(mode):
    def forward(self, x):
        return Fickle(mode).apply((x,))[-1] * self.l1(x)

    make = lambda r: (chainer.Variable(np.full((3, 4), make.count.pop(), "f")),)
    make.count = [1, 5, 1, 4, 3, 2, 1]
    _, static = runs(forward, make, iterations=7)


class Noise(chainer.FunctionNode):
    """Multiplies with random numbers, some of which no seed decides."""

    calls = 0

    def forward(self, inputs):
        type(self).calls += 1
        self.noise = np.random.randn(3, 4).astype("f")
        return (inputs[0] * self.noise,)

    def backward(self, indexes, gys):
        return (gys[0] * self.noise,)


def noisy(self, x):
    return F.dropout(Noise().apply((F.dropout(x),))[0])


@chainer.static_code
def noise(x):
    return np.random.rand(*x.shape).astype("f")


def noisy_code(self, x):
    return F.dropout(F.dropout(x) * noise(x.array))


def negative_samples(self, x):
    t = np.array([0, 2, 1], "i")
    sampler = chainer.utils.WalkerAlias([1, 2, 3, 1]).sample
    loss, samples = F.negative_sampling(
        F.dropout(x), t, self.l1.W, sampler, 2, return_samples=True
    )
    return loss * F.dropout(F.embed_id(samples, self.l1.W))


@pytest.mark.parametrize("forward", [noisy, noisy_code, negative_samples])
def test_random_numbers_come_in_the_order_of_define_by_run(forward):
    runs(forward)


class Sampling(chainer.Chain):
    """Losses that draw samples, of links and of a function."""

    def __init__(self, size):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(5, 4)
            self.negative = L.NegativeSampling(4, [4, 3, 1, 2, 5], size)
            self.black_out = L.BlackOut(4, [4, 3, 1, 2, 5], size)
        self.black_out.W.array = np.linspace(-1, 1, 20, dtype="f").reshape(5, 4)
        self.sample = self.negative.sampler.sample

    def forward(self, x, t):
        h = F.dropout(self.embed(x))
        loss = self.negative(h, t) + self.black_out(h, t)
        return loss + F.sum(F.negative_sampling(h, t, self.embed.W, self.sample, 3, "no"))


def both_with_samples(calls, change=lambda chain, k: None):
    """The decorated chain after some calls that were compared with plain ones."""
    plain, static = pair(Sampling, 2)
    for k in range(calls):
        x, t = np.array([k % 5, 1, 4], "i"), np.array([3, -1, k % 5], "i")
        found = []
        for chain in (plain, static):
            np.random.seed(k)
            change(chain, k)
            chain.cleargrads()
            loss = chain(x, t)
            loss.backward()
            drawn = np.random.rand(4).tobytes()
            found.append((loss.array.tobytes(), drawn, [p.grad.tobytes() for p in chain.params()]))
        assert found[0] == found[1], k
    return static


def test_samples_of_the_librarys_own_sampler_are_part_of_programs():
    manager = both_with_samples(10).schedule_manager
    (report,) = manager.report()
    assert report.without_python >= 3 and len(manager.programs) == 1


def test_another_sampler_is_asked_in_each_call():
    def change(chain, k):
        if k == 6:
            chain.negative.sampler = chainer.utils.WalkerAlias([0, 0, 1, 1, 0])
        if k == 12:
            chain.sample = lambda shape: np.random.randint(0, 2, shape).astype("i") * (k % 3)

    static = both_with_samples(18, change)
    assert "its sampler is a function of the user's" in str(static.schedule_manager.report())


@pytest.mark.parametrize("forward", [noisy, noisy_code])
def test_random_numbers_stay_with_the_graph_of_their_call(forward):
    def call(chain, x):
        y = chain(x)
        chain(x + 1)
        return doubly(lambda x: y, x)

    runs(forward, call=call)


def test_the_graph_of_a_call_does_not_run_its_opaque_functions_again():
    _, static = pair(type("Noisy", (Chain,), {"forward": noisy}))
    for _ in range(3):
        x = chainer.Variable(np.ones((3, 4), "f"))
        F.sum(static(x)).backward()
    before = Noise.calls
    x = chainer.Variable(np.ones((3, 4), "f"))
    doubly(static, x)
    assert Noise.calls == before + 1


def through_as_array(self, x):
    return x * (chainer.as_array(x * 2) > 1)


def of_a_node(self, x):
    y = F.exp(x)
    return x * (y.creator_node.outputs[0]().data > 1)


@pytest.mark.parametrize("forward", [through_as_array, of_a_node])
def test_every_way_to_an_array_gives_that_of_the_call(forward):
    runs(forward)


def text(self, x):
    return x * len(str(F.sum(x)))


def representation(self, x):
    return x * float(repr(F.sum(x))[9:-1])


def description(self, x):
    return x * len((x * 2).debug_print())


def deep_copy(self, x):
    return x * copy.deepcopy(x * 2).array


def retained(self, x):
    return x * (F.relu(x).creator_node.output_data[0] > 1)


def copied(self, x):
    other = chainer.Variable(np.zeros((3, 4), "f"))
    other.copydata(x * 2)
    return x * other


@pytest.mark.parametrize(
    "forward", [text, representation, description, deep_copy, retained, copied]
)
def test_every_way_to_values_ends_the_recording(forward):
    runs(forward)


def cut(self, x):
    h = x * 2
    h.unchain_backward()
    return h * self.l1(x)


def cut_argument(self, x):
    x.unchain_backward()
    return self.l1(x)


def unchain_argument(self, x):
    x.unchain()
    return self.l1(x)


def clear(self, x):
    x.cleargrad()
    return self.l1(x)


def set_gradient(self, x):
    x.grad = np.ones_like(x.array)
    return self.l1(x)


def go_back(self, x):
    F.sum(x * x).backward()
    return self.l1(x)


@pytest.mark.parametrize(
    "forward", [cut, cut_argument, unchain_argument, clear, set_gradient, go_back]
)
def test_what_a_method_does_to_the_graph_outside_happens_there(forward):
    def call(chain, x):
        x.grad = np.full((3, 4), 3, "f")
        return chain(x), chain(x * 2)

    runs(forward, call=call)


def halves(self, x):
    a, b = F.split_axis(x * 2, 2, 1)
    return F.exp(a), b, a * b


def shared(self, x):
    h = x * 2
    return h * 3, h, h * 5


@pytest.mark.parametrize("forward", [halves, shared])
@pytest.mark.parametrize("start", range(3))
@pytest.mark.parametrize("given", range(3))
def test_gradients_set_on_other_outputs(forward, start, given):
    plain, static = pair(type("Several", (Chain,), {"forward": forward}))
    for k in range(4):
        found = []
        for chain in (plain, static):
            x = chainer.Variable(np.random.RandomState(k).randn(3, 4).astype("f"))
            ys = chain(x)
            for y in (ys[given], ys[start]):
                y.grad = np.full(y.shape, 1 if y is ys[start] else 5, "f")
            ys[start].backward()
            found.append([x.grad, *[y.grad for y in ys]])
        for a, b in zip(*found, strict=True):
            assert (a is None) == (b is None)
            assert a is None or np.array_equal(a, b)
    assert hits(static) > 0


def reads_behind_apply():
    """Where the library reads an attribute of a function after it has applied it."""
    for path in sorted(pathlib.Path(chainer.__file__).parent.rglob("*.py")):
        if "graph_optimizations" in path.parts:
            continue
        tree = ast.parse(path.read_text())
        for outer in ast.walk(tree):
            if not isinstance(outer, ast.FunctionDef):
                continue
            named = [n for n in ast.walk(outer) if isinstance(n, ast.Attribute)]
            named = [n for n in named if isinstance(n.value, ast.Name) and n.value.id != "self"]
            applied = {n.value.id: n.lineno for n in named if n.attr == "apply"}
            made = {
                a.targets[0].id: a.value.func.id for a in ast.walk(outer)
                if isinstance(a, ast.Assign) and isinstance(a.targets[0], ast.Name)
                and isinstance(a.value, ast.Call) and isinstance(a.value.func, ast.Name)
            }  # fmt: skip
            for n in named:
                name = n.value.id
                if name in applied and n.lineno > applied[name] and n.attr != "apply":
                    opaque = {m.value.id for m in named if m.attr == "opaque"}
                    yield f"{path.name}:{n.lineno}", name in opaque, made.get(name), tree


def test_the_library_reads_no_attribute_of_a_pending_function():
    """It is there as soon as the function has run: such functions run between two programs."""
    found = list(reads_behind_apply())
    assert len(found) > 4
    for place, is_opaque, name, tree in found:
        classes = [c for c in tree.body if isinstance(c, ast.ClassDef) and c.name == name]
        of_class = [
            a for c in classes for a in c.body
            if isinstance(a, ast.Assign) and a.targets[0].id == "opaque"
        ]  # fmt: skip
        assert is_opaque or of_class, place
