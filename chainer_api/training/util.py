"""Older place of :func:`chainer.training.get_trigger`."""
from chainer.training.trigger import get_trigger

__all__ = ['get_trigger']
