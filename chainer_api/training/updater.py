"""Older place of the updaters."""
from chainer.training._updater import Updater
from chainer.training.updaters.parallel_updater import ParallelUpdater
from chainer.training.updaters.standard_updater import StandardUpdater

__all__ = ['ParallelUpdater', 'StandardUpdater', 'Updater']
