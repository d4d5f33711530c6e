"""The seam: what all targets share knows none of them."""

import ast
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = [*(ROOT / "ir").glob("*.py"), *(ROOT / "codegen" / "plan").glob("*.py")]
TARGETS = ("numpy_target", "native_target", "cuda_target")


@pytest.mark.parametrize("path", SHARED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_shared_passes_import_no_target(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom | ast.Import):
            names = [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
            assert not any(target in name for name in names for target in TARGETS), names
            assert node.__class__ is ast.Import or node.level < 2 or path.parent.name == "plan"
