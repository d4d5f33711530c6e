"""Exceptions of handlers of signals are told from others."""

import functools
import signal

import pytest

from chainwright.runtime.interrupts import pass_on


class Timeout(Exception):
    pass


def handler(number, frame, more=None):
    raise Timeout


class Handlers:
    def method(self, number, frame):
        handler(number, frame)

    def __call__(self, number, frame):
        raise Timeout


@pytest.mark.parametrize("made", [
    handler, functools.partial(handler, more=1), Handlers().method, Handlers()])
def test_exceptions_of_handlers_are_passed_on(made):
    before = signal.signal(signal.SIGUSR1, made)
    try:
        with pytest.raises(Timeout):
            try:
                signal.raise_signal(signal.SIGUSR1)
            except Timeout as error:
                pass_on(error)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_others_are_not():
    try:
        handler(0, None)
    except Timeout as error:
        pass_on(error)
