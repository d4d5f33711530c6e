"""Random graphs: the built program gives, bit for bit, what the NumPy calls give one by one."""

import warnings

import numpy as np
import pytest
from codegen_targets import TARGET, generate

from chainwright.codegen.native_target import groups
from chainwright.codegen.numpy_target import select, tiles
from chainwright.ir import Graph, Slot, build, constant, cut, literal, make, placeholder

UNARY = ["negative", "exp", "tanh", "square", "absolute", "sqrt", "sign", "positive", "log1p"]
BINARY = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "arctan2"]
COMPARE = ["greater", "less_equal", "equal", "logical_and", "not_equal"]
SHAPES = [(3, 4), (4, 3), (4,), (3, 1), (1, 4), (), (2, 3, 4), (3, 0), (1,), (12,), (5, 3, 4)]
ROWS = [(7, 37), (7, 37), (7, 1), (37,), (7, 3, 37), (7,), (7, 37), (1, 37)]


PLANES = [(3, 5, 37)] * 4 + [(1, 5, 1), (3, 5, 1), (37,)]
ROWWISE = [0, 1, 2, 3, 4, 5, 5, 6, 8, 12, 14]
STYLES = {"whole": (SHAPES, range(20)), "rows": (ROWS, ROWWISE), "planes": (PLANES, ROWWISE)}


@pytest.fixture(params=STYLES)
def style(request, monkeypatch):
    """Shapes and kinds of steps to draw from; groups of any size run in tiles of a few rows."""
    monkeypatch.setattr(cut, "LARGE_BYTES", 40)
    monkeypatch.setattr(select, "LARGE_SIZE", 4)
    monkeypatch.setattr(tiles, "TILE_BYTES", {"rows": 900, "planes": 700}.get(request.param, 1))
    monkeypatch.setattr(tiles, "WORTHWHILE_BYTES", 1)
    monkeypatch.setattr(groups, "TILE_BYTES", {"rows": 400, "planes": 700}.get(request.param, 1))
    return STYLES[request.param]


class Recorder:
    """Records NumPy calls as nodes and as closures, so that they can run again on other data."""

    def __init__(self, rng, choices):
        self.rng, self.choices = rng, choices
        self.values, self.calls, self.inputs, self.nodes = {}, [], [], []

    def input(self, array, kind="argument"):
        node = placeholder(
            f"x{len(self.inputs)}", array.shape, array.dtype, array.strides, kind=kind
        )
        self.inputs.append(node)
        self.values[node] = array
        return node

    def constant(self, array):
        node = constant(array)
        self.values[node] = array
        return node

    def literal(self, value):
        node = literal(value)
        self.values[node] = value
        return node

    def record(self, op, inputs, call, **attrs):
        result = call(*(self.values[node] for node in inputs))
        if isinstance(result, tuple):
            node = make(op, *inputs, **attrs)
        elif op == "write":
            node = make(op, *inputs)
        else:
            result = np.asarray(result)
            facts = {"shape": result.shape, "dtype": result.dtype, "strides": result.strides}
            node = make(op, *inputs, **facts, **attrs)
        self.values[node] = result
        self.nodes.append(node)
        self.calls.append((node, inputs, call))
        if isinstance(result, tuple):
            for k in range(len(result)):
                self.record("pick", (node,), lambda values, k=k: values[k], k=k)
        return node

    def run(self, arrays):
        """What the calls give on other inputs: a dictionary from node to value."""
        values = {node: value for node, value in self.values.items() if node.is_leaf}
        values.update(zip(self.inputs, arrays, strict=True))
        for node, inputs, call in self.calls:
            result = call(*(values[source] for source in inputs))
            values[node] = np.asarray(result) if node.is_array else result
        return values


def random_array(rng, shape, dtype):
    array = rng.standard_normal(shape) * 2
    array = array > 0 if np.dtype(dtype).kind == "b" else array.astype(dtype)
    return np.asarray(array)


def random_layout(rng, shape, dtype):
    axes = tuple(rng.permutation(len(shape)))
    array = random_array(rng, tuple(shape[axis] for axis in axes), dtype)
    if shape and rng.random() < 0.2:
        array = random_array(rng, (array.shape[0] * 2, *array.shape[1:]), dtype)[::2]
    return array.transpose(tuple(np.argsort(axes)))


def like(rng, array):
    """Other data in the same layout."""
    low, high = np.lib.array_utils.byte_bounds(array)
    memory = np.zeros(max(high - low, 1), np.uint8)
    start = array.__array_interface__["data"][0] - low
    other = np.ndarray(array.shape, array.dtype, memory.data, start, array.strides)
    other[...] = random_array(rng, array.shape, array.dtype)
    return other


def copy_exactly(array):
    other = like(np.random.default_rng(0), array)
    other[...] = array
    return other


def pick(rng, items):
    return items[rng.integers(len(items))]


def arrays_of(recorder):
    known = recorder.inputs + [n for n in recorder.nodes if n.op != "write"]
    return [node for node in known if node.is_array][-12:]


def picked(recorder):
    return pick(recorder.rng, [node for node in recorder.nodes if node.is_array])


def step(recorder):
    """Record one random call; a choice that NumPy refuses is passed over."""
    rng = recorder.rng
    x = pick(rng, arrays_of(recorder))
    value = recorder.values[x]
    choice = pick(rng, recorder.choices)
    record = recorder.record
    if choice <= 1:
        name = pick(rng, UNARY)
        return record(name, (x,), getattr(np, name))
    if choice <= 4:
        name = pick(rng, BINARY + COMPARE)
        others = [pick(rng, arrays_of(recorder)), recorder.literal(pick(rng, [2.0, 1, 0.0, 1.5]))]
        y = pick(rng, others)
        if name == "power" and value.dtype.kind != "f":
            raise ValueError("other data may have negative exponents")
        pair = (x, y) if y.op != "literal" or rng.random() < 0.7 else (y, x)
        return record(name, pair, getattr(np, name))
    if choice == 5:
        likely = (0.3, 0.4, 0.9, 0.9, 0.9) if value.ndim > 2 else (0.3, 0.9)
        axis = tuple(a for a in range(value.ndim) if rng.random() < likely[a])
        name, keep = pick(rng, ["sum", "max", "mean", "any", "prod"]), bool(rng.random() < 0.6)
        axes = pick(rng, [axis, axis, axis, None])
        return record(
            name,
            (x,),
            lambda a: getattr(np, name)(a, axis=axes, keepdims=keep),
            axis=axes,
            keepdims=keep,
        )
    if choice == 6:
        shape = pick(rng, [(-1,), value.shape[::-1], (1, *value.shape), (2, -1)])
        return record("reshape", (x,), lambda a: a.reshape(shape))
    if choice == 7:
        axes = tuple(int(a) for a in rng.permutation(value.ndim))
        return record("transpose", (x,), lambda a: a.transpose(axes), axes=axes)
    if choice == 8:
        index = pick(rng, [(slice(1, None),), (Ellipsis, 0), (None,), (slice(None, None, -1),)])
        return record("getitem", (x,), lambda a: a[index], index=index)
    if choice == 9:
        where = recorder.constant(np.array([0, 1, 0]))
        return record("getitem", (x, where), lambda a, i: a[i], index=Slot(0))
    if choice == 10:
        y = pick(rng, arrays_of(recorder))
        name = pick(rng, ["dot", "matmul"])
        return record(name, (x, y), getattr(np, name))
    if choice == 11:
        y = pick(rng, [recorder.literal(3), pick(rng, arrays_of(recorder))])
        index = pick(rng, [0, Ellipsis, slice(None, 2)])

        def update(base, item):
            new = copy_exactly(base)
            new[index] = item
            return new

        return record("setitem", (x, y), update, index=index)
    if choice == 12:
        dtype = pick(rng, [np.float32, np.float64, np.int32])
        return record("cast", (x,), lambda a: a.astype(dtype))
    if choice == 13:
        y = pick(rng, arrays_of(recorder))
        return record("concatenate", (x, y), lambda a, b: np.concatenate((a, b)), axis=0)
    if choice == 14:
        flags, y = pick(rng, arrays_of(recorder)), pick(rng, arrays_of(recorder))
        if rng.random() < 0.6:
            flags = record("greater", (flags, recorder.literal(0.0)), np.greater)
        y = pick(rng, [y, y, recorder.literal(0.0), recorder.literal(-0.0)])
        pair = (x, y) if rng.random() < 0.5 else (y, x)
        return record("where", (flags, *pair), np.where)
    if choice == 15:
        return record(
            "random", (), lambda: np.random.rand(*value.shape), fn="rand", args=value.shape
        )
    if choice == 16:
        return record("host", (x,), host, fn=host, label="host", n_outputs=2)
    if choice == 17:
        y = pick(rng, arrays_of(recorder))
        facts = {"fn": both, "args": (Slot(0), Slot(1)), "n_outputs": 3}
        return record("call", (x, y), both, view=(None, 1, 0), **facts)
    if choice == 18:
        places = recorder.constant(np.array([0, 0, 1]))

        def scatter(base, item, where):
            new = copy_exactly(base)
            np.add.at(new, where, item)
            return new

        return record("add_at", (x, recorder.literal(2), places), scatter, index=Slot(0))
    shape, dtype = value.shape, value.dtype
    return record("zeros", (), lambda: np.zeros(shape, dtype))


def host(array):
    """Stands for a user's function: gives a new array and the one it got."""
    return np.asarray(array * 2 if array.dtype.kind != "b" else ~array), array


def both(one, other):
    """Stands for a call with several results, some of which look into its inputs."""
    return np.asarray(one != one), other[len(other) // 2 :], one[..., None]


def grow(recorder, count):
    while count:
        before = len(recorder.nodes)
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                step(recorder)
        except (ValueError, TypeError, IndexError, ZeroDivisionError, OverflowError):
            assert len(recorder.nodes) <= before + 1
            count -= rng_skip(recorder)
            continue
        count -= 1


def rng_skip(recorder):
    return int(recorder.rng.random() < 0.1)


def recorder_of(seed, shapes, choices):
    rng = np.random.default_rng(seed)
    recorder = Recorder(rng, choices)
    for k in range(4):
        dtype = pick(rng, [np.float32, np.float32, np.float64, np.int32, np.bool_, np.float16])
        kind = "state" if k == 0 else "argument"
        recorder.input(random_layout(rng, pick(rng, shapes), dtype), kind)
    return recorder


def same_bits(got, expected, node):
    assert isinstance(got, np.ndarray), node
    assert got.dtype == expected.dtype and got.shape == expected.shape, node
    assert got.strides == expected.strides or 0 in got.shape, (node, got.strides, expected.strides)
    assert plain_nans(got).tobytes() == plain_nans(expected).tobytes(), node


def plain_nans(array):
    """NaNs without sign: where both operands are NaN, NumPy's loops take the sign of either."""
    return np.where(np.isnan(array), np.nan, array).astype(array.dtype, copy=False)


def call(program, *inputs):
    loaded = program.load()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return loaded.function(*inputs, loaded.new_scratch(), loaded.new_kept())


def quiet_run(recorder, arrays):
    np.random.seed(3)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return recorder.run(arrays)


@pytest.mark.parametrize("seed", range(150))
def test_forward(seed, style):
    recorder = recorder_of(seed, *style)
    grow(recorder, 25)
    rng = recorder.rng
    outputs = tuple(picked(recorder) for _ in range(4))
    graph = Graph(tuple(recorder.inputs), tuple(recorder.nodes), outputs)
    built = build(graph, {}, TARGET.passes)
    program = generate(built.forward, title="random", saved_count=len(built.saved))
    arrays = [like(rng, recorder.values[node]) for node in recorder.inputs]
    expected = quiet_run(recorder, arrays)
    before = [array.tobytes() for array in arrays]
    for _ in range(2):
        np.random.seed(3)
        for got, node in zip(call(program, *arrays), outputs, strict=True):
            same_bits(got, expected[node], (node, str(built.forward), program.source))
    assert [array.tobytes() for array in arrays] == before


def write(state, value):
    state[...] = value


@pytest.mark.parametrize("seed", range(50))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_state(seed, style):
    """A running value that is read, written, and read by backward as it was before."""
    recorder = recorder_of(seed, *style)
    rng, state = recorder.rng, recorder.inputs[0]
    grow(recorder, 12)
    shape, dtype = state.shape, state.dtype
    new = recorder.record("multiply", (state, picked_like(recorder, state)), np.multiply)
    if (new.shape, new.dtype) != (shape, dtype):
        new = recorder.record("negative" if dtype.kind != "b" else "invert", (state,), negated)
    recorder.values[state] = copy_exactly(recorder.values[state])
    recorder.record("write", (state, new), write)
    primal = tuple(recorder.nodes)
    gradient = recorder.input(random_layout(rng, shape, np.float32), kind="gradient")
    result = recorder.record("multiply", (gradient, state), np.multiply)
    outputs = picked(recorder), new
    built = build(
        Graph(tuple(recorder.inputs[:-1]), primal, outputs[1:], "forward"),
        {0: Graph((gradient,), (result,), (result,), "backward")},
        TARGET.passes,
    )
    forward = generate(built.forward, title="forward", saved_count=len(built.saved))
    backward = generate(built.backwards[0], title="backward")
    arrays = [like(rng, recorder.values[node]) for node in recorder.inputs]
    old = arrays[0].copy()
    wanted = quiet_run(recorder, [copy_exactly(array) for array in arrays])[new]
    np.random.seed(3)
    got = call(forward, *arrays[:-1])
    same_bits(got[0], wanted, str(built.forward))
    assert arrays[0].tobytes() == wanted.tobytes()
    saved = [got[1 + x.attr("index")] for x in built.backwards[0].inputs[:-1]]
    (product,) = call(backward, *saved, arrays[-1])
    assert product.tobytes() == np.multiply(arrays[-1], old).tobytes()


def negated(array):
    return -array if array.dtype.kind != "b" else ~array


def picked_like(recorder, node):
    alike = [x for x in arrays_of(recorder) if x.shape == node.shape]
    return pick(recorder.rng, [node, *alike])


@pytest.mark.parametrize("seed", range(1000, 1100))
def test_forward_and_backward(seed, style):
    recorder = recorder_of(seed, *style)
    grow(recorder, 15)
    rng = recorder.rng
    primal, inputs = tuple(recorder.nodes), tuple(recorder.inputs)
    outputs = (picked(recorder), picked(recorder))
    shape, dtype = outputs[0].shape, outputs[0].dtype
    gradient = recorder.input(random_layout(rng, shape, dtype), kind="gradient")
    grow(recorder, 15)
    later = tuple(node for node in recorder.nodes if node not in primal)
    arrays_later = [node for node in later if node.is_array]
    results = (pick(rng, arrays_later), pick(rng, arrays_later), picked(recorder))
    built = build(
        Graph(inputs, primal, outputs, "forward"),
        {"all": Graph((gradient,), later, results, "backward")},
        TARGET.passes,
    )
    forward = generate(built.forward, title="forward", saved_count=len(built.saved))
    backward = generate(built.backwards["all"], title="backward")
    arrays = [like(rng, recorder.values[node]) for node in recorder.inputs]
    expected = quiet_run(recorder, arrays)
    np.random.seed(3)
    got = call(forward, *arrays[:-1])
    for value, node in zip(got, outputs, strict=False):
        same_bits(value, expected[node], (node, str(built.forward), forward.source))
    saved = got[len(outputs) :]
    chosen = [
        arrays[-1] if node is gradient else saved[node.attr("index")]
        for node in built.backwards["all"].inputs
    ]
    for value, node in zip(call(backward, *chosen), results, strict=True):
        same_bits(value, expected[node], (node, str(built.backwards["all"]), backward.source))
