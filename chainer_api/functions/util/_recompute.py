"""What a function that is called again shall see as it was in the first call."""
import contextlib
import threading

_local = threading.local()


class Memory:
    """Values that one call of a function leaves for the next, in the order of their use."""

    def __init__(self):
        self._values = []
        self._position = None  # of the next value in a repeated call

    @contextlib.contextmanager
    def first_call(self):
        """Context of the call that is remembered."""
        self._values.clear()
        with _entered(self):
            yield

    @contextlib.contextmanager
    def repeated_call(self):
        """Context of a call that sees what the first one saw."""
        self._position = 0
        try:
            with _entered(self):
                yield
        finally:
            self._position = None

    def _next(self, compute):
        if self._position == len(self._values):  # the function does something else this time
            return compute()
        self._position += 1
        return self._values[self._position - 1]


@contextlib.contextmanager
def _entered(memory):
    memories = _memories()
    memories.append(memory)
    try:
        yield
    finally:
        memories.pop()


def _memories():
    if not hasattr(_local, 'memories'):
        _local.memories = []
    return _local.memories


def remembered(compute):
    """``compute()``; in a repeated call, what that was in the first one.

    Calls may be nested: the innermost repeated one gives the value, and the first calls inside of
    it remember it.
    """
    first = []
    for memory in reversed(_memories()):
        if memory._position is not None:
            value = memory._next(compute)
            break
        first.append(memory)
    else:
        value = compute()
    for memory in first:
        memory._values.append(value)
    return value
