"""The mathematical functions of programs that need not be exact."""

import sys
from pathlib import Path

import numpy as np
import pytest

from chainwright.codegen.native_target.functions import FUNCTIONS
from chainwright.runtime.native import native_target

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))
import functions  # noqa: E402

pytestmark = pytest.mark.skipif(native_target() is None, reason="there is no native code here")
SPECIAL = [
    0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1.0, -1.0, np.nextafter(np.float32(-1), 0), 1e-45,
    -1e-45, 1.17549435e-38, 3.4028235e38, -3.4028235e38, 88.72283, 88.72284, 89.0, -87.33655,
    -103.97208, -103.97209, -104.5, 0.625, 9.010913, 10.0, 16777216.0, 0.6931472, -17.4,
]  # fmt: skip


def numbers():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 1 << 17, dtype=np.uint32).view("f")
    usual = rng.standard_normal(1 << 17).astype("f") * 10
    return np.concatenate([np.array(SPECIAL, "f"), bits, usual])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors(name):
    x, errors = numbers(), functions.Errors()
    with np.errstate(all="ignore"):
        errors.add(x, functions.compiled(name, x.size)(x), getattr(np, name)(x.astype("d")))
    assert errors.largest <= 2 and errors.wrong == 0 and errors.count > 1 << 16


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_table_has_all_functions(name):
    table = (ROOT / "benchmarks" / "results" / "functions.md").read_text()
    (row,) = [line.split("|") for line in table.splitlines() if line.startswith(f"| {name} |")]
    assert float(row[2]) <= 2 and int(row[5]) == 0


def test_other_functions_are_numpys():
    with pytest.raises(AssertionError, match="no own function"):
        functions.compiled("arctan", 8)
