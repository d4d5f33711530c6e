"""Syntax trees where other threads make some at the same time."""

import ast
import threading
import warnings

import pytest

from chainwright.runtime.trees import parsed, unheard


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


def test_what_was_said_is_not_said_again():
    """Neither as a warning nor as an exception; and others are heard."""
    before = list(warnings.filters)
    for action in ("error", "always"):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter(action)
            assert parsed(r"x = '\d'").body
            with unheard():
                compile(parsed("x is 1"), "a.py", "exec")
                thread = threading.Thread(target=lambda: warnings.warn("of another thread"))
                if action == "always":
                    thread.start()
                    thread.join()
        assert [str(one.message) for one in heard] == ["of another thread"] * (action == "always")
    assert warnings.filters == before
