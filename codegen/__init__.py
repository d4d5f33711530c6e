"""Turns a graph into program text."""

from .program import Loaded, Program

__all__ = ["Loaded", "Program"]
