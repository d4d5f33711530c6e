"""Whether functions of many steps are to be made of small ones, which others know."""
import contextlib
import threading

_local = threading.local()


def wanted():
    """Whether they are, in this thread."""
    return getattr(_local, 'wanted', False)


@contextlib.contextmanager
def made_of_small_functions():
    """Have them be made of products, sums, activations and reshaping."""
    before = wanted()
    _local.wanted = True
    try:
        yield
    finally:
        _local.wanted = before
