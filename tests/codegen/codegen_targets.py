"""The target that the tests here run on: ``CHAINWRIGHT_TARGET=native`` asks for native code."""

import os

import pytest

from chainwright.codegen.numpy_target import NUMPY
from chainwright.runtime.native import native_target


def target_of(name):
    if name == "numpy":
        return NUMPY
    target = native_target()
    if target is None:
        pytest.skip("there is no native code here", allow_module_level=True)
    return target


TARGET = target_of(os.environ.get("CHAINWRIGHT_TARGET", "numpy"))


def generate(graph, *, title, saved_count=0):
    return TARGET.program(graph, title, saved_count)
