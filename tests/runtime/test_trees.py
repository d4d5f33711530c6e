"""Syntax trees where other threads make some at the same time."""

import ast
import threading

import pytest

from chainwright.runtime.trees import parsed


def fails(times, monkeypatch):
    """``ast.parse`` as it is where another thread is at it."""
    parse, left = ast.parse, [times]

    def parse_at_times(text):
        if left[0]:
            left[0] -= 1
            raise SystemError("AST constructor recursion depth mismatch")
        return parse(text)

    monkeypatch.setattr(ast, "parse", parse_at_times)


def test_a_tree_is_made_again(monkeypatch):
    fails(3, monkeypatch)
    assert ast.unparse(parsed("x = f( y )")) == "x = f(y)"


def test_what_never_works_is_told(monkeypatch):
    fails(1000, monkeypatch)
    with pytest.raises(SystemError):
        parsed("x")


def test_what_is_no_text_of_python_is_told():
    with pytest.raises(SyntaxError):
        parsed("x = ")


def test_a_handler_may_come_to_it_in_the_middle(monkeypatch):
    """One of signals, or a callback of the collector, in the same thread."""
    parse, found = ast.parse, []

    def interrupted(text):
        if not found:
            found.append(None)
            found.append(parsed("y = 2"))
        return parse(text)

    monkeypatch.setattr(ast, "parse", interrupted)
    # Of a thread of its own, so that one that waits for itself ends this test.
    thread = threading.Thread(target=lambda: found.append(parsed("x = 1")), daemon=True)
    thread.start()
    thread.join(20)
    assert [ast.unparse(tree) for tree in found[1:]] == ["y = 2", "x = 1"]
