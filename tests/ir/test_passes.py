"""Each pass: what it does, and that it keeps values, effects and validity; once is enough."""

import numpy as np
import pytest
from ir_graphs import Building, array, values_of

from chainwright.ir import PASSES, Slot, constant, interpret, is_effect, verify
from chainwright.ir.passes import drop_dead, fold_constants, merge_common, run_passes, simplify

X, Y = array("x", 3, 4), array("y", 3, 4)


def host(*arrays):
    return tuple(array + 1 for array in arrays)


def kept(graph, apply):
    """The shared check of a pass; gives the new graph."""
    result = apply(graph)
    assert apply(result) is result
    assert verify(result).inputs == graph.inputs
    assert effects(result) == effects(graph)
    inputs = values_of(graph)
    outcomes = []
    for g in (graph, result):
        np.random.seed(0)
        outcomes.append([np.asarray(v).tobytes() for v in interpret(g, *inputs)])
    assert outcomes[0] == outcomes[1]
    return result


def effects(graph):
    return [node.op for node in graph.nodes if is_effect(node)]


def ops(graph):
    return [node.op for node in graph.nodes]


def test_drop_dead_keeps_outputs_and_effects():
    b = Building()
    b.exp(X)
    b.random(fn="rand", args=(2,), shape=(2,), dtype="f8")
    result = b.tanh(b.negative(X))
    b.host(X, fn=host)
    assert ops(kept(b.graph((X,), result), drop_dead)) == ["random", "negative", "tanh", "host"]


def test_fold_constants():
    b = Building()
    grid = b.multiply(constant(np.arange(4, dtype="f")), 0.5)
    graph = kept(b.graph((X,), b.add(X, grid)), fold_constants)
    assert ops(graph) == ["add"]
    assert graph.nodes[0].inputs[1].attr("box").value.tolist() == [0, 0.5, 1, 1.5]


def test_what_a_later_node_writes_into_is_not_folded():
    b = Building()
    zeros = b.zeros(shape=(3,), dtype="f4")
    graph = b.graph((X,), b.setitem(zeros, 1.0, index=0))
    assert kept(graph, fold_constants) is graph


def test_outputs_and_what_host_calls_get_are_not_folded():
    b = Building()
    ones, zeros = (b.ones(shape=(3,), dtype="f4"), b.zeros(shape=(3,), dtype="f4"))
    b.host(b.getitem(zeros, index=slice(1, None)), fn=host)
    graph = b.graph((), ones)
    assert ops(kept(graph, fold_constants)) == ["ones", "zeros", "getitem", "host"]


def test_large_constants_and_computations_that_warn_stay():
    b = Building()
    large = b.zeros(shape=(1 << 18,), dtype="f4")
    infinite = b.divide(constant(np.ones(3)), 0.0)
    empty = b.mean(constant(np.ones(0)))
    graph = b.graph((), *(b.exp(x) for x in (large, infinite, empty)))
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning):
        assert kept(graph, fold_constants) is graph


def test_simplify_goes_through_chains():
    b = Building()
    once = b.multiply(b.reshape(b.transpose(b.transpose(X)), shape=(3, 4)), 1)
    graph = kept(b.graph((X,), b.exp(once)), simplify)
    assert graph.outputs[0].inputs == (X,)
    assert ops(drop_dead(graph)) == ["exp"]


def test_simplify_leaves_outputs_memory_of_their_own():
    b = Building()
    graph = b.graph((X,), b.multiply(X, 1), b.reshape(b.copy(X), shape=(12,)))
    assert kept(graph, simplify) is graph


def test_simplify_may_compute_an_output_otherwise():
    b = Building()
    assert ops(kept(b.graph((X,), b.mean(X)), simplify)) == ["sum", "divide"]


def test_merge_common():
    b = Building()
    one = b.add(b.exp(X), b.exp(Y))
    two = b.add(b.exp(X), b.exp(Y))
    graph = kept(b.graph((X, Y), b.multiply(one, two)), merge_common)
    assert ops(graph) == ["exp", "exp", "add", "multiply"]


def test_merge_tells_exact_values_apart():
    b = Building()
    graph = b.graph((X,), b.stack(b.multiply(X, 0.0), b.multiply(X, -0.0), b.multiply(X, 0)))
    assert kept(graph, merge_common) is graph


def test_merge_leaves_effects_creations_and_outputs_apart():
    b = Building()
    draws = [b.random(fn="rand", args=(2,), shape=(2,), dtype="f8") for _ in range(2)]
    zeros = [b.zeros(shape=(2,), dtype="f8") for _ in range(2)]
    exps = [b.exp(X) for _ in range(2)]
    graph = b.graph((X,), b.concatenate(*draws, *zeros), *exps)
    assert kept(graph, merge_common) is graph


def test_one_output_may_share_an_inner_value():
    b = Building()
    inner, output, other = b.exp(X), b.exp(X), b.exp(X)
    graph = kept(b.graph((X,), b.tanh(inner), output, other), merge_common)
    assert ops(graph) == ["exp", "exp", "tanh"]
    assert graph.outputs[1] is not graph.outputs[2]


def test_operands_of_a_product_stay_two_arrays():
    """BLAS computes x times its own transpose by other kernels: the last bits differ."""
    b = Building()
    one, two = b.exp(X), b.exp(X)
    graph = b.graph((X,), b.dot(one, b.transpose(two)))
    assert kept(graph, merge_common) is graph


def test_a_copied_operand_stays_a_copy():
    b = Building()
    graph = b.graph((X,), b.dot(b.copy(X), b.transpose(X)))
    assert kept(graph, simplify) is graph


def test_an_indexed_update_is_one_value():
    b = Building()
    places = constant(np.array([0, 2]))
    versions = [b.setitem(X, 1.0, places, index=Slot(0)) for _ in range(2)]
    graph = kept(b.graph((X,), b.add(*versions)), merge_common)
    assert ops(graph) == ["setitem", "add"]


def test_the_runner_logs_what_changed():
    b = Building()
    b.exp(X)
    graph = b.graph((X,), b.tanh(b.copy(X)))
    result, log = run_passes(graph)
    assert ops(result) == ["tanh"]
    assert log == ["drop_dead: 3 -> 2 nodes", "simplify: 2 -> 1 nodes"]
    assert run_passes(result) == (result, [])
    assert PASSES == (drop_dead, fold_constants, simplify, merge_common, drop_dead)
