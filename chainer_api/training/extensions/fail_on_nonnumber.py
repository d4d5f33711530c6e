"""Stopping a training that diverged."""
from chainer.training import extension


class FailOnNonNumber(extension.Extension):
    """Extension that raises ``RuntimeError`` if a parameter has a NaN or an infinity in it.

    It looks at the targets of all optimizers.
    """

    def __call__(self, trainer):
        """Looks at the parameters."""
        for name, optimizer in trainer.updater.get_all_optimizers().items():
            for path, param in optimizer.target.namedparams():
                array = param.array
                if array is not None and not param.xp.isfinite(array).all():
                    raise RuntimeError(
                        f'Kill the process since parameters in optimizer {name!r} diverge: '
                        f'{path} has values that are no finite numbers after iteration '
                        f'{trainer.updater.iteration}. A lower learning rate, gradient clipping or '
                        'chainer.config.debug = True may help.')
