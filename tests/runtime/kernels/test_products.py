"""Products with few rows: which they are, and what computes them."""

import numpy as np
import pytest

from chainwright.ir import Graph, build, make, placeholder
from chainwright.runtime import OPTIONS, Schedule
from chainwright.runtime.kernels import products
from chainwright.runtime.native import native_target, own_products, same_bits
from chainwright.tracer import Recorder

native = pytest.mark.skipif(
    native_target() is None or own_products() is None,
    reason="there are no products of our own here",
)
M, K, N = 20, 512, 512


def matrices(dtype="f", m=M, k=K, n=N):
    rng = np.random.default_rng(0)
    return rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)


@pytest.fixture
def as_numpy(monkeypatch):
    monkeypatch.setattr(OPTIONS, "target", lambda: "numpy")


def test_shapes_and_dtypes_decide():
    def is_few(m, k, n, dtype="f", other="f"):
        return products.is_few(np.empty((m, k), dtype), np.empty((k, n), other))

    assert is_few(20, 512, 512) and is_few(512, 20, 512) and is_few(512, 512, 20)
    assert is_few(128, 512, 512, "d", "d") and is_few(2, 2048, 1024)
    assert not is_few(129, 512, 512) and not is_few(1, 2048, 2048)
    assert not is_few(20, 64, 64) and not is_few(20, 512, 512, "f", "d")
    assert not is_few(20, 512, 512, "e", "e") and not is_few(20, 512, 512, ">f4", ">f4")
    a, b = matrices()
    assert not products.is_few(a, b[:-1]) and not products.is_few(a[0], b)
    assert not products.is_few(a, b[None])


@native
@pytest.mark.parametrize("dtype", "fd")
def test_own_code_is_at_work(dtype, monkeypatch):
    monkeypatch.setattr(OPTIONS, "target", lambda: "auto")
    a, b = matrices(dtype)
    wanted = np.empty((M, N), dtype)
    own_products().call(a, b)(a, b, wanted)
    assert same_bits(products.dot(a, b), wanted)
    out = np.empty_like(wanted)
    assert products.few_rows(a, b, out) is out and same_bits(out, wanted)
    np.testing.assert_allclose(wanted, a @ b, rtol=1e-3, atol=1e-4)


def test_the_target_numpy_has_numpy_s_bits(as_numpy):
    a, b = matrices()
    assert same_bits(products.dot(a, b), a.dot(b))
    assert same_bits(products.few_rows(a, b, np.empty((M, N), "f")), a.dot(b))


def test_without_native_code_it_is_numpy_s(monkeypatch):
    monkeypatch.setattr(products, "native", None)
    a, b = matrices()
    assert same_bits(products.dot(a, b), a.dot(b))


def test_layouts_without_code_are_numpy_s():
    a, b = map(np.asfortranarray, matrices())
    assert same_bits(products.dot(a, b), a.dot(b))


@pytest.mark.parametrize("shapes", [((20, 512), (511, 512)), ((20, 3, 512), (511, 512))])
def test_errors_are_numpy_s(shapes):
    a, b = (np.ones(shape, "f") for shape in shapes)
    with pytest.raises(ValueError) as wanted:
        a.dot(b)
    with pytest.raises(ValueError) as found:
        products.dot(a, b)
    assert str(found.value) == str(wanted.value)


def test_other_products_are_those_of_the_arrays():
    a, b = matrices(m=3, k=4, n=5)
    assert same_bits(products.dot(a, b), a.dot(b))

    class Other(np.ndarray):
        def dot(self, b):
            return "its own"

    a, b = matrices()
    assert products.dot(a.view(Other), b) == "its own"


def recorded(a, b):
    recorder = Recorder()
    recorder.input(a, "a", "argument")
    y = products.dot(recorder.wrap(a), b)
    return recorder, y


def test_recording():
    a, b = matrices()
    recorder, y = recorded(a, b)
    assert [node.op for node in recorder.nodes] == ["few_rows"]
    assert same_bits(y.held, products.dot(a, b))
    recorder, y = recorded(a[:3, :5].copy(), b[:5, :7].copy())
    assert [node.op for node in recorder.nodes] == ["dot"]


@pytest.mark.parametrize("config", ["numpy", "native", "auto"])
@pytest.mark.parametrize("target", ["numpy", "native"])
def test_programs_ask_when_they_run(monkeypatch, target, config):
    """Whatever runs a program: its products are those of define-by-run at that time."""
    a, b = matrices()
    x, w = placeholder("a", a.shape, "f"), placeholder("b", b.shape[::-1], "f")
    node = make("few_rows", x, make("transpose", w))
    y = make("tanh", node)
    graph = Graph((x, w), (node.inputs[1], node, y), (y,), "products")
    monkeypatch.setattr(OPTIONS, "target", lambda: target)
    schedule = Schedule(graph, {}, "products")
    monkeypatch.setattr(OPTIONS, "target", lambda: config)
    b = np.ascontiguousarray(b.T)
    for _ in range(3):
        (got,), _ = schedule.forward((a, b))
        assert same_bits(got, np.tanh(products.dot(a, b.T)))


def test_two_operands_stay_two():
    """A product of an array with itself is not one of two equal arrays, in BLAS."""
    x = placeholder("x", (512, 512), "f")
    one, two = make("negative", x), make("negative", x)
    y = make("few_rows", one, two)
    graph = build(Graph((x,), (one, two, y), (y,), "same"), {}, ()).forward
    (node,) = [node for node in graph.nodes if node.op == "few_rows"]
    assert node.inputs[0] is not node.inputs[1]
