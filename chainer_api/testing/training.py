"""Helpers for tests of trainer extensions."""
import unittest.mock


def get_trainer_with_mock_updater(
        stop_trigger=(10, 'iteration'), iter_per_epoch=10, extensions=None):
    """Return a trainer that goes through its iterations without training anything.

    Its updater is a mock that counts: ``iteration``, ``epoch``, ``epoch_detail``,
    ``previous_epoch_detail`` and ``is_new_epoch`` are as if there were ``iter_per_epoch``
    iterations in an epoch.

    Args:
        stop_trigger: When training ends.
        iter_per_epoch (int or float): Number of iterations in an epoch.
        extensions (list): Extensions of the trainer.

    Returns:
        ~chainer.training.Trainer: The trainer.

    .. doctest::

        >>> from chainer import testing
        >>> trainer = testing.get_trainer_with_mock_updater((15, 'iteration'), iter_per_epoch=10)
        >>> trainer.run()
        >>> trainer.updater.epoch, trainer.updater.epoch_detail
        (1, 1.5)
    """
    # Tests of functions do without the trainer and its extensions.
    from chainer import training

    updater = unittest.mock.Mock()
    updater.get_all_optimizers.return_value = {}
    updater.iteration = 0
    updater.epoch = 0
    updater.epoch_detail = 0
    updater.is_new_epoch = True
    updater.previous_epoch_detail = None

    def update():
        updater.previous_epoch_detail = updater.epoch_detail
        updater.iteration += 1
        updater.epoch = updater.iteration // iter_per_epoch
        updater.epoch_detail = updater.iteration / iter_per_epoch
        updater.is_new_epoch = (updater.iteration - 1) // iter_per_epoch != updater.epoch

    updater.update.side_effect = update
    return training.Trainer(updater, stop_trigger, extensions=extensions)
