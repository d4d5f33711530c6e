"""From recorded graphs to a forward graph and its backward graphs."""

import numpy as np
import pytest
from ir_graphs import Building, array, layer, values_of

from chainwright.ir import Graph, IRError, build, constant, interpret, placeholder

BIG = (256, 256)


def big(name, **facts):
    return array(name, *BIG, **facts)


def saved_ops(built):
    return [node.attr("name") if node.op == "placeholder" else node.op for node in built.saved]


def replay(forward, backward, built, key="all"):
    """Outputs of forward, results of backward: of the recorded graphs, then of the built ones."""
    arrays, gradients = values_of(forward), values_of(backward, seed=1)
    joint = Graph(
        (*forward.inputs, *backward.inputs),
        (*forward.nodes, *backward.nodes),
        (*forward.outputs, *backward.outputs),
    )
    np.random.seed(0)
    expected = interpret(joint, *[a.copy() for a in arrays], *gradients)
    np.random.seed(0)
    values = interpret(built.forward, *arrays)
    count = len(forward.outputs)
    graph = built.backwards[key]
    saved = [values[count + x.attr("index")] for x in graph.inputs if x.attr("kind") == "saved"]
    results = interpret(graph, *saved, *gradients)
    return expected, (*values[:count], *results)


def check(forward, backward):
    built = build(forward, {"all": backward})
    expected, got = replay(forward, backward, built)
    for one, other in zip(expected, got, strict=True):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()
    return built


def test_inference_saves_nothing():
    forward, _ = layer()
    built = build(forward, {})
    assert built.saved == () and built.backwards == {}
    assert len(built.forward.outputs) == 1


def test_inputs_and_outputs_are_kept_by_reference():
    built = check(*layer())
    assert saved_ops(built) == ["x", "W", "maximum"]
    assert built.saved[-1] is built.forward.outputs[0]
    kinds = [(x.attr("kind"), x.attr("index")) for x in built.backwards["all"].inputs]
    assert kinds == [("saved", 0), ("saved", 1), ("saved", 2), ("gradient", None)]


def test_cheap_steps_run_again_and_costly_ones_are_kept():
    x, g = big("x"), big("g", kind="gradient")
    f, b = Building(), Building()
    scaled = f.multiply(x, 2.0)
    t = f.tanh(scaled)
    forward = f.graph((x,), f.sum(f.exp(t)))
    backward = b.graph((g,), b.multiply(b.multiply(g, t), scaled))
    built = check(forward, backward)
    assert saved_ops(built) == ["x", "tanh"]
    ops = [node.op for node in built.backwards["all"].nodes]
    assert ops == ["multiply", "multiply", "multiply"]


def test_small_values_are_kept_as_they_are_read():
    x, g = array("x", 4, 4), array("g", 4, 4, kind="gradient")
    f, b = Building(), Building()
    scaled = f.multiply(x, 2.0)
    built = check(f.graph((x,), f.sum(scaled)), b.graph((g,), b.multiply(g, scaled)))
    assert saved_ops(built) == ["multiply"]


def test_a_mask_is_kept_instead_of_what_it_is_made_of():
    """One byte for each number instead of eight: the comparison moves to forward."""
    x, g = big("x"), big("g", kind="gradient")
    f, b = Building(), Building()
    drawn = f.random(fn="rand", args=BIG, shape=BIG, dtype="f8")
    kept = f.multiply(x, f.cast(f.greater(drawn, 0.5), dtype="f4"))
    forward = f.graph((x,), f.sum(kept))
    mask = b.cast(b.greater(drawn, 0.5), dtype="f4")
    built = check(forward, b.graph((g,), b.multiply(g, mask)))
    assert saved_ops(built) == ["greater"]
    assert built.saved[0].nbytes == 256 * 256


@pytest.mark.parametrize("costly", ["random", "dot", "host"])
def test_never_twice(costly):
    x, g = big("x"), big("g", kind="gradient")
    f, b = Building(), Building()
    if costly == "random":
        value = f.random(fn="rand", args=BIG, shape=BIG, dtype="f8")
    elif costly == "dot":
        value = f.dot(x, x)
    else:
        value = f.pick(f.host(x, fn=lambda x: (x * 2,)), k=0, shape=BIG, dtype="f4")
    forward = f.graph((x,), f.sum(f.tanh(value)))
    built = check(forward, b.graph((g,), b.multiply(g, value)))
    assert built.saved[-1].op == ("pick" if costly == "host" else costly)
    assert [node.op for node in built.backwards["all"].nodes] == ["multiply"]


def test_views_are_taken_anew_from_what_they_show():
    x, g = big("x"), big("g", kind="gradient")
    f, b = Building(), Building()
    t = f.tanh(x)
    row = f.getitem(t, index=(slice(None), slice(None, None, -1)))
    forward = f.graph((x,), f.sum(f.exp(row)))
    built = check(forward, b.graph((g,), b.dot(g, b.transpose(row))))
    assert saved_ops(built) == ["tanh"]


def test_backward_sees_the_state_as_it_was():
    x, g = array("x", 4), array("g", 4, kind="gradient")
    state = array("s", 4, kind="state")
    f, b = Building(), Building()
    y = f.multiply(x, state)
    f.write(state, f.add(state, 1.0))
    forward = f.graph((x, state), y)
    turned = b.getitem(state, index=slice(None, None, -1))
    backward = b.graph((g,), b.multiply(g, state), b.multiply(g, turned))
    built = build(forward, {"all": backward})
    assert saved_ops(built) == ["copy"]
    arrays = [np.arange(4, dtype="f"), np.ones(4, "f")]
    values = interpret(built.forward, *arrays)
    assert arrays[1].tolist() == [2, 2, 2, 2]
    same, turned = interpret(built.backwards["all"], values[1], arrays[0])
    assert same.tolist() == [0, 1, 2, 3] and turned.tolist() == [0, 1, 2, 3]


def test_backward_may_use_what_was_written():
    x, g = array("x", 4), array("g", 4, kind="gradient")
    state = array("s", 4, kind="state")
    f, b = Building(), Building()
    new = f.add(state, x)
    f.write(state, new)
    built = check(f.graph((x, state), f.exp(x)), b.graph((g,), b.multiply(g, new)))
    assert saved_ops(built) == ["add"]


def test_equal_steps_of_backward_are_those_of_forward():
    x, g = array("x", 4), array("g", 4, kind="gradient")
    f, b = Building(), Building()
    forward = f.graph((x,), f.sum(f.exp(x)))
    built = check(forward, b.graph((g,), b.multiply(g, b.exp(x))))
    assert [node.op for node in built.backwards["all"].nodes] == ["multiply"]


def test_several_backwards_share_the_saved_values():
    x, g = array("x", 4), array("g", 4, kind="gradient")
    h = array("h", 4, kind="gradient")
    f, b, c = Building(), Building(), Building()
    e, t = f.exp(x), f.tanh(x)
    forward = f.graph((x,), f.add(e, t))
    one = b.graph((g,), b.multiply(b.multiply(g, e), b.cos(x)))
    two = c.graph((g, h), c.multiply(c.multiply(h, c.add(g, t)), c.cos(x)))
    built = build(forward, {"one": one, "two": two})
    assert saved_ops(built) == ["x", "exp", "tanh"]
    indices = {k: [i.attr("index") for i in g.inputs] for k, g in built.backwards.items()}
    assert indices == {"one": [0, 1, None], "two": [0, 2, None, None]}
    for key, graph in (("one", one), ("two", two)):
        expected, got = replay(forward, graph, built, key)
        assert [a.tobytes() for a in expected] == [a.tobytes() for a in got]


def both(x):
    return x[1:], x * 2


@pytest.mark.parametrize("where", ["forward", "backward"])
def test_calls_that_look_into_their_input(where):
    x, g = array("x", 4), array("g", 3, kind="gradient")
    f, b = Building(), Building()
    e = f.exp(x)
    made = f if where == "forward" else b
    pair = made.call(e, fn=both, n_outputs=2, view=(0, None))
    part = made.pick(pair, k=0, shape=(3,), dtype="f4")
    y = f.sum(part) if where == "forward" else f.sum(e)
    built = check(f.graph((x,), y), b.graph((g,), b.multiply(g, part)))
    assert saved_ops(built) == (["pick"] if where == "forward" else ["exp"])


def test_old_state_seen_through_a_call():
    state, g = array("s", 4, kind="state"), array("g", 3, kind="gradient")
    f, b = Building(), Building()
    pair = f.call(state, fn=both, n_outputs=2, view=(0, None))
    part, doubled = (f.pick(pair, k=k, shape=(n,), dtype="f4") for k, n in ((0, 3), (1, 4)))
    forward = f.graph((state,), f.sum(part), doubled)
    f.write(state, doubled)
    forward = f.graph((state,), *forward.outputs)
    built = build(forward, {0: b.graph((g,), b.multiply(g, part))})
    value = np.arange(4, dtype="f")
    results = interpret(built.forward, value)
    assert value.tolist() == [0, 2, 4, 6]
    (got,) = interpret(built.backwards[0], *results[2:], np.ones(3, "f"))
    assert got.tolist() == [1, 2, 3]


def test_effects_of_backward_stay_in_backward():
    x, g = array("x", 4), array("g", 4, kind="gradient")
    f, b = Building(), Building()
    forward = f.graph((x,), f.add(x, f.random(fn="rand", args=(4,), shape=(4,), dtype="f8")))
    noise = b.random(fn="rand", args=(4,), shape=(4,), dtype="f8")
    built = check(forward, b.graph((g,), b.multiply(g, b.multiply(noise, x))))
    assert [n.op for n in built.backwards["all"].nodes].count("random") == 1
    assert [n.op for n in built.forward.nodes].count("random") == 1


def test_python_objects_pass_through():
    model, g = placeholder("model", None, None, kind="object"), array("g", 4, kind="gradient")
    f, b = Building(), Building()
    both = f.host(model, fn=lambda m: (np.ones(4, "f"), m), n_outputs=2)
    y, seen = f.pick(both, k=0, shape=(4,), dtype="f4"), f.pick(both, k=1, dtype=object)
    forward = f.graph((model,), y)
    back = b.host(seen, g, fn=lambda m, g: (g * len(m),))
    backward = b.graph((g,), b.pick(back, k=0, shape=(4,), dtype="f4"))
    built = build(forward, {"all": backward})
    assert len(built.saved) == 1 and built.saved[0].dtype == object
    values = interpret(built.forward, [1, 2, 3])
    (result,) = interpret(built.backwards["all"], values[1], np.ones(4, "f"))
    assert result.tolist() == [3, 3, 3, 3]


def test_gradients_that_are_constants_or_forward_values():
    x, g = array("x", 4), array("g", 4, kind="gradient")
    f, b = Building(), Building()
    y = f.exp(x)
    forward = f.graph((x,), y)
    built = check(forward, b.graph((g,), g, y, x, constant(np.ones(2))))
    assert built.backwards["all"].nodes == ()


def test_a_foreign_node_is_an_error():
    f, b = Building(), Building()
    x, g, other = array("x", 4), array("g", 4, kind="gradient"), Building().exp(array("o", 4))
    with pytest.raises(IRError, match="not computed before"):
        build(f.graph((x,), f.exp(x)), {"all": b.graph((g,), b.multiply(g, other))})


def test_the_same_graphs_give_the_same_text():
    texts = set()
    for _ in range(2):
        built = build(*(lambda f, b: (f, {"all": b}))(*layer()))
        texts.add(str(built.forward) + str(built.backwards["all"]))
    assert len(texts) == 1
