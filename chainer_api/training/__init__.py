"""The training loop, and what goes on around it."""
from chainer.training import (
    extension,
    extensions,
    trainer,
    trigger,
    triggers,
    updater,
    updaters,
    util,
)
from chainer.training._updater import Updater
from chainer.training.extension import (
    PRIORITY_EDITOR,
    PRIORITY_READER,
    PRIORITY_WRITER,
    Extension,
    make_extension,
)
from chainer.training.trainer import Trainer
from chainer.training.trigger import IntervalTrigger, get_trigger
from chainer.training.updaters.parallel_updater import ParallelUpdater
from chainer.training.updaters.standard_updater import StandardUpdater

__all__ = [
    'Extension', 'IntervalTrigger', 'PRIORITY_EDITOR', 'PRIORITY_READER', 'PRIORITY_WRITER',
    'ParallelUpdater', 'StandardUpdater', 'Trainer', 'Updater', 'extension', 'extensions',
    'get_trigger', 'make_extension', 'trainer', 'trigger', 'triggers', 'updater', 'updaters',
    'util',
]
