"""The package list, the import directions, and what importing needs."""

import ast
import pathlib
import subprocess
import sys
import tomllib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
FOLDERS = {folder: name for name, folder in SETTINGS["package-dir"].items()}


def folders_with_code():
    for folder, name in FOLDERS.items():
        for init in (ROOT / folder).rglob("__init__.py"):
            parts = init.parent.relative_to(ROOT / folder).parts
            yield ".".join(filter(None, (name, *parts)))


def test_package_list_equals_the_folders():
    assert sorted(SETTINGS["packages"]) == sorted(set(folders_with_code()))


def test_every_folder_with_modules_is_a_package():
    for folder in FOLDERS:
        for module in (ROOT / folder).rglob("*.py"):
            assert (module.parent / "__init__.py").exists(), module


def test_no_folder_here_is_named_like_a_package():
    """Python started here would import the folder instead of the installed package."""
    tops = {package.partition(".")[0] for package in SETTINGS["packages"]}
    assert [name for name in sorted(tops) if (ROOT / name).exists()] == []


def test_the_extra_all_has_the_others():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    (all_of_them,) = extras["all"]
    named = all_of_them.removeprefix("chainwright[").removesuffix("]").split(",")
    assert sorted(named) == sorted(extras.keys() - {"all", "docs", "test", "tools"})


MAY_IMPORT = {
    "ir": set(),
    "tracer": {"ir"},
    "codegen": {"ir"},
    "runtime": {"ir", "codegen"},
    "chainer_api": {"ir", "tracer", "runtime"},
}


def imports_of(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_import_directions(folder):
    for path in (ROOT / folder).rglob("*.py"):
        for name in imports_of(path):
            top, _, rest = name.partition(".")
            where = f"{path.relative_to(ROOT)} imports {name}"
            if top == "chainwright" and rest:
                part = rest.partition(".")[0]
                assert part == folder or part in MAY_IMPORT[folder], where
            assert not (top == "chainer" and folder != "chainer_api"), where
            assert top not in ("cupy", "scipy", "h5py") or folder == "chainer_api", where


def test_only_graph_optimizations_looks_deep_inside():
    public = {"chainwright", "chainwright.ir", "chainwright.tracer", "chainwright.runtime"}
    for path in (ROOT / "chainer_api").rglob("*.py"):
        if "graph_optimizations" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("chainwright"):
                kernels = node.module.startswith("chainwright.runtime.kernels")
                assert kernels or node.module in public, f"{path}: {node.module}"


def test_import_needs_no_optional_package():
    code = (
        "import sys\n"
        "optional = 'cupy scipy matplotlib h5py PIL google.protobuf llvmlite mpi4py onnx'.split()\n"
        "for name in optional:\n"
        "    sys.modules[name] = None\n"
        "import chainer, chainer.functions, chainer.links, chainer.training.extensions\n"
        "import chainermn, onnx_chainer\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""


def test_import_takes_nothing_along_that_takes_long():
    """What looks at all attributes of NumPy imports its tests, and more, as it comes to them."""
    code = (
        "import sys, chainer\n"
        "slow = 'numpy.testing numpy.f2py numpy.ma numpy.ctypeslib ssl http.client unittest'\n"
        "print(*[name for name in slow.split() if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "\n", done.stdout + done.stderr
