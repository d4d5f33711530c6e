"""Records array code of the library, so that define-by-run can run it as one native program.

In: a function that :func:`chainwright.runtime.kernels.array_code` declares, layouts of its arrays,
and its settings. Out: the graph of its results. It is traced on arrays that take no memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainwright import tracer
from chainwright.ir import Graph
from chainwright.runtime import OPTIONS
from chainwright.runtime.trees import unheard
from chainwright.tracer import Recorder


def record(
    function: Callable[..., Any], layouts: list[Any], settings: dict[str, Any]
) -> Graph | None:
    """The graph of a function; None where NumPy decides on the layout of a result, or warns.

    Raises:
        RuntimeError: What it does cannot be recorded.
    """
    rec = Recorder()
    arrays = [tracer.blank(*facts) for facts in layouts]
    inputs = tuple([rec.input(a, f"x{k}", "argument") for k, a in enumerate(arrays)])
    with np.errstate(all="ignore"), unheard(), tracer.virtual():
        results = function(*[rec.wrap(a) for a in arrays], **settings)
    if rec.escaped is not None:
        if rec.escaped.reason in (tracer.DIFFERENT_LAYOUTS, tracer.TOO_FEW_ITEMS):
            return None
        raise RuntimeError(f"what it does cannot be recorded: {rec.escaped.reason}")
    made = results if type(results) is tuple else (results,)
    outputs = tuple([y.node() for y in made])
    return Graph(inputs, tuple(rec.nodes), outputs, function.__name__)


OPTIONS.record = record
