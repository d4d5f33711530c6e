"""Shared by all tests: helper modules are found beside the tests that use them."""

import collections
import gc
import importlib.util
import pathlib
import sys
import tomllib

import pytest

TESTS = pathlib.Path(__file__).resolve().parent
ROOT = TESTS.parent


def _packages_missing():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    for name in sorted({package.partition(".")[0] for package in settings["packages"]}):
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            yield name


# An editable installation keeps the list of packages as it was when it was made.
if missing := list(_packages_missing()):
    pytest.exit(
        f"This environment is older than pyproject.toml: {', '.join(missing)} cannot be imported "
        "from it. Bring it up to date: .ci/setup python3 .venv", returncode=4)

for folder in ("chainer_api/graph_optimizations", "chainer_api/functions"):
    sys.path.insert(0, str(TESTS / folder))


#: Whose tests take a twentieth of a second or more on average (``pytest --durations=0``). The fast
#: subset has the first of each module, and every fortieth: all of them take ten minutes.
LONG = (
    "chainer_api/distributions/test_compiled.py",
    "chainer_api/graph_optimizations",
    "chainer_api/iterators/test_multiprocess_iterator.py",
    "chainer_api/links/model/vision",
    "chainer_api/serializers/test_saving.py",
    "chainer_api/training",
    "codegen/test_native_dtypes.py",
    "companions",
    "examples",
    "runtime/native",
    "runtime/page",
    "test_packaging.py",
)
_ONE_IN = 40


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    long = [TESTS / name for name in LONG]
    seen = collections.Counter()
    no_hdf5 = importlib.util.find_spec("h5py") is None
    for item in items:
        if no_hdf5 and item.get_closest_marker("hdf5"):
            item.add_marker(pytest.mark.skip(reason="h5py is not installed"))
        if any(item.path.is_relative_to(path) for path in long):
            if seen[item.path] % _ONE_IN:
                item.add_marker(pytest.mark.slow)
            seen[item.path] += 1


def pytest_collection_finish(session):
    """Garbage is looked for among what tests make, not among all tests and modules each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def whatever_it_costs():
    """Compile and prove without looking at the clock: what is counted is so on each machine.

    The tests of what looks at the clock set ``static_budget`` themselves.
    """
    import chainer

    before, chainer.global_config.static_budget = chainer.global_config.static_budget, None
    yield
    chainer.global_config.static_budget = before


@pytest.fixture(autouse=True)
def no_warning_in_the_log(request):
    """What checks find is wrong, even where nothing comes of it, since define-by-run takes over.

    Tests that look at the log themselves (``caplog``) may have it warn.
    """
    from heard import warnings_heard

    with warnings_heard() as found:
        yield
    assert not found or "caplog" in request.fixturenames, f"the log says: {found}"
