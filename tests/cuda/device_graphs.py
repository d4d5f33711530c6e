"""Graphs by the names of ops."""
from chainwright.ir import Origin, literal, make


class Building:
    """Makes nodes by the names of their ops."""

    def __init__(self):
        self.nodes = []

    def __getattr__(self, op):
        def add(*inputs, **attrs):
            inputs = [x if hasattr(x, 'op') else literal(x) for x in inputs]
            origin = Origin('net.py', len(self.nodes) + 1, 'F')
            self.nodes.append(make(op, *inputs, origin=origin, **attrs))
            return self.nodes[-1]
        return add
