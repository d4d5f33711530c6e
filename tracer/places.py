"""Whose code runs: the user's, or a library's."""

from __future__ import annotations

import os
import sys
import sysconfig
from types import FrameType

import numpy as np

from . import __file__ as _here

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(_here)))
_STDLIB = sysconfig.get_paths()["stdlib"]
_libraries = [os.path.join(_OURS, p) for p in ("tracer", "ir", "codegen", "runtime")]
_libraries += [os.path.dirname(np.__file__)]
_classified: dict[str, bool] = {}


def add_library(folder: str) -> None:
    """Code below ``folder`` is a library's (the front end's), not the user's."""
    _libraries.append(folder)
    _classified.clear()


def is_library(filename: str) -> bool:
    """Whether a source file is a library's or the standard library's, not the user's."""
    known = _classified.get(filename)
    if known is None:
        standard = filename.startswith(_STDLIB) and "site-packages" not in filename
        library = any(filename.startswith(folder + os.sep) for folder in _libraries)
        known = standard or library or filename.startswith(("<frozen", "<chainwright"))
        _classified[filename] = known
    return known


def user_frame(depth: int = 1) -> FrameType | None:
    """The innermost frame of the user's code, from ``depth`` frames above the caller's on."""
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None and is_library(frame.f_code.co_filename):
        frame = frame.f_back
    return frame
