"""The text of programs, and what loading them gives."""

import linecache
import traceback
import warnings
import weakref

import numpy as np
import pytest
from ir_graphs import Building, array, layer, values_of

from chainwright.codegen.numpy_target import generate, tiles
from chainwright.ir import Slot, build, constant, interpret, literal, placeholder

FORWARD = '''\
"""layer, forward

    x: f32[100,784] argument
    W: f32[1000,784] parameter
    b: f32[1000] parameter

Scratch memory: 0 bytes, kept: 0 bytes.
"""
import numpy as np

dot = np.dot
add = np.add
float32 = np.dtype('float32')
c1 = np.array(0.0, float32)
maximum = np.maximum


def layer(x, W, b, scratch, kept):
    v1 = W.T                                                    # net.py:14 linear
    v2 = dot(x, v1)                                             # net.py:14 linear
    add(v2, b, v2)                                              # net.py:14 linear
    maximum(v2, c1, out=v2)                                     # net.py:15 relu
    return (v2, x, W, v2,)
'''

BACKWARD = '''\
"""layer, backward

    x: f32[100,784] saved
    W: f32[1000,784] saved
    saved2: f32[100,1000] saved
    gh: f32[100,1000] gradient

Scratch memory: 500032 bytes, kept: 0 bytes.
"""
import numpy as np

float32 = np.dtype('float32')
c1 = np.array(0.0, float32)
greater = np.greater
multiply = np.multiply
dot = np.dot
add_reduce = np.add.reduce


def layer_backward(x, W, saved2, gh, scratch, kept):
    (v1, v2, v4,) = scratch
    greater(saved2, c1, v1)                                     # net.py:15 relu
    multiply(gh, v1, v2)                                        # net.py:15 relu
    v3 = dot(v2, W)                                             # net.py:14 linear
    # v4 = v2.T
    v5 = dot(v4, x)
    v6 = add_reduce(v2, 0)
    return (v3, v5, v6,)
'''

SOFTMAX = """\
def softmax(x, scratch, kept):
    (v1, v2, v4,) = scratch
    v5 = empty((4096, 256), float32)
    for i in tiles:
        x_i = x[i]
        maximum_reduce(x_i, 1, None, v1, True)
        subtract(x_i, v1, v2)
        exp(v2, v2)
        add_reduce(v2, 1, None, v4, True)
        v5_i = v5[i]
        divide(v2, v4, v5_i)
    return (v5,)
"""


def built_layer():
    forward, backward = layer()
    return build(forward, {"all": backward})


def programs(built):
    forward = generate(built.forward, title="layer, forward", saved_count=len(built.saved))
    return forward, generate(built.backwards["all"], title="layer, backward")


def run(graph, *values, saved_count=0):
    loaded = generate(graph, title="test", saved_count=saved_count).load()
    return loaded.function(*values, loaded.new_scratch(), loaded.new_kept())


def test_the_text_of_a_layer():
    forward, backward = programs(built_layer())
    assert forward.source == FORWARD
    assert backward.source == BACKWARD


def test_numpy_as_it_was_imported(monkeypatch):
    """While another thread traces, some of NumPy's functions are replaced."""
    x, b = array("x", 3, 2), Building()
    graph = b.graph((x,), b.concatenate(x, x, axis=0))
    with monkeypatch.context() as patch:
        patch.setattr(np, "concatenate", lambda *args: 1 / 0)
        loaded = generate(graph, title="test").load()
    value = np.ones((3, 2), "f")
    (got,) = loaded.function(value, loaded.new_scratch(), ())
    assert got.shape == (6, 2)


def test_the_same_graph_gives_the_same_program():
    one, other = (programs(built_layer()) for _ in range(2))
    assert [p.source for p in one] == [p.source for p in other]
    assert [p.scratch for p in one] == [p.scratch for p in other]


def test_sizes_are_reported():
    forward, backward = programs(built_layer())
    assert forward.intermediate_bytes == 3 * 100 * 1000 * 4
    assert forward.scratch_bytes == forward.kept_bytes == 0  # all of it ends up in the output
    assert backward.scratch_bytes == 500032


def test_a_chain_over_rows_runs_in_tiles():
    x = array("x", 4096, 256)
    b = Building()
    e = b.exp(b.subtract(x, b.max(x, axis=1, keepdims=True)))
    graph = b.graph((x,), b.divide(e, b.sum(e, axis=1, keepdims=True)), name="softmax")
    program = generate(build(graph, {}).forward, title="softmax")
    assert program.source.endswith(SOFTMAX)
    assert "tiles = [slice(i, i + 128) for i in range(0, 4096, 128)]\n" in program.source
    assert program.scratch_bytes == 128 * 256 * 4 + 128 * 4
    loaded, (value,) = program.load(), values_of(graph)
    (got,) = loaded.function(value, loaded.new_scratch(), ())
    assert got.tobytes() == interpret(graph, value)[0].tobytes()


def test_small_arrays_do_not(monkeypatch):
    graph = built_layer().forward
    assert "for i in" not in generate(graph, title="small").source
    monkeypatch.setattr(tiles, "WORTHWHILE_BYTES", 1)
    assert "for i in" in generate(graph, title="large").source


def test_tracebacks_show_the_line():
    x, W = array("x", 3, 4), array("W", 4, 2)
    b = Building()
    graph = b.graph((x, W), b.dot(x, W, origin=None))
    loaded = generate(graph, title="broken call").load()
    try:
        loaded.function(np.zeros((3, 5), "f"), np.zeros((4, 2), "f"), (), ())
    except ValueError as error:
        text = "".join(traceback.format_exception(error))
    assert 'File "<chainwright broken call' in text and "v1 = dot(x, W)" in text


def test_each_program_has_a_file_name_until_it_is_dropped():
    program = generate(built_layer().forward, title="twice", saved_count=3)
    one, other = program.load(), program.load()
    assert one.filename != other.filename
    name = one.filename
    assert linecache.getlines(name)[-1] == "    return (v2, x, W, v2,)\n"
    del one
    # Whoever walks through the cache now, as each traceback does, finds all that was there.
    assert name in linecache.cache
    third = generate(built_layer().forward, title="thrice", saved_count=3).load()
    assert name not in linecache.cache
    assert {other.filename, third.filename} <= set(linecache.cache)


def test_what_is_shown_once_is_shown_once_for_all_programs_of_a_title():
    x, b = array("x", 3), Building()
    built = build(b.graph((x,), b.log(x)), {})
    loaded = [generate(built.forward, title=title).load() for title in ("one", "one", "two")]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for program in loaded:
            program.function(np.zeros(3, "f"), program.new_scratch(), ())
    assert [w.filename.split()[1] for w in told] == ["one", "two"]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for program in loaded:
            program.function(np.zeros(3, "f"), program.new_scratch(), ())
    assert len(told) == 3


def test_names_of_inputs_do_not_meet_names_of_functions():
    names = ["add", "float32", "class", "np", "/l1/W", "l1_W", "v1", "c1", "2b", "scratch", "i"]
    inputs = [array(name, 2) for name in names]
    b = Building()
    total = inputs[0]
    for x in inputs[1:]:
        total = b.add(total, b.multiply(x, 0.5))
    graph = b.graph(inputs, total, name="add")
    values = values_of(graph)
    assert run(graph, *values)[0].tobytes() == interpret(graph, *values)[0].tobytes()


def test_outputs_are_fresh_and_saved_values_live_in_kept_memory():
    x = array("x", 4)
    b = Building()
    h = b.exp(x)
    y = b.tanh(h)
    loaded = generate(b.graph((x,), y, h, x), title="memory", saved_count=2).load()
    scratch, kept = loaded.new_scratch(), loaded.new_kept()
    value = np.ones(4, "f")
    one, saved, again = loaded.function(value, scratch, kept)
    other, _, _ = loaded.function(value * 2, scratch, loaded.new_kept())
    assert saved is kept[0] and again is value
    assert not np.shares_memory(one, other)
    assert saved[0] == np.exp(np.float32(1))


def test_a_saved_output_is_one_fresh_array():
    x = array("x", 4)
    b = Building()
    y = b.exp(x)
    one, other = run(b.graph((x,), y, y), np.ones(4, "f"), saved_count=1)
    assert one is other


def test_views_of_fresh_kept_and_scratch_memory():
    x = array("x", 2, 3)
    b = Building()
    y = b.transpose(b.exp(x))
    s = b.reshape(b.tanh(x), shape=(6,))
    t = b.sum(b.getitem(b.cos(x), index=(0, slice(None, None, -1))), axis=0)
    graph = b.graph((x,), y, t, s)
    (value,) = values_of(graph)
    loaded = generate(graph, title="views", saved_count=1).load()
    kept = loaded.new_kept()
    got = loaded.function(value, loaded.new_scratch(), kept)
    for one, other in zip(got, interpret(graph, value), strict=True):
        assert one.tobytes() == np.asarray(other).tobytes()
    assert np.shares_memory(got[2], kept[0]) and got[0].base is not None


def test_outputs_that_are_leaves():
    array_output = constant(np.arange(3).reshape(3, 1).T)
    b = Building()
    x = array("x", 2)
    graph = b.graph((x,), x, array_output, literal(2.5), constant(np.float32(3)))
    value = np.ones(2, "f")
    same, copied, number, scalar = run(graph, value)
    assert same is value
    assert copied is not array_output.attr("box").value and copied.strides == (8, 8)
    assert number == 2.5 and number.dtype == np.float64
    assert scalar == 3 and scalar.dtype == np.float32


def test_scalars_come_out_as_arrays():
    x = array("x", 3)
    b = Building()
    outputs = [b.sum(x), b.call(x, fn=np.linalg.norm, shape=(), dtype="f4"), b.pow(b.max(x), 3)]
    for value in run(b.graph((x,), *outputs), np.ones(3, "f")):
        assert type(value) is np.ndarray and value.shape == ()


def test_host_calls_get_arrays_of_their_own():
    held = []

    def hold(*arrays):
        held.append(arrays)
        return (arrays[0],)

    x = array("x", 4)
    b = Building()
    e = b.exp(x)
    given = b.pick(b.host(e, b.transpose(b.tanh(x)), fn=hold), k=0, shape=(4,), dtype="f4")
    total = b.add(e, given)
    graph = b.graph((x,), total, b.setitem(given, 0.0, index=0))
    loaded = generate(graph, title="host").load()
    scratch = loaded.new_scratch()
    for factor in (1, 2):
        value = np.full(4, factor, "f")
        total, cleared = loaded.function(value, scratch, ())
        assert total.tolist() == (np.exp(value) * 2).tolist() and cleared[0] == 0
    assert [h[0][0] for h in held] == [np.exp(np.float32(1)), np.exp(np.float32(2))]
    assert not any(np.shares_memory(a, s) for h in held for a in h for s in scratch)


def test_what_a_loop_over_tiles_has_read_is_freed():
    x, b, alive = array("x", 4096, 256), Building(), []

    def first(a):
        made = a + 1
        alive.append(weakref.ref(made))
        return (made,)

    def second(a):
        alive.append(alive[0]() is not None)
        return (a,)

    facts = {"k": 0, "shape": (4096, 256), "dtype": "f4"}
    y = b.pick(b.host(x, fn=first), **facts)
    z = b.exp(b.multiply(b.reshape(y, shape=(4096, 256)), 2.0))
    graph = b.graph((x,), b.pick(b.host(z, fn=second), **facts))
    value = np.zeros((4096, 256), "f")
    assert "for i in" in generate(build(graph, {}).forward, title="tiles").source
    (got,) = run(build(graph, {}).forward, value)
    assert got.tobytes() == np.exp((value + 1) * 2).tobytes() and alive[1] is False


def test_updates_work_in_place_on_dead_arrays_of_the_program_only():
    x, places = array("x", 3), constant(np.array([0, 0]))
    b = Building()
    zeros = b.zeros(shape=(3,), dtype="f4")
    filled = b.add_at(b.setitem(zeros, 2.0, index=1), 1.0, places, index=Slot(0))
    changed = b.setitem(x, 5.0, index=0)
    graph = b.graph((x,), filled, changed)
    source = generate(graph, title="updates").source
    assert source.count("copyto(") == 1 and "copyto(v4, x)" in source
    value = np.zeros(3, "f")
    for _ in range(2):
        one, other = run(graph, value)
        assert one.tolist() == [2, 2, 0] and other.tolist() == [5, 0, 0]
    assert value.tolist() == [0, 0, 0]


def test_an_update_copies_what_is_still_read():
    x = array("x", 3)
    b = Building()
    e = b.exp(x)
    view = b.getitem(e, index=slice(1, None))
    new = b.setitem(e, 0.0, index=1)
    graph = b.graph((x,), b.multiply(view, 2.0), new)
    (value,) = values_of(graph)
    one, other = run(graph, value)
    assert one.tobytes() == (np.exp(value)[1:] * np.float32(2)).tobytes() and other[1] == 0


def test_writes_go_to_the_callers_array():
    state = array("s", 3, kind="state")
    b = Building()
    new = b.add(b.multiply(state, 0.5), 1.0)
    b.write(state, new)
    value = np.zeros(3, "f")
    loaded = generate(b.graph((state,), new), title="write").load()
    for expected in (1, 1.5):
        (out,) = loaded.function(value, loaded.new_scratch(), ())
        assert value.tolist() == [expected] * 3 == out.tolist()
        assert not np.shares_memory(value, out)


def test_random_numbers_are_drawn_anew_and_in_order():
    b = Building()
    one = b.random(fn="rand", args=(2,), shape=(2,), dtype="f8")
    two = b.random(fn="normal", kwargs={"size": 2, "scale": 3.0}, shape=(2,), dtype="f8")
    graph = b.graph((), two, one)
    np.random.seed(0)
    expected = [(np.random.rand(2), np.random.normal(size=2, scale=3.0)) for _ in range(2)]
    np.random.seed(0)
    for first, second in expected:
        got = run(graph)
        assert got[0].tolist() == second.tolist() and got[1].tolist() == first.tolist()


def test_python_objects_and_calls_with_several_results():
    model, x = placeholder("model", None, None, kind="object"), array("x", 4)
    b = Building()
    pair = b.call(x, fn=np.split, args=(Slot(0), 2), n_outputs=2, view=True)
    left, right = (b.pick(pair, k=k, shape=(2,), dtype="f4") for k in range(2))
    back = b.host(model, left, fn=lambda m, a: (m, a * m), n_outputs=2)
    same = b.pick(back, k=0, dtype=object)
    scaled = b.pick(back, k=1, shape=(2,), dtype="f4")
    got = run(b.graph((model, x), same, scaled, right), 3, np.arange(4, dtype="f"))
    assert got[0] == 3 and got[1].tolist() == [0, 3] and got[2].tolist() == [2, 3]


def halves(x, y):
    return y[1:], x + 1


@pytest.mark.parametrize("saved", [0, 1])
def test_results_of_calls_that_look_into_scratch_memory(saved):
    """What they look into becomes memory that outlives the program."""
    x = array("x", 3)
    b = Building()
    e, t = b.exp(x), b.tanh(x)
    pair = b.call(e, t, fn=halves, n_outputs=2, view=(1, None))
    part, more = (b.pick(pair, k=k, shape=(n,), dtype="f4") for k, n in ((0, 2), (1, 3)))
    flipped = b.call(e, t, fn=lambda e, t: t[::-1], view=1, shape=(3,), dtype="f4", strides=(-4,))
    graph = b.graph((x,), more, part, flipped)
    loaded = generate(graph, title="looks", saved_count=2 * saved).load()
    scratch, runs = loaded.new_scratch(), []
    for factor in (1, 2):
        value = np.arange(3, dtype="f") * factor
        runs.append((loaded.function(value, scratch, loaded.new_kept()), value))
    for got, value in runs:
        assert got[0].tolist() == (np.exp(value) + 1).tolist()
        assert got[1].tolist() == np.tanh(value)[1:].tolist()
        assert got[2].tolist() == np.tanh(value)[::-1].tolist()


def test_unusual_layouts_are_kept():
    x = array("x", 2, 3, 4, strides=(4, 32, 8))
    gaps = array("g", 3, strides=(-8,))
    b = Building()
    out = [b.exp(x), b.zeros(shape=(2, 3, 4), dtype="f4", order=(1, 2, 0))]
    changed = b.setitem(gaps, 1.0, index=0)
    graph = b.graph((x, gaps), *out, changed)
    values = [np.zeros((3, 4, 2), "f").transpose(2, 0, 1), np.zeros(6, "f")[::-2]]
    assert [value.strides for value in values] == [(4, 32, 8), (-8,)]
    for got, node in zip(run(graph, *values), graph.outputs, strict=True):
        assert got.strides == node.strides


@pytest.mark.parametrize("value", [float("inf"), float("nan"), -0.0, 1e400])
def test_special_numbers(value):
    x = array("x", 3)
    b = Building()
    graph = b.graph((x,), b.multiply(x, value), b.where(b.less(x, 0.0), value, x))
    data = np.array([0, -1, 1], "f")
    with np.errstate(all="ignore"):
        got, expected = run(graph, data), interpret(graph, data)
    assert [a.tobytes() for a in got] == [a.tobytes() for a in expected]


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "max"])
@pytest.mark.parametrize("axis", [None, 0, (0, 1)])
def test_reductions_of_reversed_axes(name, axis):
    """NumPy 2.0 and 2.1 add in another order where they are given a buffer."""
    x, b = array("x", 7, 5, 1, dtype="f8"), Building()
    turned = b.getitem(b.multiply(x, 1.1), index=(slice(None, None, -1),))
    graph = b.graph((x,), b.add(getattr(b, name)(turned, axis=axis, keepdims=True), 0.0))
    program = generate(graph, title="turned").load()
    for seed in range(20):
        value = np.random.default_rng(seed).standard_normal((7, 5, 1))
        (got,) = program.function(value, program.new_scratch(), program.new_kept())
        assert got.tobytes() == interpret(graph, value)[0].tobytes()
