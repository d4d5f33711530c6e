"""A schedule for the tests of this folder."""

import numpy as np

from chainwright.ir import Graph
from chainwright.runtime import Schedule
from chainwright.tracer import Recorder


def schedule_of_tanh(target=None, rows=2):
    rec = Recorder()
    x = np.linspace(-1, 1, 3 * rows).reshape(rows, 3)
    node = rec.input(x, "x", "argument")
    y = np.tanh(rec.wrap(x) * 3)
    forward = Graph((node,), tuple(rec.nodes), (y.node(),), name="tanh")
    n = len(rec.nodes)
    gy = np.ones((rows, 3))
    gradient = rec.input(gy, "gy", "gradient")
    gx = rec.wrap(gy) * (1 - y * y) * 3
    backward = Graph((gradient,), tuple(rec.nodes[n:]), (gx.node(),), name="tanh backward")
    return Schedule(forward, {"all": backward}, "tanh", target)
