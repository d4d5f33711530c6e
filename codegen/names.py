"""Names in a program: parameters, values, and everything that stands at module level."""

from __future__ import annotations

import builtins
import keyword
import operator
import re
from typing import Any

import numpy as np

RESERVED = frozenset({*keyword.kwlist, *dir(builtins), "np", "scratch", "kept", "i", "j"})
RESERVED |= {"run", "arrays", "flags"}  # of native programs

_AT_IMPORT = dict(vars(np))


class Names:
    """Gives each object one name, and collects the lines that define the module-level ones."""

    shares = False  # see ir.frozen.Scope

    def __init__(self) -> None:
        self.header: list[str] = []
        self.constants: dict[str, Any] = {}
        self._scalars = 0
        self._taken: set[str] = set(RESERVED)
        self._paths: dict[str, str] = {}
        self._values: dict[object, str] = {}

    def new(self, hint: str) -> str:
        """A name of its own, like the hint."""
        stem = re.sub(r"\W+", "_", hint).strip("_") or "x"
        stem = f"x{stem}" if stem[0].isdigit() else stem
        name, k = stem, 1
        while name in self._taken:
            name, k = f"{stem}_{k}", k + 1
        self._taken.add(name)
        return name

    def numpy(self, path: str) -> str:
        """The name of ``numpy.<path>``."""
        if path not in self._paths:
            self._paths[path] = self._define(path.replace(".", "_"), f"np.{path}")
            self.constants[self._paths[path]] = _original(path)
        return self._paths[path]

    def value(self, value: object, hint: str) -> str:
        """The name of any object: by its path where it is NumPy's, else captured."""
        key = (type(value), value) if isinstance(value, np.dtype) else id(value)
        if key not in self._values:
            self._values[key] = self._define_value(value, hint)
            self.constants.setdefault(self._values[key], value)
        return self._values[key]

    def _define_value(self, value: object, hint: str) -> str:
        if isinstance(value, np.dtype) and not value.names and not value.hasobject:
            text = value.name if value.isnative else value.str
            return self._define(hint, f"np.dtype({text!r})")
        if isinstance(value, float):
            return self._define("number", f"float({str(value)!r})")
        path = _numpy_path(value)
        return self.numpy(path) if path else self._capture(hint, value)

    def scalar(self, value: Any, dtype: np.dtype[Any]) -> str:
        """The name of a 0-d array for a Python scalar."""
        key = (dtype, type(value), repr(value))
        if key not in self._values:
            text = f"np.array({value!r}, {self.value(dtype, dtype.name)})"
            text = re.sub(r"\b(nan|inf)\b", r"np.\1", text)
            self._scalars += 1
            self._values[key] = self._define(f"c{self._scalars}", text)
            self.constants[self._values[key]] = np.array(value, dtype)
        return self._values[key]

    def tiles(self, text: str) -> str:
        """The name of a list of tiles."""
        if text not in self._paths:
            self._paths[text] = self._define("tiles", text)
        return self._paths[text]

    def _define(self, hint: str, text: str) -> str:
        name = self.new(hint)
        self.header.append(f"{name} = {text}")
        return name

    def _capture(self, hint: str, value: object) -> str:
        name = self.new(hint)
        if isinstance(value, np.ndarray):
            what = f"{value.dtype}{list(value.shape)}"
        else:
            what = getattr(value, "__qualname__", type(value).__name__)
        self.header.append(f"# {name}: {what}, captured")
        return name


class SharingNames(Names):
    """Those of programs in which library ops are called as define-by-run calls them."""

    shares = True


def _original(path: str) -> Any:
    """What NumPy has there; a trace in another thread may have put something in its place."""
    first, _, rest = path.partition(".")
    found = _AT_IMPORT.get(first, getattr(np, first))
    return operator.attrgetter(rest)(found) if rest else found


def _numpy_path(value: object) -> str | None:
    """Where a function of NumPy is found, ``linalg.inv``."""
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if not (isinstance(module, str) and isinstance(name, str) and module.split(".")[0] == "numpy"):
        return None
    for path in (name, f"{module[6:]}.{name}".lstrip(".")):
        try:
            if _original(path) is value:
                return path
        except AttributeError:
            continue
    return None
