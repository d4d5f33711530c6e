"""The page about compiled methods, while training goes on."""
import os

from chainer.training import extension


class StaticReport(extension.Extension):
    """Extension that writes a page about the compiled methods of the model.

    It has what :meth:`chainer.graph_optimizations.static_graph.Reports.save` writes, for all chains
    that the optimizers update, and the chains below them. The file is written anew at each call
    and at the end of training.

    Args:
        filename (str): Name of the file, in the folder of the trainer's results.
        trigger: When it is written; by default at the end of each epoch.
        profile (bool): Whether the parts of the programs are timed from now on
            (``chainer.config.static_profile``), which takes some time itself.

    .. seealso:: :func:`chainer.static_graph`

    >>> from chainer.training import extensions
    >>> extensions.StaticReport(trigger=(100, 'iteration')).default_name
    'StaticReport'
    """

    priority = extension.PRIORITY_READER

    def __init__(self, filename='report.html', trigger=(1, 'epoch'), profile=False):
        self.filename = filename
        self.trigger = trigger
        self.profile = profile
        self._trainer = None

    def initialize(self, trainer):
        self._trainer = trainer
        if self.profile:
            from chainer import config

            self._before = config.static_profile
            config.static_profile = True

    def __call__(self, trainer):
        from chainer.graph_optimizations.static_graph import reports_of

        targets = [opt.target for opt in trainer.updater.get_all_optimizers().values()]
        reports = reports_of(link for target in targets for link in target.links())
        reports.save(os.path.join(trainer.out, self.filename))

    def finalize(self):
        if self._trainer is None:
            return
        trainer, self._trainer = self._trainer, None
        if self.profile:
            from chainer import config

            config.static_profile = self._before
        self(trainer)
