"""What is assumed of Python, and what happens where it does not hold."""

import contextlib
import dis
import inspect
import re
import subprocess
import sys
import tarfile
import threading
import types

import numpy as np
import pytest

import chainer
import chainer.functions as F
from chainer.graph_optimizations import _python, _settings


class Model(chainer.Chain):
    @chainer.static_graph
    def forward(self, x):
        return F.exp(x) * 2


@pytest.fixture
def anew(monkeypatch):
    """Nothing is known of this Python yet."""
    monkeypatch.setattr(_settings.Settings, "_quickly", {})
    with chainer.using_config("use_static_graph", True):
        _python.is_known.cache_clear()
        yield
    _python.is_known.cache_clear()


def report(calls=5):
    model = Model()
    for _ in range(calls):
        y = model(np.ones(3, np.float32))
    np.testing.assert_array_equal(y.array, np.exp(np.ones(3, np.float32)) * 2)
    return model.schedule_manager.report()[0]


def codes(code):
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from codes(inner)


@pytest.mark.parametrize(
    "module", [contextlib, subprocess, tarfile, threading], ids=lambda m: m.__name__)
def test_what_lies_inside_of_try_and_with_is_what_dis_says(module):
    seen = set()
    text = inspect.getsource(module)
    for code in codes(compile(text, module.__name__, "exec")):
        by_offset, wanted = {i.offset: i for i in dis.get_instructions(code)}, []
        for entry in dis.Bytecode(code).exception_entries:
            target, follows = by_offset[entry.target], by_offset.get(entry.target + 2)
            if target.opname == "PUSH_EXC_INFO":
                of_with = follows.opname == "WITH_EXCEPT_START"
                at = target.positions.lineno, target.positions.col_offset
                wanted.append((entry.start, entry.end, at if of_with else None))
                seen.add(of_with)
        assert _python.handled(code) == wanted
    assert seen == {True, False}


def test_this_python_is_known(anew):
    assert _python.is_known() and report().hits == 3


def test_settings_that_turn_it_off():
    with chainer.using_config("use_static_graph", False):
        found = report()
    assert found.hits == found.traces == 0 and found.eager_calls == 5
    assert list(found.plainly) == ["the configuration does not allow programs"]
    assert report().hits == 3


def one_more(array):
    return sys.getrefcount(array) + 1


class NoEntries:
    def __init__(self, code):
        self.code = code


@pytest.mark.parametrize("where, name, other, words", [
    (_python, "refs", one_more, "counts references"),
    (_python, "LOCAL", 2, "counts references"),
    (dis, "Bytecode", NoEntries, r"compiles try blocks \(AttributeError: .*exception_entries"),
    (dis, "opname", ["another"] * 256, "compiles try blocks"),
    (sys, "_is_gil_enabled", lambda: False, "counts references")])  # fmt: skip
def test_another_python_runs_all_define_by_run(
    anew, monkeypatch, caplog, where, name, other, words
):
    _python.handled.cache_clear()
    monkeypatch.setattr(where, name, other, raising=False)
    found = report()
    assert found.hits == found.traces == 0 and found.eager_calls == 5
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert re.match(rf"compiled methods go define-by-run: how Python \S+ {words}", record.message)
    _python.handled.cache_clear()
