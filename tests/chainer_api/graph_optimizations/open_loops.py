"""Has compiled methods open their loops after the first call, and take several turns at a time."""

import contextlib
from unittest import mock

from chainer.graph_optimizations import _account, _loops, static_graph


class _Site(static_graph.Site):
    def _seems_to_loop(self):
        return self._may_open


@contextlib.contextmanager
def open_loops(turns=(4, 2), served=2):
    """Context in which ``turns`` are tried as soon as so many calls have been ``served``."""
    afforded = mock.patch.object(_account.Account, "affords_several", lambda *_: True)
    several = mock.patch.multiple(_loops, _TURNS=turns, _SERVED=served)
    with afforded, several, mock.patch.object(static_graph, "Site", _Site):
        yield
