"""Has compiled methods follow phrases alone, from their third call on: ways are not compiled."""

import contextlib
from unittest import mock

from chainer.graph_optimizations import _phrases, static_graph


class _Site(static_graph.Site):
    def __init__(self, *args):
        super().__init__(*args)
        self.phrases.listen()

    def is_worth_noting(self, *args):
        return False

    def _has_room(self, app, form):
        return False

    def _has_no_program(self, longest):
        pass


@contextlib.contextmanager
def only_phrases():
    """Context in which two calls are noted, and what has come twice in them is a phrase."""
    patched = mock.patch.multiple(
        _phrases, _OFTEN=2, _ATTENTION=2, _FUNCTIONS_OF_PIECE=0, _ENOUGH=0.01)
    with patched, mock.patch.object(static_graph, "Site", _Site):
        yield
