"""Chainer's public face."""
__version__ = "7.8.1"
