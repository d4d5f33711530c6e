"""Chainwright: a compiler for define-by-run code (`chainer` is its front end)."""

__version__ = "0.1.0"
