"""The verifier names the pass and shows the nodes around the fault."""

import dataclasses

import pytest
from ir_graphs import Building, array

from chainwright.ir import Graph, IRError, Node, literal, make, placeholder, verify
from chainwright.ir.verify import verify_nodes

X = array("x", 3)
STATE = array("s", 3, kind="state")
EXP, TANH = make("exp", X), make("tanh", X)


def changed(node, **facts):
    return dataclasses.replace(node, **facts)


def written_then_read():
    b = Building()
    view = b.getitem(STATE, index=slice(1, None))
    b.write(STATE, b.exp(STATE))
    return b.graph((STATE,), b.exp(view))


@pytest.mark.parametrize(
    "graph, message",
    [
        (Graph((EXP,), (), ()), "is no placeholder"),
        (Graph((X,), (make("exp", EXP),), ()), "reads <exp f32.3.>, which is not computed before"),
        (Graph((X,), (EXP, EXP), ()), "is computed twice"),
        (Graph((X,), (literal(2),), ()), "literal is a leaf"),
        (Graph((X,), (changed(EXP, op="exq"),), ()), "there is no op 'exq'"),
        (Graph((X,), (changed(EXP, inputs=(X, X)),), ()), "exp takes 1 inputs, has 2"),
        (Graph((X,), (changed(EXP, attrs=(("axis", 0),)),), ()), "exp has attributes"),
        (Graph((X,), (changed(EXP, shape=(4,)),), ()), r"exp has shape \(4,\)"),
        (Graph((X,), (changed(EXP, dtype=STATE.dtype.newbyteorder()),), ()), "exp has dtype"),
        (Graph((X,), (), (EXP,)), "the output <exp f32.3.> is not computed"),
        (Graph((X,), (make("write", X, X),), ()), "goes to an external or state placeholder"),
        (written_then_read(), "reads <getitem f32.2.> after it was written"),
        (Graph((X,), (EXP,), (), groups=((TANH,),)), "a group holds <tanh"),
        (Graph((X,), (EXP,), (), groups=((EXP,), (EXP,))), "a group holds <exp"),
        (
            Graph((X,), (EXP, TANH, e2 := make("exp", TANH)), (), groups=((EXP, e2),)),
            "not neighbours",
        ),
    ],
)
def test_faults(graph, message):
    with pytest.raises(IRError, match=message) as error:
        verify(graph, "some_pass")
    assert "after the pass some_pass" in str(error.value)


def test_the_message_shows_the_neighbours():
    b = Building()
    b.exp(X)
    b.tanh(X)
    b.nodes.append(make("exp", EXP))
    with pytest.raises(IRError, match=r"  %1: f32\[3\] = exp %x\n  %2: f32\[3\] = tanh %x\n  %3"):
        verify(b.graph((X,)))


def test_a_sound_graph_comes_back_itself():
    b = Building()
    b.write(STATE, b.exp(STATE))
    graph = b.graph((STATE, X), X, literal(2))
    assert verify(graph) is graph


def test_joint_graphs_may_read_after_writing():
    graph = written_then_read()
    assert verify_nodes(graph) is graph


def test_a_node_of_another_kind_of_placeholder_cannot_be_written():
    saved = placeholder("s", (3,), "f4", kind="saved")
    node = Node("write", (saved, saved), (), None, None, None)
    with pytest.raises(IRError, match="external or state"):
        verify(Graph((saved,), (node,), ()))
