"""Values of the training itself, reported like those of the model."""
from chainer import optimizers
from chainer.training import extension


def observe_value(observation_key, target_func):
    """Makes an extension that reports a value at the end of each epoch.

    Args:
        observation_key (str): Key of the value in the observations.
        target_func: Called with the trainer, returns the value.
    """
    @extension.make_extension(trigger=(1, 'epoch'), priority=extension.PRIORITY_WRITER)
    def _observe_value(trainer):
        trainer.observation[observation_key] = target_func(trainer)
    return _observe_value


def observe_lr(optimizer_name='main', observation_key='lr'):
    """Makes an extension that reports the learning rate at the end of each epoch.

    Args:
        optimizer_name (str): Name of the optimizer, which must have an ``lr``; that of Adam and
            its kin is ``alpha_t``.
        observation_key (str): Key of the value in the observations.
    """
    return observe_value(
        observation_key, lambda trainer: _lr(trainer.updater.get_optimizer(optimizer_name)))


def _lr(optimizer):
    # Adam's old name for it warns.
    return optimizer.alpha_t if isinstance(optimizer, optimizers.Adam) else optimizer.lr
