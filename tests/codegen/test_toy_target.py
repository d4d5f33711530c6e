"""A third target in a page: graphs run op by op, fused chains through an interpreter of kernels."""

import numpy as np
import pytest
from ir_graphs import Building, array

from chainwright.codegen import Loaded, Target
from chainwright.codegen.native_target.forms import Forms
from chainwright.codegen.native_target.groups import Group
from chainwright.codegen.native_target.steps import Place
from chainwright.codegen.numpy_target import NUMPY
from chainwright.ir import build, interpret
from chainwright.ir.fusion import fuse
from chainwright.ir.interpret import run_node, value_of
from chainwright.ir.kernel import Kernel

DTYPES = {"f32": np.float32, "f64": np.float64, "bool": np.bool_}


class Everything:
    """A machine of which every rule holds."""

    def __getattr__(self, rule):
        return lambda *args: rule == "arithmetic"


class ToyProgram:
    """Nodes one after the other; what is one fused loop goes through its kernel."""

    def __init__(self, graph, forms):
        self.graph, self.forms = graph, forms

    def load(self):
        return Loaded(self, self.run, "<toy>")

    def run(self, *arrays):
        *inputs, scratch, kept = arrays
        values = dict(zip(self.graph.inputs, inputs, strict=True))
        first = {group[0]: group for group in self.graph.groups}
        for node in self.graph.nodes:
            if node in first:
                self.run_group(first[node], values)
            elif node not in values:
                given = [value_of(x, values) for x in node.inputs]
                values[node] = np.asarray(run_node(node, given))
        return tuple(value_of(node, values) for node in self.graph.outputs)

    def run_group(self, nodes, values):
        group = Group(nodes, self.forms, lambda node: True)
        for step in group.region().steps:
            assert isinstance(step.function, Kernel)
            interpret_kernel(step, values)


def interpret_kernel(step, values):
    """The meaning of a kernel, on whole arrays instead of elements."""
    kernel: Kernel = step.function
    names, outs = {}, {}
    for operand, place in zip(kernel.operands, step.operands, strict=True):
        assert isinstance(place, Place)
        if operand.out:
            outs[operand.name] = place.value
        else:
            names[operand.name] = value_of(place.value, values)
    table = np.array(step.table[len(step.table) - len(kernel.numbers) :], np.int64)
    for k, dtype in enumerate(kernel.numbers):
        names[f"c{k}"] = table[k : k + 1].view(DTYPES[dtype])[0]
    for instr in kernel.body:
        args = [names[arg] for arg in instr.args]
        cast = instr.op == "cast"
        result = args[0] if cast else getattr(np, instr.op)(*args)
        names[instr.name] = np.asarray(result).astype(DTYPES[instr.result])
    for operand, name in kernel.stores:
        values[outs[operand]] = names[name]


class ToyTarget:
    name, exact = "toy", True

    def __init__(self):
        self.forms = Forms(Everything())
        self.passes = (lambda graph: fuse(graph, self.takes),)

    def takes(self, node):
        return self.forms.of(node) == "loop"

    def program(self, graph, title, saved_count=0):
        return ToyProgram(graph, self.forms)


@pytest.mark.parametrize("target", [NUMPY, ToyTarget()], ids=lambda target: target.name)
def test_a_target_gives_what_the_graph_means(target: Target):
    x, w, b = array("x", 9, 5), array("w", 5), Building()
    y = b.maximum(b.add(b.multiply(x, w), 0.25), 0.0)
    z = b.multiply(b.cast(b.greater(y, 1.0), dtype="f4"), y)
    graph = b.graph((x, w), b.sum(z, axis=0), b.dot(z, w))
    built = build(graph, {}, target.passes).forward
    assert [len(group) for group in built.groups][:1] == [6]
    loaded = target.program(built, "toy").load()
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(s).astype("f") for s in ((9, 5), (5,))]
    buffers = (loaded.new_scratch(), loaded.new_kept()) if target is NUMPY else ((), ())
    for got, wanted in zip(
        loaded.function(*values, *buffers), interpret(graph, *values), strict=True
    ):
        assert got.tobytes() == wanted.tobytes()
