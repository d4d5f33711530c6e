"""Where a compiler meets define-by-run.

``state.trace`` is ``None`` while nothing is recorded. While it is set (in one thread),
:meth:`chainer.FunctionNode.apply` hands each forward computation to
``state.trace.apply_function(node, in_data)``, which returns the tuple of output arrays.
"""
import threading


class _TraceState(threading.local):
    trace = None


state = _TraceState()
