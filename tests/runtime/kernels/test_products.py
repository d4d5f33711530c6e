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
    assert is_few(1024, 2048, 2048, "d", "d") and is_few(2, 2048, 1024)
    assert not is_few(1025, 2048, 2048) and not is_few(1, 2048, 2048)
    assert is_few(32, 128, 128) and not is_few(32, 128, 127)
    assert not is_few(20, 64, 64) and not is_few(20, 512, 512, "f", "d")
    assert not is_few(20, 512, 512, "e", "e") and not is_few(20, 512, 512, ">f4", ">f4")
    a, b = matrices()
    assert not products.is_few(a, b[:-1]) and not products.is_few(a[0], b)
    assert products.is_few(a, b[None]) and products.is_few(a[None], b)
    many, one = np.empty((40, 1, 64, 64), "f"), np.empty((64, 64), "f")
    assert products.is_few(many, one) and products.is_few(many[:1], many[0].repeat(2, 0))
    assert not products.is_few(many[:1], one) and not products.is_few(many[:3], many[:2])
    assert not products.is_few(many, one[0]) and not products.is_few(many, one[:3])


@native
@pytest.mark.parametrize("dtype", "fd")
def test_own_code_is_at_work(dtype, monkeypatch):
    monkeypatch.setattr(OPTIONS, "target", lambda: "auto")
    a, b = matrices(dtype)
    wanted = np.empty((M, N), dtype)
    own_products().call(a, b, wanted, "dot")(a, b, wanted)
    assert same_bits(products.dot(a, b), wanted)
    assert same_bits(products.matmul(a, b), wanted)
    both = products.matmul(np.stack([a, -a]), b)
    assert same_bits(both[0], wanted) and same_bits(both[1], -wanted)
    out = np.empty_like(wanted)
    assert products.few_rows(a, b, out) is out and same_bits(out, wanted)
    np.testing.assert_allclose(wanted, a @ b, rtol=1e-3, atol=1e-4)


def test_the_target_numpy_has_numpy_s_bits(as_numpy):
    a, b = matrices()
    assert same_bits(products.dot(a, b), a.dot(b))
    assert same_bits(products.few_rows(a, b, np.empty((M, N), "f")), a.dot(b))
    assert same_bits(products.matmul(a, b, np.empty((M, N), "f"), np), a @ b)


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
    with pytest.raises(ValueError) as wanted:
        a @ b
    with pytest.raises(ValueError) as found:
        products.matmul(a, b)
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
    recorder.input(a, "b", "argument")
    y = products.matmul(recorder.wrap(a), np.stack([b, b]))
    assert recorder.nodes[-1].op == "few_rows_matmul" and y.shape == (2, M, N)


def program(monkeypatch, target, make_node, *arrays):
    """A schedule made under a target: the hyperbolic tangent of a product."""
    inputs = [placeholder(f"x{k}", x.shape, x.dtype, x.strides) for k, x in enumerate(arrays)]
    node = make_node(*inputs)
    y = make("tanh", node)
    graph = Graph(tuple(inputs), (node, y), (y,), "products")
    monkeypatch.setattr(OPTIONS, "target", lambda: target)
    return Schedule(graph, {}, "products")


FACTORS = {
    "few_rows": lambda a, b: (a, b.T.copy().T),
    "few_rows_matmul": lambda a, b: (np.stack([a, a + 1]), b),
    "left to NumPy": lambda a, b: (a[:, :64].copy(), b[:64].copy(order="F")),
}


@pytest.mark.parametrize("config", ["numpy", "native", "auto"])
@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("factors", FACTORS)
@pytest.mark.parametrize("profile", [False, True])
def test_programs_ask_when_they_run(monkeypatch, profile, factors, target, config):
    """Whatever runs a program: its products are those of define-by-run at that time."""
    op = factors if factors in products.__dict__ else "few_rows"
    a, b = FACTORS[factors](*matrices())
    schedule = program(monkeypatch, target, lambda x, w: make(op, x, w), a, b)
    monkeypatch.setattr(OPTIONS, "target", lambda: config)
    monkeypatch.setattr(OPTIONS, "profile", lambda: profile)
    wanted = np.tanh(getattr(products, op)(a, b))
    for _ in range(3):
        (got,), _ = schedule.forward((a, b))
        assert same_bits(got, wanted)


@native
@pytest.mark.parametrize("factors", FACTORS)
def test_they_are_parts_of_native_code(monkeypatch, factors):
    op = factors if factors in products.__dict__ else "few_rows"
    a, b = FACTORS[factors](*matrices())
    schedule = program(monkeypatch, "native", lambda x, w: make(op, x, w), a, b)
    ((segment,),) = [list(p.segments.values()) for p in schedule.native_programs[:1]]
    assert len(segment.regions) == 2 and segment.multiplies == (factors != "left to NumPy")


@native
def test_programs_warn_of_products_as_numpy_does(monkeypatch):
    a, b = FACTORS["few_rows_matmul"](*matrices())
    a[0, 0, 0], b[0] = np.inf, 0
    schedule = program(monkeypatch, "native", lambda x, w: make("few_rows_matmul", x, w), a, b)
    with pytest.warns(RuntimeWarning, match="invalid value encountered in matmul"):
        schedule.forward((a, b))
    with np.errstate(invalid="ignore"):
        schedule.forward((a, b))


def test_two_operands_stay_two():
    """A product of an array with itself is not one of two equal arrays, in BLAS."""
    x = placeholder("x", (512, 512), "f")
    one, two = make("negative", x), make("negative", x)
    y = make("few_rows", one, two)
    graph = build(Graph((x,), (one, two, y), (y,), "same"), {}, ()).forward
    (node,) = [node for node in graph.nodes if node.op == "few_rows"]
    assert node.inputs[0] is not node.inputs[1]
