"""Turns a graph into program text; one target to a folder."""

from .program import Loaded, Program
from .target import Target

__all__ = ["Loaded", "Program", "Target"]
