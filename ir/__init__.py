"""The graph that was written down, and the passes that improve it.

``make(op, *inputs, shape=, dtype=, strides=, origin=, **attrs)`` is the one constructor of nodes;
pass the shape, dtype and strides of the real result wherever there is one. ``OPS`` is the op
table, ``str(graph)`` the printed form, which ``parse`` reads, ``build`` the whole way from recorded
graphs to a forward graph and its backward graphs, and ``stages`` shows that way pass by pass.
"""

from .build import Built, Stage, build, stages
from .frozen import exact_key, freeze, thaw
from .graph import Graph, is_effect
from .interpret import interpret
from .library import register_library
from .make import constant, literal, make, placeholder
from .node import IRError, Node, Origin, Slot
from .ops import OPS, Op
from .parse import parse
from .passes import PASSES, prepare
from .sections import Section, output_places, sections
from .verify import verify

__all__ = [
    "OPS",
    "PASSES",
    "Built",
    "Graph",
    "IRError",
    "Node",
    "Op",
    "Origin",
    "Section",
    "Slot",
    "Stage",
    "build",
    "constant",
    "exact_key",
    "freeze",
    "interpret",
    "is_effect",
    "literal",
    "make",
    "output_places",
    "parse",
    "placeholder",
    "prepare",
    "register_library",
    "sections",
    "stages",
    "thaw",
    "verify",
]
