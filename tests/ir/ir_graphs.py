"""Small graphs for the tests of the compiler's back end."""

import numpy as np

from chainwright.ir import Graph, literal, make, placeholder
from chainwright.ir.node import Node, Origin


class Building:
    """Collects nodes in order: ``b.add(x, 1.0)`` makes an ``add`` node."""

    def __init__(self, line=1):
        self.nodes, self.line = [], line

    def __getattr__(self, op):
        def emit(*inputs, origin=None, **facts):
            nodes = [x if isinstance(x, Node) else literal(x) for x in inputs]
            node = make(op, *nodes, origin=origin, **facts)
            self.nodes.append(node)
            return node

        return emit

    def graph(self, inputs, *outputs, name="graph"):
        return Graph(tuple(inputs), tuple(self.nodes), outputs, name)


def array(name, *shape, dtype="f4", **facts):
    return placeholder(name, shape, dtype, **facts)


def at(line, function):
    return Origin("/home/ann/net.py", line, function)


def layer():
    """A linear layer and relu: the forward graph, and the backward graph that refers to it."""
    x, W = array("x", 100, 784), array("W", 1000, 784, kind="parameter")
    b = array("b", 1000, kind="parameter")
    f = Building()
    wt = f.transpose(W, origin=at(14, "linear"))
    z = f.add(f.dot(x, wt, origin=at(14, "linear")), b, origin=at(14, "linear"))
    h = f.maximum(z, 0.0, origin=at(15, "relu"))
    gh = array("gh", 100, 1000, kind="gradient")
    g = Building()
    gz = g.multiply(gh, g.greater(h, 0.0, origin=at(15, "relu")), origin=at(15, "relu"))
    gx, gW = g.dot(gz, W, origin=at(14, "linear")), g.dot(g.transpose(gz), x)
    gb = g.sum(gz, axis=0)
    forward = f.graph((x, W, b), h, name="layer")
    return forward, g.graph((gh,), gx, gW, gb, name="layer backward")


def values_of(graph, seed=0):
    """Random values for the inputs of a graph, in their layouts."""
    rng = np.random.default_rng(seed)
    return [_value(rng, node) for node in graph.inputs]


def _value(rng, node):
    order = np.argsort([-s for s in node.strides], kind="stable")
    dense = rng.standard_normal([node.shape[axis] for axis in order]) * 3
    return dense.astype(node.dtype).transpose(np.argsort(order))
