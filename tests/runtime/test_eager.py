"""Library ops of define-by-run: native code after some calls, with the bits of the kernels."""

import functools
import itertools
import threading

import numpy as np
import pytest

from chainwright.ir import Graph, literal, make, placeholder
from chainwright.runtime import eager, kernels, options
from chainwright.runtime.background import BACKGROUND
from chainwright.runtime.kernels import convolution, embedding, windows
from chainwright.runtime.native import native_target

pytestmark = pytest.mark.skipif(native_target() is None, reason="there is no native code here")
SETTINGS = {"outsize": (8, 8), "stride": (1, 1), "pad": (1, 1), "dilate": (1, 1), "groups": 1}


@pytest.fixture(autouse=True)
def target(monkeypatch):
    monkeypatch.setattr(options.OPTIONS, "target", lambda: "native")
    monkeypatch.setattr(eager, "_known", type(eager._known)())


def plain(function, *arrays, **settings):
    """What the NumPy kernel gives."""
    was, kernels.native = kernels.native, None
    try:
        return function(*arrays, **settings)
    finally:
        kernels.native = was


def images(seed, n=3, dtype="f"):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 4, 8, 8)).astype(dtype), rng.standard_normal(
        (5, 4, 3, 3)
    ).astype(dtype)


def test_bits_of_every_call():
    for k in range(6):
        x, W = images(k)
        wanted = plain(convolution.convolution, x, W, **SETTINGS)
        got = convolution.convolution(x, W, **SETTINGS)
        assert got.tobytes() == wanted.tobytes()
    (op,) = eager._known.values()
    assert op.run is not None


def test_results_are_new_arrays():
    x, W = images(0)
    results = [convolution.convolution(x, W, **SETTINGS) for _ in range(6)]
    assert len({r.ctypes.data for r in results}) == 6
    assert len({r.tobytes() for r in results}) == 1


def test_layouts_and_settings_are_told_apart():
    x, W = images(0, 3)
    other = {**SETTINGS, "pad": (0, 0), "outsize": (6, 6)}
    for _ in range(6):
        for arrays, settings in (((x, W), SETTINGS), ((x[:2], W), SETTINGS), ((x, W), other)):
            wanted = plain(convolution.convolution, *arrays, **settings)
            got = convolution.convolution(*arrays, **settings)
            assert got.shape == wanted.shape and got.tobytes() == wanted.tobytes()
    assert len(eager._known) == 3


def test_adding_rows_raises_as_ever():
    rows, ids = np.ones((4, 3), "f"), np.array([0, 1, 1, 5], "i")
    for _ in range(6):
        assert embedding.add_rows(rows, ids, length=6)[1].tolist() == [2, 2, 2]
    ids[0] = 6
    with pytest.raises(IndexError, match="out of bounds"):
        embedding.add_rows(rows, ids, length=6)


def test_nobody_waits(monkeypatch):
    monkeypatch.setattr(options.OPTIONS, "target", lambda: "auto")
    x, W = images(1)
    for _ in range(5):
        convolution.convolution(x, W, **SETTINGS)
    assert BACKGROUND.wait(60)
    (op,) = eager._known.values()
    assert op.run is not None


@pytest.mark.parametrize(("loaded", "calls"), [(True, 7), (False, 33)])
def test_what_takes_little_is_compiled_later(loaded, calls, monkeypatch):
    """With a budget: when its calls have taken 6 ms, and those of all that wait 30 ms."""
    jobs, times = [], itertools.count()
    monkeypatch.setattr(options.OPTIONS, "target", lambda: "auto")
    monkeypatch.setattr(options.OPTIONS, "budget", lambda: 0.5)
    monkeypatch.setattr(eager, "_WAITING", eager._Waiting())
    monkeypatch.setattr(eager, "NEWS", eager.News())
    monkeypatch.setattr(eager, "clock", lambda: next(times) / 1024)
    monkeypatch.setattr(BACKGROUND, "do", jobs.append)
    if not loaded:
        monkeypatch.setattr(eager, "native_target", functools.cache(native_target))
    x, W = images(0)
    convolution.convolution(x, W, **SETTINGS)  # what comes once is not looked at
    asked = [bool(jobs) for _ in range(40) if convolution.convolution(x, W, **SETTINGS) is not None]
    assert asked.index(True) + 1 == calls
    assert len(jobs) == 1


def test_without_native_code(monkeypatch):
    monkeypatch.setattr(options.OPTIONS, "target", lambda: "numpy")
    x, W = images(1)
    for _ in range(6):
        convolution.convolution(x, W, **SETTINGS)
    assert not eager._known


def test_what_has_no_native_form_is_asked_for_once(monkeypatch):
    asked = []
    monkeypatch.setattr(eager, "native_target", lambda: asked.append(1))
    x, W = images(1)
    for _ in range(8):
        convolution.convolution(x, W, **SETTINGS)
    assert asked == [1]
    windows.im2col(x, ksize=(3, 3), outsize=(6, 6), stride=(1, 1), pad=(0, 0), dilate=(1, 1))
    assert len(eager._known) == 1  # no op with a native form


def test_layouts_are_forgotten(monkeypatch):
    monkeypatch.setattr(eager, "_LIMIT", 4)
    for n in range(1, 9):
        convolution.convolution(*images(0, n), **SETTINGS)
    assert len(eager._known) == 4


def test_layouts_that_are_used_stay(monkeypatch):
    """They were forgotten, and compiled anew, as soon as so many others had come."""
    monkeypatch.setattr(eager, "_LIMIT", 4)
    for n in range(1, 9):
        convolution.convolution(*images(0, n), **SETTINGS)
        convolution.convolution(*images(0, 20), **SETTINGS)
    assert [p.calls for p in eager._known.values() if p.run is not None] == [3]


def test_threads_have_memory_of_their_own():
    pairs = [images(k) for k in range(4)]
    wanted = [plain(convolution.convolution, *p, **SETTINGS).tobytes() for p in pairs]
    for _ in range(4):
        convolution.convolution(*pairs[0], **SETTINGS)
    wrong = []

    def work(k):
        for _ in range(50):
            if convolution.convolution(*pairs[k], **SETTINGS).tobytes() != wanted[k]:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@kernels.array_code
def scaled(x, y, *, factor):
    return x * factor + y, x - y


def record_scaled(function, layouts, settings):
    """The graph of `scaled`, without a front end."""
    inputs = tuple(placeholder(f"x{k}", *facts) for k, facts in enumerate(layouts))
    product = make("multiply", inputs[0], literal(settings["factor"]))
    first, second = make("add", product, inputs[1]), make("subtract", *inputs)
    return Graph(inputs, (product, first, second), (first, second), "scaled")


def pairs(seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((2, 5, 7)).astype("f")


def test_array_code(monkeypatch):
    monkeypatch.setattr(options.OPTIONS, "record", record_scaled)
    for k in range(7):
        x, y = pairs(k)
        for factor in (2, 0.3):
            first, second = scaled(x, y, factor=factor)
            assert first.tobytes() == (x * factor + y).tobytes()
            assert second.tobytes() == (x - y).tobytes()
    assert [p.trusted for p in eager._known.values()] == [True, True]


def test_native_code_that_gives_other_bits_is_not_used(monkeypatch, caplog):
    wrong = {"factor": 3}
    monkeypatch.setattr(options.OPTIONS, "record", lambda f, a, s: record_scaled(f, a, wrong))
    for k in range(7):
        x, y = pairs(k)
        assert scaled(x, y, factor=2)[0].tobytes() == (x * 2 + y).tobytes()
    assert len(caplog.records) == 1 and "gave other bits" in caplog.text


def test_array_code_that_cannot_be_recorded(monkeypatch, caplog):
    def refuse(*_):
        raise RuntimeError("a value was looked at")

    monkeypatch.setattr(options.OPTIONS, "record", refuse)
    for k in range(7):
        x, y = pairs(k)
        assert scaled(x, y, factor=2)[1].tobytes() == (x - y).tobytes()
    assert len(caplog.records) == 1 and "scaled stays calls of NumPy" in caplog.text


def test_array_code_whose_record_is_of_another_form(monkeypatch):
    def swapped(function, layouts, settings):
        graph = record_scaled(function, layouts, settings)
        return Graph(graph.inputs, graph.nodes, graph.outputs[:1], graph.name)

    monkeypatch.setattr(options.OPTIONS, "record", swapped)
    for k in range(7):
        assert len(scaled(*pairs(k), factor=2)) == 2
